# SPDX-License-Identifier: BSD-3-Clause
"""Fits that are handed the outputs of one fit, for checks that compare whole objects."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._cases.case import AuditCase
from .._cases.units import n_rows_of
from .._observation.flat_objects import FlatObject
from .._observation.object_views import visible_values
from .._observation.randomness import frozen_randomness
from .._observation.recorder import record_releases
from .._search.search import Outputs, search_neighbours

# Data sets of chains with which whole objects are compared, beside those of the case.
_MOST_SAMPLES = {False: 6, True: 40}


@dataclass(frozen=True, eq=False)
class ReplayedCase:
    """A case with the outputs of its first fit."""

    case: AuditCase
    given_outputs: Outputs

    def views(self, data: Any) -> FlatObject | None:
        """Return all that a fit shows; None if it fails."""
        try:
            with frozen_randomness():
                model = self.case.record(data, self.given_outputs)[0]
        except Exception:
            return None
        with frozen_randomness():
            return visible_values(model, self.case.data_sets[0])

    def others(self) -> Iterator[Any]:
        """Yield other data sets: of the case, of unrelated rows, and of chains of neighbours."""
        case = self.case
        yield from (*case.unrelated_data_sets, *case.data_sets[1:])
        size = n_rows_of(case.data_sets[0])
        sampled = search_neighbours(case).sampled_data_sets[: _MOST_SAMPLES[case.thorough]]
        yield from (data for data in sampled if n_rows_of(data) == size or case.relation == "add-remove")

    def call(self, method: str, rows: Any) -> Any:
        """Return what a method of an unfitted copy returns, which is to fit."""
        with frozen_randomness(), (self.case.recorder or record_releases)(self.given_outputs):
            arguments = [rows[name] for name in ("X", "y") if name in rows]
            rest = {name: value for name, value in rows.items() if name not in ("X", "y")}
            return getattr(self.case.make(), method)(*arguments, **rest)


def replayed_case(case: AuditCase) -> ReplayedCase | None:
    """Return the case with the outputs of its first fit; None where they cannot be handed out."""
    found = search_neighbours(case)
    if (
        found.pair is None
        or found.drawn_in_other_threads
        or found.differing_releases
        or found.noise_is_added_elsewhere
    ):
        return None
    return ReplayedCase(case, case.record(case.data_sets[0])[1].outputs)
