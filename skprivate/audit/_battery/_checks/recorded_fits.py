# SPDX-License-Identifier: BSD-3-Clause
"""Checks on recorded fits: data sets that are handed the same outputs differ in the exact integers alone."""

import functools

from ..._cases.case import AuditCase
from ..._cases.units import n_rows_of
from ..._fuzz import NothingRecordedError, SensitivityFuzz, sensitivity_fuzz
from ..._observation.line_trace import first_difference, trace_lines
from ..._search.deadline import Deadline
from ..._search.search import search_neighbours
from ..requirements import NotApplicable, listed, recorded_search, require, spent_of

# Data sets of chains whose lines are traced, which takes ten times as long as a fit.
_MOST_TRACED = 8
_TRACE_SECONDS = {False: 1.0, True: 10.0}


def fuzz_of(case: AuditCase) -> SensitivityFuzz:
    """Return the fuzz of a case; skips where nothing is recorded or claimed."""
    spent_of(case.fit(0))
    try:
        return sensitivity_fuzz(case)
    except NothingRecordedError as error:
        raise NotApplicable(str(error)) from None


def check_sensitivity_fuzz(case: AuditCase) -> None:
    """Exact integers of extreme neighbours differ by no more than the noise pays for."""
    fuzz = fuzz_of(case)
    hint = (
        "; if less leaves than is drawn, the largest of noisy scores say, declare releases_all_draws = False"
    )
    require(fuzz.passed, f"{fuzz}{hint}")


def check_replay(case: AuditCase) -> None:
    """Other rows that are handed the same outputs end in the same object, and in the same messages."""
    found = recorded_search(case)
    require(not found.differing_releases, f"other rows release other things ({found.differing_releases})")
    paths = sorted(found.differing_state)
    require(
        not paths, f"exact functions of private rows: {listed(paths)} ({first_of(found.differing_state)})"
    )
    require(
        not found.differing_messages,
        f"other rows warn, log or print other things ({found.differing_messages})",
    )


def first_of(places: dict[str, str]) -> str:
    """Return the chain on which the first of some paths differed."""
    return next(iter(places.values()), "")


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
        "noise is drawn again when it is far out, and what was thrown away is not paid for "
        f"({found.redraws})",
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
