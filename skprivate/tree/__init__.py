# SPDX-License-Identifier: BSD-3-Clause
"""Locally private classification trees: public data shape the tree, private rows send one report each."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._classifier import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier
    from ._client import TreeClient as TreeClient
    from ._report_files import ReportWriter as ReportWriter
    from ._specification import TreeSpecification as TreeSpecification

_HOMES = {
    "LocallyPrivateTreeClassifier": "._classifier",
    "ReportWriter": "._report_files",
    "TreeClient": "._client",
    "TreeSpecification": "._specification",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "LocallyPrivateTreeClassifier",
    "ReportWriter",
    "TreeClient",
    "TreeSpecification",
]
