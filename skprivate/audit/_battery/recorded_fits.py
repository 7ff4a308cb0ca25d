# SPDX-License-Identifier: BSD-3-Clause
"""Checks on recorded fits: data sets that are handed the same outputs differ in the exact integers alone."""

import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from ...base._pipeline_report import last_step
from .._cases.case import AuditCase
from .._cases.domain import n_rows_of
from .._observation.controlled_runs import EXTREME_DRAWS, Deadline, temporary_patches
from .._observation.fitted_objects import FlatObject, differing_paths, fitted_state
from .._observation.recorder import Recording
from .._observation.source_code import first_difference, trace_lines
from .._search.privacy_loss import claimed_loss, largest_call, loss_as_claimed
from .._search.search import (
    NothingRecordedError,
    search_neighbours,
    sensitivity_fuzz,
    state_of_all_steps,
)
from .requirements import (
    NotApplicable,
    TooWeakToTell,
    listed,
    recorded_claim,
    recorded_search,
    require,
    spent_of,
)

# Checks on recorded fits: data sets that are handed the same outputs differ in the exact integers alone.

# Data sets of chains whose lines are traced, which takes ten times as long as a fit.
_MOST_TRACED = 8
# Choices of the rows that are held out: where a fifth is, a row is in one of them with probability .9.
_SEEDS_OF_SEARCHES = 10
_TRACE_SECONDS = {False: 1.0, True: 10.0}


def check_sensitivity_fuzz(case: AuditCase) -> None:
    """Exact integers of extreme neighbours differ by no more than the noise covers."""
    spent_of(case.fit(0))
    try:
        fuzz = sensitivity_fuzz(case)
    except NothingRecordedError as error:
        raise NotApplicable(str(error)) from None
    hint = "if less leaves than is drawn, the largest of noisy scores say, declare releases_all_draws = False"
    require(fuzz.passed, f"{fuzz}; {hint}")


def check_releases(case: AuditCase) -> None:
    """Every stated release by itself loses no more than its share, and no noise is drawn beside them."""
    found = recorded_search(case).releases
    if not found.largest and not found.wrong_total:
        raise NotApplicable(
            "states a total and no releases: noise that is too small in a part of the budget may hide in the "
            "slack of the rest; list them in PrivacySpent.releases"
        )
    require(not found.contradictions, "; ".join(found.contradictions))


def check_releases_show_half_the_noise(case: AuditCase) -> None:
    """Half the noise in any stated release would be seen: else that it passes would mean little."""
    check_releases(case)
    weak = recorded_search(case).releases.weak
    if weak:
        raise TooWeakToTell(
            f"half the noise would not be seen in {', '.join(weak)}; data sets whose neighbours lose more "
            "than half of the share are enough (a quarter of a share of rho)"
        )


def check_runs_of_a_search(case: AuditCase) -> None:
    """In a private search no draw loses more than one run may, and the number of runs is not released."""
    spent = spent_of(case.fit(0))
    runs = [one for one in getattr(spent, "releases", ()) if one.rows is not None and one.times > 1]
    if case.can_be_recorded or not runs:
        raise NotApplicable("is no private search that states what one run costs")
    largest, share = Fraction(0), max(one.share for one in runs)
    numbers: list[int] = []
    shown: set[str] = set()
    case.record(0)  # the first of a case fits twice
    for seed in range(_SEEDS_OF_SEARCHES):
        with _counted_fits(case) as fits:
            model, drawn = case.record(0, seed=seed)
        numbers.append(len(fits))
        leaves = fitted_state(model).items()
        equal = {path for path, leaf in leaves if isinstance(leaf, int | np.integer) and leaf == len(fits)}
        shown = equal if seed == 0 else shown & equal
        # Again, handed its own outputs: it draws as little as those it is compared with.
        first = case.record(0, drawn.outputs, seed=seed)[1]
        for position in range(1, len(case.data_sets)):
            other = case.record(position, first.outputs, seed=seed)[1]
            if [call.form for call in other.calls] == [call.form for call in first.calls]:
                largest = max(largest, largest_call(first, other))
    # One number of runs may be anything, all of them are nothing else.
    require(len(set(numbers)) == 1 or not shown, f"the number of runs is released: {listed(sorted(shown))}")
    require(largest <= share, f"a draw loses {float(largest):.4g}, and a run may lose {float(share):.4g}")
    if 2 * largest <= share:
        raise TooWeakToTell(
            f"no draw loses more than {float(largest):.4g}, so that half the noise would not be seen; draws "
            f"that lose more than {float(share / 2):.4g} are enough"
        )


@contextmanager
def _counted_fits(case: AuditCase) -> Iterator[list[None]]:
    """Note the fits of what is searched over; none where they are made in other processes."""
    kind: Any = type(getattr(last_step(case.estimator), "estimator", None))
    found: list[None] = []
    with temporary_patches() as undo:
        if hasattr(kind, "fit"):
            fit = kind.fit

            @functools.wraps(fit)
            def counted(self: Any, *args: Any, **more: Any) -> Any:
                found.append(None)
                return fit(self, *args, **more)

            undo.callback(*((setattr, kind, "fit", fit) if "fit" in vars(kind) else (delattr, kind, "fit")))
            kind.fit = counted
        yield found


