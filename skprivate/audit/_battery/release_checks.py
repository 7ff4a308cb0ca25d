# SPDX-License-Identifier: BSD-3-Clause
"""Checks of what a fit releases: nothing leaves beside the noise, and it tells no more than is claimed."""

import functools
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base import StatelessMixin
from .._epsilon import low_bits
from .._fuzz import NothingRecordedError, SensitivityFuzz, sensitivity_fuzz
from .._neighbours import AuditCase, declared, is_column, private_rows, unit_of
from .._observation.line_trace import first_difference, trace_lines
from .._observation.object_walk import Leaves, differences, leaves_of, same_leaf
from .._observation.recorder import Recording
from .._search.deadline import Budget
from .._search.search import Found, search_neighbours
from .limits import NotApplicable

# Fits rows, and returns what is looked at.
Look = Callable[[Any], Leaves]
# A right estimator fails a check that repeats random fits with a probability below this.
FALSE_ALARM = 1e-9
# Fits that repeat one data set, at most.
_MOST_REPEATS = 2000
# A float off the grid shows in the first; several in case that one is 0.
_GRID_FITS = 12
# Data sets of walks whose lines are traced, which takes ten times as long as a fit.
_MOST_TRACED = 8
_TRACE_SECONDS = {False: 1.0, True: 10.0}
# Fits in which a noisy number may stay the same: noise that is 0 with probability 2/5 does so in 1e-8.
_MOST_EQUAL = 20
# What a number of rows in privacy_spent_.unprotected is; NumPy's, where the statement is not ours.
_NUMBERS = (int, np.integer)


def require(fact: Any, message: str) -> None:
    """Fail a check, with a message that shows no value of the data."""
    if not fact:
        raise AssertionError(message)


def name_of(case: AuditCase) -> str:
    """Return the estimator's class."""
    return type(case.estimator).__name__


def spent_of(model: Any) -> Any:
    """Return the statement of a fitted estimator; skips a check that needs one where there is none."""
    spent = getattr(model, "privacy_spent_", None)
    if spent is None and hasattr(model, "disclosure_risk_"):
        raise NotApplicable("states a disclosure risk and no epsilon: it is not differentially private")
    if spent is None and makes_no_claim(model):
        raise NotApplicable(
            "claims no privacy: it learns nothing from rows, or holds them and must not leave"
        )
    if spent is None:
        raise NotApplicable("has no privacy_spent_, see check_privacy_spent")
    return spent


def makes_no_claim(model: Any) -> bool:
    """Whether an estimator promises to learn nothing, or says that it holds rows."""
    stays = getattr(model, "releases_state", True) is False and not hasattr(model, "privacy_spent_")
    return isinstance(model, StatelessMixin) or stays


@dataclass(frozen=True)
class Claim:
    """What is claimed of a fit: as stated, or, where nothing is stated, as asked for."""

    epsilon: Fraction | float
    rho: Fraction | None = None
    delta: float = 0.0


def claim_of(case: AuditCase, model: Any) -> Claim:
    """Return what a fit claims; skips where no epsilon is claimed."""
    spent = getattr(model, "privacy_spent_", None)
    if spent is None and case.has("epsilon"):
        asked = case.estimator.get_params(deep=False)
        return Claim(asked["epsilon"], delta=float(asked.get("delta") or 0.0))
    spent = spent_of(model)
    return Claim(spent.epsilon, getattr(spent, "rho", None), float(getattr(spent, "delta", 0.0)))


def published(case: AuditCase, model: Any) -> Leaves:
    """Return everything that leaves: the fitted object, or, where that stays, what the case names."""
    if not getattr(model, "releases_state", True):
        if case.released is not None:
            return Leaves({"released": np.asarray(case.released(model))})
        raise NotApplicable(
            "releases_state is False: the object holds private rows and is never to be published"
        )
    return leaves_of(model)


def recorded(case: AuditCase) -> Found:
    """Return what fits on neighbours with the same outputs showed; skips where they cannot be handed out."""
    if not case.can_be_recorded:
        raise NotApplicable("keeps the best of several draws, so what is recorded is not what is released")
    found = search_neighbours(case)
    if found.missed:
        raise NotApplicable("noise was drawn in other threads, where it is not recorded")
    if found.pair is None and not found.other_forms:
        raise NotApplicable("no noise came from skprivate's mechanisms, so outputs cannot be recorded")
    if found.noise_is_apart:
        raise NotApplicable("its mechanisms are handed nothing private, so what is released is not recorded")
    return found


