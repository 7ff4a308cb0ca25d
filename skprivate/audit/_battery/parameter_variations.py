# SPDX-License-Identifier: BSD-3-Clause
"""Checks with settings that differ from the case: epsilons, numbers of columns, more rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from .._cases import (
    Arguments,
    AuditCase,
    bounds_of,
    columns_of,
    domain_of_y,
    extreme_variants,
    is_column,
    make_rows,
    rows_at,
    units_of,
    without_unit,
)
from .._search import ReleaseLosses, claimed_loss, loss_as_claimed, stated_releases
from .requirements import NotApplicable, name_of, recorded_claim, require

# The numbers that follow are set by hand.
# A scale that is right at one epsilon may be rounded wrongly at others; these are short fractions.
_EPSILONS = (0.125, 0.4375, 0.6875, 3.0)
# With 600 rows and these budgets, fits make further releases: a curvature, finer counts, counts of residuals.
_LARGE_EPSILONS = (6.0, 48.0)
_MANY_ROWS = 25
# Numbers of columns; the case has 2.
_WIDTHS = (1, 5)
# 144 rows if the case has 24: more than in the other checks, in the time of one fit.
_MORE_ROWS = 6
# Number of neighbours for either setting, spread over the extreme ones.
_MOST_NEIGHBOURS = 4
# The largest accepted epsilon is used: some estimators accept none of the first.
_HUGE_EPSILONS = (1e6, 1e4, 1e3, 100.0)
# Repetitions of a table, and rows of a new one, that make the noise negligible.
_REPEATS = 100
_CLEAR_ROWS = 2500
_FITS_AT_HUGE_EPSILON = 5
# Any share except one half.
_SMALLER_CLASS = 0.4


def check_other_epsilons(case: AuditCase) -> None:
    """At other epsilons, with as many rows and with more, neighbours lose no more than the claim there."""
    recorded_claim(case)
    if not case.has("epsilon"):
        raise NotApplicable("has no parameter epsilon")
    for epsilon in _EPSILONS:
        _require_no_more(case, list(_spread(case.data_sets)), f"at epsilon {epsilon:g}", epsilon=epsilon)
    rows = case.data_sets[0]
    if isinstance(rows, dict) and "X" in rows and "sites" not in rows:
        tables = list(_variants(case, _repeated(rows, _MANY_ROWS)))
        for epsilon in _LARGE_EPSILONS:
            when = f"at epsilon {epsilon:g} with {_MANY_ROWS} times as many rows"
            _require_no_more(case, tables, when, epsilon=epsilon)


def check_other_tables(case: AuditCase) -> None:
    """With one column, with five, and with more rows, neighbours lose no more than the claim."""
    recorded_claim(case)
    rows = case.data_sets[0]
    if not (isinstance(rows, dict) and set(rows) <= {"X", "y"}) or case.relation == "add-remove":
        raise NotApplicable(
            "the case has arguments of fit other than X and y, or the number of rows is private"
        )
    bounds = bounds_of(case.estimator)
    ends = () if bounds is None else bounds if len(bounds) == 2 else [bounds]
    if columns_of(case.estimator) is None and all(np.ndim(end) == 0 for end in ends):
        for width in _WIDTHS:
            narrow = make_rows(case.estimator, len(rows["X"]), width=width)
            tables = list(_variants(case, {**rows, "X": narrow["X"]}))
            _require_no_more(case, tables, f"with a table of {width} columns")
    more = _repeated(rows, _MORE_ROWS)
    _require_no_more(case, list(_variants(case, more)), f"with {_MORE_ROWS} times as many rows")


def _repeated(rows: Arguments, times: int) -> Arguments:
    """Return the data set with every row several times, each time with different persons."""
    more = {k: np.concatenate([np.asarray(v)] * times) if is_column(v, rows) else v for k, v in rows.items()}
    if rows.get("groups") is not None:
        persons, codes = np.unique(np.asarray(rows["groups"]), return_inverse=True)
        more["groups"] = np.concatenate([codes + k * len(persons) for k in range(times)])
    return more


def _variants(case: AuditCase, rows: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if case.relation == "add-remove":
        yield without_unit(rows, units_of(rows)[-1])
    yield from _spread(tuple(extreme_variants(case.estimator, rows, only_label=case.relation == "label")))


def _spread(data_sets: tuple[Any, ...]) -> Iterator[Any]:
    yield from data_sets[:: max(1, len(data_sets) // _MOST_NEIGHBOURS)]


def _require_no_more(case: AuditCase, data_sets: list[Any], when: str, **parameters: Any) -> None:
    releases = ReleaseLosses()
    try:
        model, first = case.record(data_sets[0], **parameters)
    except Exception as error:
        releases.note_error(error)
        require(not releases.contradictions, "; ".join(releases.contradictions))
        raise NotApplicable(f"{when} the fit ends with {type(error).__name__}") from None
    for data in data_sets[1:]:
        try:
            other = case.record(data, first.outputs, **parameters)[1]
        except Exception:
            continue  # no claim covers failures
        require(first.forms == other.forms, f"{when} neighbours release different things")
        claim = model.privacy_spent_
        loss, claimed = loss_as_claimed(first.loss(other), claim), claimed_loss(claim)
        require(loss <= claimed, f"{when} neighbours lose {float(loss):.4g}, claimed {float(claimed):.4g}")
        releases.compare(stated_releases(model), first, other, when)
    require(not releases.contradictions, "; ".join(releases.contradictions))


def check_large_epsilon(case: AuditCase) -> None:
    """At a huge epsilon the noise vanishes: fits agree with each other and with a given non-private model."""
    if not case.has("epsilon"):
        raise NotApplicable("has no parameter epsilon")
    if case.answer is None and not (is_classifier(case.estimator) or is_regressor(case.estimator)):
        raise NotApplicable("neither a classifier nor a regressor; pass `answer`")
    if case.data_sets[0].get("groups") is not None:
        raise NotApplicable("the rows of a person are drawn at random, whatever epsilon is")
    rows = clear_rows(case)
    # Fits are seeded if possible, so that they always agree or never.
    answers = [_answer(case, rows, seed) for seed in range(1, _FITS_AT_HUGE_EPSILON + 1)]
    target = answers.pop() if case.reference is None else np.asarray(case.reference(**rows))
    if is_classifier(case.estimator):
        agree = min(float(np.mean(answer == target)) for answer in answers)
        require(agree >= 0.95, f"at a huge epsilon {agree:.0%} of the predictions agree")
        return
    # A constant has no range, so the range of the targets counts.
    spread = float(np.ptp(target)) or float(np.ptp(np.asarray(domain_of_y(case.estimator), dtype=np.float64)))
    gap = max(float(np.max(np.abs(answer - target))) for answer in answers) / spread
    require(gap < 0.02, f"at a huge epsilon predictions differ by {gap:.1%} of their range")


def _answer(case: AuditCase, rows: Arguments, seed: int) -> NDArray[Any]:
    for epsilon in _HUGE_EPSILONS:
        try:
            model = case.fit(rows, epsilon=epsilon, random_state=seed)
        except (ValueError, OverflowError):
            continue  # too large for its numbers
        return np.asarray(model.predict(rows["X"]) if case.answer is None else case.answer(model, rows))
    raise NotApplicable(f"{name_of(case)} takes no epsilon of {_HUGE_EPSILONS[-1]:g} or more")


def clear_rows(case: AuditCase) -> Arguments:
    """Return many rows on the diagonal of the domain with a target that rises along it.

    Tables with other arguments, or with another kind of target, are repeated instead.
    """
    rows = case.data_sets[0]
    if "X" not in rows:
        return rows
    if set(rows) > {"X", "y"} or np.asarray(rows.get("y")).dtype.names is not None:
        return _repeated(rows, _REPEATS)
    # The range is not symmetric, so that no share of the rows is one half.
    share = np.linspace(0.02, 0.96, _CLEAR_ROWS)
    shares = np.broadcast_to(share[:, None], (_CLEAR_ROWS, np.shape(rows["X"])[1]))
    clear: Arguments = {"X": rows_at(case.estimator, shares)}
    low, *_, high = domain_of_y(case.estimator) if "y" in rows else (0.0, 1.0)
    if is_classifier(case.estimator):
        # No tie, because a majority must be clear too.
        clear["y"] = np.where(share > _SMALLER_CLASS, high, low)
    elif "y" in rows:
        clear["y"] = low + (0.1 + 0.8 * share) * (high - low)
    return clear
