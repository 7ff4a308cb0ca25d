# SPDX-License-Identifier: BSD-3-Clause
"""Checks with other settings than those of the case: epsilons, numbers of columns, more rows."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._neighbours import AuditCase, declared, extreme_variants, is_column, make_rows
from .._search.privacy_loss import claimed_of, loss_under
from .limits import NotApplicable
from .release_checks import recorded, require, spent_of

# A scale that is right at one epsilon may be rounded wrongly at others; these are short fractions.
_EPSILONS = (0.125, 0.4375, 0.6875, 3.0)
_WIDTHS = (1, 5)
# 144 rows where the case has 24: beyond what was tried elsewhere, in the time of one fit.
_TIMES = 6
# Neighbours of either setting, spread over the extreme ones.
_MOST = 4


def check_other_epsilons(case: AuditCase) -> None:
    """At other epsilons, neighbours lose no more than is then claimed."""
    spent_of(case.fit(0))
    recorded(case)
    if not case.has("epsilon"):
        raise NotApplicable("has no parameter epsilon")
    for epsilon in _EPSILONS:
        _require_no_more(case, list(_spread(case.data_sets)), f"at epsilon {epsilon:g}", epsilon=epsilon)


def check_other_tables(case: AuditCase) -> None:
    """With one column, with five, and with more rows, neighbours lose no more than is claimed."""
    spent_of(case.fit(0))
    recorded(case)
    rows = case.data_sets[0]
    if not (isinstance(rows, dict) and set(rows) <= {"X", "y"}) or case.relation == "add-remove":
        raise NotApplicable(
            "the case has other arguments of fit than X and y, or the number of rows is private"
        )
    if all(np.ndim(bound) == 0 for bound in _bounds_of(case.estimator)):
        for width in _WIDTHS:
            narrow = make_rows(case.estimator, len(rows["X"]), width=width)
            tables = list(_variants(case, {**rows, "X": narrow["X"]}))
            _require_no_more(case, tables, f"with a table of {width} columns")
    more = {k: np.concatenate([np.asarray(v)] * _TIMES) if is_column(v, rows) else v for k, v in rows.items()}
    _require_no_more(case, list(_variants(case, more)), f"with {_TIMES} times as many rows")


def _bounds_of(estimator: Any) -> list[Any]:
    found = [declared(estimator, name) for name in ("bounds", "bounds_X")]
    return [
        end for bounds in found if bounds is not None for end in (bounds if len(bounds) == 2 else [bounds])
    ]


def _variants(case: AuditCase, rows: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _spread(tuple(extreme_variants(case.estimator, rows, only_label=case.relation == "label")))


def _spread(data_sets: tuple[Any, ...]) -> Iterator[Any]:
    yield from data_sets[:: max(1, len(data_sets) // _MOST)]


def _require_no_more(case: AuditCase, data_sets: list[Any], when: str, **parameters: Any) -> None:
    try:
        model, first = case.record(data_sets[0], **parameters)
    except Exception as error:
        raise NotApplicable(f"{when} the fit ends with {type(error).__name__}") from None
    for data in data_sets[1:]:
        try:
            other = case.record(data, first.outputs, **parameters)[1]
        except Exception:
            continue  # no claim covers failures
        forms = [[release.form for release in recording.releases] for recording in (first, other)]
        require(forms[0] == forms[1], f"{when} neighbours release different things")
        claim = model.privacy_spent_
        loss, claimed = loss_under(first.loss(other), claim), claimed_of(claim)
        require(loss <= claimed, f"{when} neighbours lose {float(loss):.4g}, claimed {float(claimed):.4g}")


CHECKS: tuple[Callable[[AuditCase], None], ...] = (check_other_epsilons, check_other_tables)