def pickled(value: Any) -> bytes | None:
    """Return a pickle; None of what has none: a class of a function, or a lock inside."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def some(paths: list[str]) -> str:
    """Return a few paths, and how many there are."""
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    return ", ".join(paths[:5]) + more


def check_privacy_spent(case: AuditCase) -> None:
    """The fitted estimator says what it spent, or which risk is left, and claims no more than was asked."""
    model = case.fit(0)
    spent: Any = getattr(model, "privacy_spent_", None)
    if hasattr(model, "disclosure_risk_") or makes_no_claim(model):
        require(spent is None, "a disclosure risk, or no claim at all, and an epsilon contradict each other")
        return
    require(spent is not None, f"{name_of(case)} has no privacy_spent_: nothing says what a fit spent")
    for field in ("epsilon", "delta", "relation", "unit", "deployment", "claim", "reasons", "unprotected"):
        require(hasattr(spent, field), f"privacy_spent_ has no {field}")
    require(spent.claim == "dp", "a fit with its domain declared and no seed does not claim to be private")
    if case.has("epsilon"):
        asked = Fraction(case.estimator.epsilon)
        require(0 < spent.epsilon <= asked, "privacy_spent_.epsilon exceeds the request")
    asked_delta = declared(case.estimator, "delta")
    if isinstance(asked_delta, Real):
        require(spent.delta <= asked_delta, "privacy_spent_.delta exceeds the request")
    asked_relation = declared(case.estimator, "relation")
    if isinstance(asked_relation, str):
        require(spent.relation == asked_relation, "privacy_spent_ states another relation than was asked for")


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
    found = recorded(case)
    require(not found.other_forms, f"other rows release other things ({found.other_forms})")
    paths = sorted(found.differing)
    require(not paths, f"exact functions of private rows: {some(paths)} ({first_of(found.differing)})")
    require(not found.talks, f"other rows warn, log or print other things ({found.talks})")


def first_of(places: dict[str, str]) -> str:
    """Return the design that showed the first of some places."""
    return next(iter(places.values()), "")


def check_noise_meets_values(case: AuditCase) -> None:
    """The mechanisms of skprivate are handed the exact values: noise for zeros may be added to anything."""
    if not case.can_be_recorded:
        raise NotApplicable("keeps the best of several draws, so what is recorded is not what is released")
    found = search_neighbours(case)
    require(
        not found.noise_is_apart,
        "the mechanisms are handed nothing that depends on rows, and what is released does: hand them the "
        "exact values, so that what meets the noise can be checked",
    )


def check_no_redraws(case: AuditCase) -> None:
    """However unlikely the noise is, it stays: what is drawn again until it pleases was released, too."""
    found = recorded(case)
    require(
        not found.redraws,
        "noise is drawn again when it is far out, and what was thrown away is not paid for "
        f"({found.redraws})",
    )


def check_same_branches(case: AuditCase) -> None:
    """Other rows that are handed the same outputs run through the same lines of code."""
    found = recorded(case)
    _, recording = case.record(0)
    # Once before: a first call may import, or fill a cache.
    case.record(0, recording.outputs)
    path = trace_lines(case.estimator, lambda: case.record(0, recording.outputs))
    if not path:
        raise NotApplicable("none of its lines can be followed: it is compiled, or defined in no file")
    length = _length_of(case.data_sets[0])
    # Strangers first: they differ in every row.
    others = [*case.unrelated_data_sets, *found.samples[:_MOST_TRACED], *case.data_sets[1:]]
    budget = Budget(_TRACE_SECONDS[case.thorough])
    for data in (one for one in others if _length_of(one) == length):
        if budget.is_spent:
            return
        other = trace_lines(case.estimator, functools.partial(case.record, data, recording.outputs))
        if other != path:
            raise AssertionError(f"a branch on private rows at {first_difference(path, other)}")


def _length_of(data: Any) -> int | None:
    """Number of rows: loops over rows take as many turns."""
    return len(data["X"]) if isinstance(data, dict) and "X" in data else None


def check_only_released_values_differ(case: AuditCase) -> None:
    """Nothing that is the same in every fit of one data set is different on its neighbour.

    Of a mechanism that is epsilon-DP, the probability that k fits on one data set all give v and k fits on a
    neighbour all give other things, always the same, is at most (1 - e^-epsilon)^k.
    """

    def look(data: Any) -> Leaves:
        return published(case, case.fit(data))

    mine = [look(case.data_sets[0]) for _ in range(3)]
    # What is recorded was compared on many more, with the same outputs.
    known = search_neighbours(case).pair is not None and not case.thorough
    last = len(case.data_sets) - 1
    some_of_them = sorted({min(1, last), (last + 1) // 2, last} - {0})
    for data in (case.data_sets[k] for k in (some_of_them if known else range(1, last + 1))):
        found = exact_differences(case, mine, data, look)
        require(not found, f"exact functions of private rows: {some(sorted(found))}")


def exact_differences(
    case: AuditCase, mine: list[Leaves], data: Any, look: Callable[[Any], Leaves]
) -> set[str]:
    """Return the paths that never change on the first data set, and never on this one, and differ."""
    fixed = {path for path, leaf in mine[0].items() if all(_at(path, leaf, one) for one in mine[1:])}
    other = look(data)
    suspects = set(differences(mine[0], other)) & (fixed | (other.keys() - mine[0].keys()))
    return _confirm(case, data, suspects, (mine[0], other), look) if suspects else suspects


def _at(path: str, leaf: Any, other: Leaves) -> bool:
    return path in other and same_leaf(leaf, other[path])


def _confirm(
    case: AuditCase,
    data: Any,
    suspects: set[str],
    first: tuple[Leaves, Leaves],
    look: Callable[[Any], Leaves],
) -> set[str]:
    """Return the suspects that stay the same on either data set."""
    missing = object()
    claim = getattr(case.fit(0), "privacy_spent_", case.estimator)
    for _ in range(_repeats(float(getattr(claim, "epsilon", 1.0)))):
        for rows, before in zip((case.data_sets[0], data), first, strict=True):
            now = look(rows)
            suspects = {p for p in suspects if same_leaf(now.get(p, missing), before.get(p, missing))}
        if not suspects:
            break
    return suspects


def _repeats(epsilon: float) -> int:
    """Fits of either data set after which chance is ruled out."""
    stay = -math.expm1(-epsilon)
    needed = math.log(FALSE_ALARM) / math.log(stay) if stay < 1 else math.inf
    return math.ceil(min(needed, _MOST_REPEATS))


def released_values(case: AuditCase, model: Any, recording: Recording) -> NDArray[Any]:
    """Return what one fit released, as one vector; skips where nobody knows."""
    if case.released is not None:
        return np.ravel(np.asarray(case.released(model)))
    if recording.releases:
        return np.concatenate([np.ravel(output) for output in recording.outputs])
    noisy = noisy_paths(case, model)
    mine = published(case, model)
    numbers = [np.ravel(mine[path]) for path in noisy if np.asarray(mine[path]).dtype.kind in "iuf"]
    if not numbers:
        raise NotApplicable(
            "nothing numeric on the fitted object varies; name what is released with `released`"
        )
    return np.concatenate(numbers)


def noisy_paths(case: AuditCase, model: Any) -> list[str]:
    """Return the paths of a fitted object that change between fits of the same rows.

    Little noise on integers often repeats itself: two fits alone would miss it.
    """
    mine = published(case, model)
    others = (published(case, case.fit(0)) for _ in range(_MOST_EQUAL))
    changing = {path for other in others for path in differences(mine, other)}
    return [path for path in mine if path in changing]


def check_released_values_on_grid(case: AuditCase) -> None:
    """Released numbers are integers, or multiples of one power of two that is far above their last bits."""
    fits = [case.record(0, seed=seed) for seed in range(_GRID_FITS)]
    values = [released_values(case, *fit) for fit in fits]
    if all(one.dtype.kind in "iub" for one in values):
        return
    require(
        on_grid(np.concatenate([one.astype(np.float64) for one in values])),
        "released numbers are floats off any grid: their low bits can tell what the noise hides",
    )


def on_grid(values: NDArray[np.float64]) -> bool:
    """Whether floats are multiples of one power of two of which the largest has less than 2^52."""
    finite = values[np.isfinite(values) & (values != 0)]
    if not len(finite):
        return True
    return int(np.frexp(finite)[1].max()) - int(low_bits(finite).min()) < 52


def check_number_of_rows(case: AuditCase) -> None:
    """Where one more row shows, ``privacy_spent_.unprotected`` declares the number; else it shows nowhere."""
    rows = case.data_sets[0]
    if "X" not in rows:
        raise NotApplicable("fit takes no rows")
    model = case.fit(0)
    claim_of(case, model)
    spent = getattr(model, "privacy_spent_", None)
    stated = {value for value in getattr(spent, "unprotected", {}).values() if isinstance(value, _NUMBERS)}
    known = {len(rows["X"]), int(private_rows(rows).sum()), n_units(rows)}
    if known & stated and getattr(spent, "relation", None) != "add-remove":
        return

    def look(data: Any) -> Leaves:
        return published(case, case.fit(data))

    mine = [look(rows) for _ in range(3)]
    paths = exact_differences(case, mine, with_one_more(rows), look)
    require(not paths, f"shows the number of rows and does not declare it: {some(sorted(paths))}")


def n_units(rows: dict[str, Any]) -> int:
    """Number of private units."""
    private = private_rows(rows)
    return len(np.unique(np.asarray(rows["groups"])[private])) if "groups" in rows else int(private.sum())


def with_one_more(rows: dict[str, Any]) -> dict[str, Any]:
    """Return the data set with one more unit, like the last one."""
    unit = unit_of(rows)
    longer = {}
    for name, value in rows.items():
        if not is_column(value, rows):
            longer[name] = value
            continue
        column = np.asarray(value)
        more = column[unit]
        if name == "groups":
            more = np.full(len(unit), np.max(column) + 1) if column.dtype.kind in "iuf" else more
        longer[name] = np.concatenate([column, more])
    return longer
