# SPDX-License-Identifier: BSD-3-Clause
"""Collection of randomised reports: specification, clients, files of reports, curator and commands."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._client import TreeClient
    from ._curator import SplitCurator, TreeCurator
    from ._report_files import ReportWriter
    from ._specification import TreeSpecification

_HOMES = {
    "ReportWriter": "._report_files",
    "SplitCurator": "._curator",
    "TreeClient": "._client",
    "TreeCurator": "._curator",
    "TreeSpecification": "._specification",
    # Not for users: pickles of curators name it here, so that files can be moved.
    "CuratorState": "._curator_state",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = ["ReportWriter", "SplitCurator", "TreeClient", "TreeCurator", "TreeSpecification"]
