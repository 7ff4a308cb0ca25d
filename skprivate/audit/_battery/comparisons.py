# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons of repeated fits: values that follow from the data set alone, and values that noise changes."""

import math
from collections.abc import Callable
from typing import Any

from .._cases.case import AuditCase
from .._observation.flat_objects import FlatObject, differing_paths, same_value
from .requirements import FALSE_ALARM, TooWeakToTell, published_state

# Fits on a data set, and returns what is compared.
ReadState = Callable[[Any], FlatObject]
# Fits that repeat one data set, at most; and those in which it is tried whether chance shows.
_MOST_REPEATS, _FEW_REPEATS = 2000, 100
# Fits in which a noisy number may stay the same: noise that is 0 with probability 2/5 does so in 1e-8.
_MOST_EQUAL = 20


def exact_differences(case: AuditCase, mine: list[FlatObject], data: Any, look: ReadState) -> set[str]:
    """Return the paths that never change on the first data set, and never on this one, and differ."""
    fixed = {path for path, leaf in mine[0].items() if all(_at(path, leaf, one) for one in mine[1:])}
    other = look(data)
    suspects = set(differing_paths(mine[0], other)) & (fixed | (other.keys() - mine[0].keys()))
    return _confirm(case, data, suspects, (mine[0], other), look) if suspects else suspects


def _at(path: str, leaf: Any, other: FlatObject) -> bool:
    return path in other and same_value(leaf, other[path])


def _confirm(
    case: AuditCase,
    data: Any,
    suspects: set[str],
    first: tuple[FlatObject, FlatObject],
    look: ReadState,
) -> set[str]:
    """Return the suspects that stay the same on either data set."""
    missing = object()
    claim = getattr(case.fit(0), "privacy_spent_", case.estimator)
    needed = _repeats(float(getattr(claim, "epsilon", 1.0)))
    for _ in range(int(needed) if needed <= _MOST_REPEATS else _FEW_REPEATS):
        for rows, before in zip((case.data_sets[0], data), first, strict=True):
            now = look(rows)
            suspects = {p for p in suspects if same_value(now.get(p, missing), before.get(p, missing))}
        if not suspects:
            return suspects
    if needed > _MOST_REPEATS:
        raise TooWeakToTell(
            "at this epsilon values may stay the same in thousands of fits by chance: choose epsilon 1.5"
        )
    return suspects


def _repeats(epsilon: float) -> float:
    """Fits of either data set after which chance is ruled out."""
    stay = -math.expm1(-epsilon)
    return math.ceil(math.log(FALSE_ALARM) / math.log(stay)) if stay < 1 else math.inf


def noisy_paths(case: AuditCase, model: Any) -> list[str]:
    """Return the paths of a fitted object that change between fits of the same rows.

    Little noise on integers often repeats itself: two fits alone would miss it.
    """
    mine = published_state(case, model)
    others = (published_state(case, case.fit(0)) for _ in range(_MOST_EQUAL))
    changing = {path for other in others for path in differing_paths(mine, other)}
    return [path for path in mine if path in changing]