def check_replay(case: AuditCase) -> None:
    """Other rows that are handed the same outputs end in the same object, and in the same messages."""
    found = recorded_search(case)
    require(not found.differing_releases, f"other rows release other things ({found.differing_releases})")
    first_chain = next(iter(found.differing_state.values()), "")
    paths = listed(sorted(found.differing_state))
    require(not paths, f"exact functions of private rows: {paths} ({first_chain})")
    require(
        not found.differing_messages,
        f"other rows warn, log or print other things ({found.differing_messages})",
    )


def check_noise_meets_values(case: AuditCase) -> None:
    """The mechanisms of skprivate are handed the exact values: noise for zeros may be added to anything."""
    if not case.can_be_recorded:
        raise NotApplicable("keeps the best of several draws, so what is recorded is not what is released")
    found = search_neighbours(case)
    require(
        not found.noise_is_added_elsewhere,
        "the mechanisms are handed nothing that depends on rows, and what is released does: hand them the "
        "exact values, so that what meets the noise can be checked",
    )


def check_no_redraws(case: AuditCase) -> None:
    """However unlikely the noise is, it stays: what is drawn again until it pleases was released, too."""
    found = recorded_search(case)
    require(
        not found.redraws,
        f"noise is drawn again when it is far out, and the rejected draws are not charged ({found.redraws})",
    )


def check_same_branches(case: AuditCase) -> None:
    """Other rows that are handed the same outputs run through the same lines of code."""
    found = recorded_search(case)
    _, recording = case.record(0)
    # Once before: a first call may import, or fill a cache.
    case.record(0, recording.outputs)
    # By the same callable as below: a warning looks for the line of the user through all calls around it.
    path = trace_lines(case.estimator, functools.partial(case.record, 0, recording.outputs))
    if not path:
        raise NotApplicable("none of its lines can be followed: it is compiled, or defined in no file")
    length = n_rows_of(case.data_sets[0])
    # Unrelated rows first: they differ in every row.
    others = [*case.unrelated_data_sets, *found.sampled_data_sets[:_MOST_TRACED], *case.data_sets[1:]]
    deadline = Deadline(_TRACE_SECONDS[case.thorough])
    for data in (one for one in others if n_rows_of(one) == length):
        if deadline.has_passed:
            return
        other = trace_lines(case.estimator, functools.partial(case.record, data, recording.outputs))
        if other != path:
            raise AssertionError(f"a branch on private rows at {first_difference(path, other)}")


# Checks of what happens seldom: draws at the ends of their ranges, and many fits.

# Processor seconds for fits with other seeds. At 2 milliseconds a fit, what happens once in 1,000 fits is
# seen with a probability of .5 by default and above .999 if the battery is thorough.
_RARE_SECONDS = {False: 1.5, True: 15.0}
# Kinds of rare draws that are tried however long it takes.
_AT_LEAST = 2
# One fit in so many is compared in any case.
_COMPARED = 8
# A form of release that is seen less often than that is compared each time.
_USUAL = 0.05


def check_rare_draws(case: AuditCase) -> None:
    """No lucky or unlucky draw, of whatever source of randomness, takes the noise away."""
    claim = recorded_claim(case)
    deadline = Deadline(_RARE_SECONDS[case.thorough])
    for k, extreme in enumerate(EXTREME_DRAWS):
        if k < _AT_LEAST or not deadline.has_passed:
            _compare_with_neighbours(
                case, claim, f"when a draw is the {extreme.split()[0]} possible one", extreme=extreme
            )


def check_many_fits(case: AuditCase) -> None:
    """Fit after fit, with other noise, other rows that are handed the same outputs end in the same object."""
    claim = recorded_claim(case)
    forms: Counter[Any] = Counter()
    deadline = Deadline(_RARE_SECONDS[case.thorough])
    for seed in itertools.count(1):
        if deadline.has_passed:
            return
        form = case.record(0, seed=seed)[1].forms
        forms[form] += 1
        if forms[form] < _USUAL * seed:
            again = case.record(0, seed=seed)[1].forms
            require(again == form, "now and then a fit releases other things, whatever its randomness is")
        if seed % _COMPARED == 0 or forms[form] < _USUAL * seed:
            _compare_with_neighbours(case, claim, "in a few fits of many", seed=seed)


def _compare_with_neighbours(case: AuditCase, claim: Any, when: str, **randomness: Any) -> None:
    """Compare fits with the same randomness and the same outputs, on a neighbour and on unrelated rows."""
    unstable_paths = recorded_search(case).unstable_paths
    outputs = case.record(0, **randomness)[1].outputs

    def fit(data: Any) -> tuple[FlatObject, Recording]:
        model, recording = case.record(data, outputs, **randomness)
        return state_of_all_steps(case, model), recording

    mine, recording = fit(0)
    i, j = case.neighbours[0]
    for data in (*case.unrelated_data_sets[:1], case.data_sets[j if i == 0 else i]):
        other, again = fit(data)
        same_forms = recording.forms == again.forms
        require(same_forms, f"other rows release other things {when}")
        paths = sorted(set(differing_paths(mine, other)) - unstable_paths)
        require(not paths, f"exact functions of private rows {when}: {listed(paths)}")
    if i == 0:
        loss = loss_as_claimed(recording.loss(again), claim)
        require(loss <= claimed_loss(claim), f"more is released than claimed {when}")
