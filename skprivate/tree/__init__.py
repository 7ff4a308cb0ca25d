# SPDX-License-Identifier: BSD-3-Clause
"""Locally private classification trees: public data shape the tree, private rows send one report each."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._central import DPTreeClassifier as DPTreeClassifier
    from ._classifier import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier

__getattr__, __dir__ = lazy_exports(
    __name__, {"DPTreeClassifier": "._central", "LocallyPrivateTreeClassifier": "._classifier"}
)

__all__ = ["DPTreeClassifier", "LocallyPrivateTreeClassifier"]
