# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of fitted estimators; they need matplotlib, which is imported when something is drawn."""

from ._budget import BudgetDisplay
from ._partition import PartitionDisplay
from ._utility import PrivacyUtilityDisplay

__all__ = ["BudgetDisplay", "PartitionDisplay", "PrivacyUtilityDisplay"]
