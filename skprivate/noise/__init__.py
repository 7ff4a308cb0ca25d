# SPDX-License-Identifier: BSD-3-Clause
"""Exact noise: integer samplers over random words, and the fixed-point grid they need."""

from ._entropy import check_entropy

__all__ = ["check_entropy"]
