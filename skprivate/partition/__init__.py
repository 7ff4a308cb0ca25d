# SPDX-License-Identifier: BSD-3-Clause
"""Partitions of a public box into cells, grown on public rows."""

from ._partition import CRITERIA, RULES, Partition, build_partition

__all__ = ["CRITERIA", "RULES", "Partition", "build_partition"]
