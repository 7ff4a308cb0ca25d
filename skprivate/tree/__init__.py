# SPDX-License-Identifier: BSD-3-Clause
"""Private classification trees: public data shape the tree, private rows vote in its leaves."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._central import DPTreeClassifier as DPTreeClassifier
    from ._classifier import LocallyPrivateTreeClassifier as LocallyPrivateTreeClassifier
    from ._client import TreeClient as TreeClient
    from ._curator import TreeCurator as TreeCurator
    from ._report_files import ReportWriter as ReportWriter
    from ._specification import TreeSpecification as TreeSpecification

_HOMES = {
    "DPTreeClassifier": "._central",
    "LocallyPrivateTreeClassifier": "._classifier",
    "ReportWriter": "._report_files",
    "TreeClient": "._client",
    "TreeCurator": "._curator",
    "TreeSpecification": "._specification",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "DPTreeClassifier",
    "LocallyPrivateTreeClassifier",
    "ReportWriter",
    "TreeClient",
    "TreeCurator",
    "TreeSpecification",
]
