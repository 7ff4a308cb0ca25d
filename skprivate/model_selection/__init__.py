# SPDX-License-Identifier: BSD-3-Clause
"""Splitting and searching that respect the line between public and private rows."""

from ._private_search import PrivateGridSearchCV, PrivateRandomizedSearchCV
from ._split import PublicPrivateSplit

__all__ = ["PrivateGridSearchCV", "PrivateRandomizedSearchCV", "PublicPrivateSplit"]
