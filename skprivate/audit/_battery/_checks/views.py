# SPDX-License-Identifier: BSD-3-Clause
"""The check that all that a fitted object shows is the same for other rows."""

import re
from typing import Any

from ..._cases.case import AuditCase
from ..._observation.flat_objects import FlatObject, differing_paths
from ..._observation.object_views import visible_values
from ..._search.deadline import Deadline
from ..comparisons import exact_differences
from ..replay import ReplayedCase, replayed_case
from ..requirements import listed, publishable_fit, require

# Processor seconds for other rows, after the first ones.
_SECONDS = {False: 1.0, True: 10.0}
# Fits on either data set after which what is always in one text and never in the other is no chance.
_MOST_FITS = 12
_TOKEN = re.compile(r"[\w.+-]+")


def check_views(case: AuditCase) -> None:
    """Whatever the object shows (texts, state, names, outputs, properties) is the same for other rows.

    Where the outputs of the noise can be handed out again, they are. Else what is the same in every fit of
    one data set must be so on its neighbours.
    """
    publishable_fit(case)
    replay = replayed_case(case)
    if replay is None:
        _compare_views_of_random_fits(case)
        return
    first = replay.views(case.data_sets[0])
    again = replay.views(case.data_sets[0])
    deadline = Deadline(_SECONDS[case.thorough])
    for data in replay.others():
        if deadline.has_passed:
            return
        other = replay.views(data)
        if other is None or first is None or again is None:
            continue
        paths = [
            path for path in differing_paths(first, other) if path not in set(differing_paths(first, again))
        ]
        require(not paths, f"what is shown tells of private rows: {listed(paths)}")
        loose = set(differing_paths(first, again)) & first.keys() & other.keys()
        _compare_texts(replay, data, sorted(path for path in loose if isinstance(first[path], str)))


def _compare_texts(replay: ReplayedCase, data: Any, paths: list[str]) -> None:
    """A text that changes from fit to fit, an address in it say, may hold a word that tells."""
    if not paths:
        return
    mine, theirs = (dict.fromkeys(paths) for _ in range(2))
    sides: tuple[tuple[Any, dict[str, Any]], ...] = ((replay.case.data_sets[0], mine), (data, theirs))
    for _ in range(_MOST_FITS):
        for rows, always in sides:
            views = replay.views(rows) or FlatObject()
            for path in paths:
                words = set(_TOKEN.findall(str(views.get(path, ""))))
                always[path] = words if always[path] is None else always[path] & words
    told = [path for path in paths if mine[path] != theirs[path]]
    require(not told, f"a word in what is shown tells of private rows: {listed(told)}")


def _compare_views_of_random_fits(case: AuditCase) -> None:
    def look(data: Any) -> FlatObject:
        return visible_values(case.fit(data), case.data_sets[0])

    mine = [look(case.data_sets[0]) for _ in range(3)]
    for data in case.data_sets[1:3]:
        found = exact_differences(case, mine, data, look)
        require(not found, f"what is shown tells of private rows: {listed(sorted(found))}")
