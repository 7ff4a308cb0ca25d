# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of fitted estimators; they need matplotlib, which is imported when something is drawn."""

from ._partition import PartitionDisplay

__all__ = ["PartitionDisplay"]
