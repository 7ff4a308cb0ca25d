# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.collection` and their modules; those outside ``__all__`` are for pickles."""

from ._client import TreeClient as TreeClient
from ._curator import SplitCurator as SplitCurator
from ._curator import TreeCurator as TreeCurator
from ._curator_state import CuratorState as CuratorState
from ._report_files import ReportWriter as ReportWriter
from ._specification import TreeSpecification as TreeSpecification

__all__ = [
    "ReportWriter",
    "SplitCurator",
    "TreeClient",
    "TreeCurator",
    "TreeSpecification",
]
