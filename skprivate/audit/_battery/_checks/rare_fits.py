# SPDX-License-Identifier: BSD-3-Clause
"""Checks of what happens seldom: draws at the ends of their ranges, and many fits."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..._cases.case import AuditCase
from ..._observation.flat_objects import FlatObject, differing_paths
from ..._observation.randomness import EXTREME_DRAWS
from ..._observation.recorder import Recording
from ..._search.deadline import Deadline
from ..._search.privacy_loss import claimed_loss, loss_as_claimed
from ..._search.search import state_of_all_steps
from ..requirements import (
    listed,
    recorded_search,
    require,
    spent_of,
)

# Processor seconds for fits with other seeds. At 2 milliseconds a fit, what happens once in 1,000 fits is
# seen with a probability of .5 by default and above .999 if the battery is thorough.
_SECONDS = {False: 1.5, True: 15.0}
# Kinds of rare draws that are tried however long it takes.
_AT_LEAST = 2
# One fit in so many is compared in any case.
_COMPARED = 8
# A form of release that is seen less often than that is compared each time.
_USUAL = 0.05


def check_rare_draws(case: AuditCase) -> None:
    """No lucky or unlucky draw, of whatever source of randomness, takes the noise away."""
    claim = spent_of(case.fit(0))
    recorded_search(case)
    deadline = Deadline(_SECONDS[case.thorough])
    for k, extreme in enumerate(EXTREME_DRAWS):
        if k < _AT_LEAST or not deadline.has_passed:
            _compare(case, claim, f"when a draw is the {extreme.split()[0]} possible one", extreme=extreme)


def check_many_fits(case: AuditCase) -> None:
    """Fit after fit, with other noise, other rows that are handed the same outputs end in the same object."""
    claim = spent_of(case.fit(0))
    recorded_search(case)
    forms: Counter[Any] = Counter()
    for seed in _seeds(case):
        form = forms_of_releases(case.record(0, seed=seed)[1])
        forms[form] += 1
        if forms[form] < _USUAL * seed:
            again = forms_of_releases(case.record(0, seed=seed)[1])
            require(again == form, "now and then a fit releases other things, whatever its randomness is")
        if seed % _COMPARED == 0 or forms[form] < _USUAL * seed:
            _compare(case, claim, "in a few fits of many", seed=seed)


def _seeds(case: AuditCase) -> Iterator[int]:
    deadline, seed = Deadline(_SECONDS[case.thorough]), 0
    while not deadline.has_passed:
        seed += 1
        yield seed


def forms_of_releases(recording: Recording) -> tuple[Any, ...]:
    """Return what kinds of releases a fit made."""
    return tuple(release.form for release in recording.releases)


def _compare(case: AuditCase, claim: Any, when: str, **randomness: Any) -> None:
    """Compare fits with the same randomness and the same outputs, on a neighbour and on unrelated rows."""
    unstable_paths = recorded_search(case).unstable_paths
    outputs = case.record(0, **randomness)[1].outputs
    mine, recording = _looked_at(case, 0, outputs, **randomness)
    i, j = case.neighbours[0]
    for data in (*case.unrelated_data_sets[:1], case.data_sets[j if i == 0 else i]):
        other, again = _looked_at(case, data, outputs, **randomness)
        require(
            forms_of_releases(recording) == forms_of_releases(again),
            f"other rows release other things {when}",
        )
        paths = sorted(set(differing_paths(mine, other)) - unstable_paths)
        require(not paths, f"exact functions of private rows {when}: {listed(paths)}")
    if i == 0:
        loss = loss_as_claimed(recording.loss(again), claim)
        require(loss <= claimed_loss(claim), f"more is released than claimed {when}")


def _looked_at(
    case: AuditCase, data: Any, given_outputs: Any, **randomness: Any
) -> tuple[FlatObject, Recording]:
    model, recording = case.record(data, given_outputs, **randomness)
    return state_of_all_steps(case, model), recording
