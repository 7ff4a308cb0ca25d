# SPDX-License-Identifier: BSD-3-Clause
"""What every plan can do, and plans of all kinds from JSON."""

from typing import Any, ClassVar, Protocol

from ..._typing import IntArray
from ._additive.plans import CodeCountsPlan, ResidualsPlan
from ._logits.label_moments import LabelMomentsPlan
from ._logits.logits import LogitsPlan
from ._looks.looks import LooksPlan
from ._masses.histograms import MassHistogramsPlan
from ._masses.plans import MassesPlan
from .cells import CellsPlan
from .gradients import GradientsPlan
from .histograms import HistogramsPlan
from .moments import MomentsPlan
from .rows import PreparedRows


class Plan(Protocol):
    """A public description of integer sums over rows.

    What a row contributes is a function of the plan and of the row alone. So sums of batches add up to those
    of all rows, exactly, in any order.
    """

    kind: ClassVar[str]

    @property
    def n_sums(self) -> int:
        """Number of integers."""

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums over rows, int64 of shape (n_sums,)."""

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError, which repeats nothing, for sums that no so many rows have."""

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError where the sums of so many rows might not fit 64 bits."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, ``kind`` among them."""


_KINDS: dict[str, Any] = {
    plan.kind: plan
    for plan in (
        CellsPlan,
        MomentsPlan,
        GradientsPlan,
        HistogramsPlan,
        CodeCountsPlan,
        ResidualsPlan,
        LabelMomentsPlan,
        LogitsPlan,
        LooksPlan,
        MassesPlan,
        MassHistogramsPlan,
    )
}


def plan_from_dict(content: Any) -> Plan:
    """Restore a plan of any kind; ValueError for what none would write."""
    kind = content.get("kind") if type(content) is dict else None
    if type(kind) is not str or kind not in _KINDS:
        raise ValueError("it is a plan of an unknown kind")
    plan: Plan = _KINDS[kind].from_dict(content)
    return plan
