# SPDX-License-Identifier: BSD-3-Clause
"""The check that no error, warning, log, text or pickle shows a private value that was planted."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..._cases.case import AuditCase
from ..._cases.domain import domain_of_y, numbers_of, row_at, row_of, targets_at
from ..._cases.units import unit_of, with_unit
from ..._observation.known_values import bytes_hold_any, text_shows_any
from ..._observation.recorder import captured_output
from ..requirements import NotApplicable, has_cells, pickle_or_none, require

# A share of the range of a column that no honest constant hits.
_SHARE = 0.618033988749
# Digits that no honest text shows by chance.
_FAR_SENTINEL = 53918.421773519
_TEXT = "sentinel-5391842"


def check_sentinels(case: AuditCase) -> None:
    """A private value that is planted stands in no error, warning, log, print, text or pickle."""
    rows = case.data_sets[0]
    if not has_cells(rows):
        raise NotApplicable("fit takes no table of floats, or of cells")
    for planted, values in _planted(case, rows):
        with captured_output() as heard:
            model, said = _fit_or_error(case, planted)
            texts = [*said, *_texts_of(model)]
        texts.append(heard())
        require(
            not text_shows_any("\n".join(texts), values), "a private value in what is said about good rows"
        )
        if model is not None and getattr(model, "releases_state", True):
            require(
                not bytes_hold_any(pickle_or_none(model) or b"", values),
                "a private value in the pickle of a fit",
            )
    for spoil, values, planted in _spoiled(case, rows):
        with captured_output() as heard:
            text = "\n".join(_fit_or_error(case, planted)[1])
        require(not text_shows_any(text + heard(), values), f"a private value in what is said about {spoil}")


def _planted(case: AuditCase, rows: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield good rows with a sentinel in the last unit, and what to look for."""
    width = np.shape(rows["X"])[1]
    only_label = getattr(getattr(case.fit(rows), "privacy_spent_", None), "relation", None) == "label"
    for X in (row_at(case.estimator, width, _SHARE), row_of(case.estimator, width, _FAR_SENTINEL)):
        # With relation "label" features are not protected.
        values: list[Any] = [] if only_label else numbers_of(case.estimator, X)
        changed = rows if only_label else with_unit(rows, X=X)
        y = np.asarray(rows["y"]) if rows.get("y") is not None else None
        if y is not None and y.dtype.kind == "U":
            changed, values = with_unit(changed, y=_TEXT), [*values, _TEXT]
        elif y is not None and y.dtype.kind in "fV" and not is_classifier(case.estimator):
            low, high = domain_of_y(case.estimator)
            target = low + _SHARE**2 * (high - low)
            changed = with_unit(changed, y=targets_at(case.estimator, rows, target)[0])
            values = [*values, target]
        yield changed, values


def _spoiled(case: AuditCase, rows: dict[str, Any]) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield rows that a fit refuses, or might."""
    unit = unit_of(rows)[0]
    X = np.array(rows["X"], dtype=object)
    X[unit, 0] = _TEXT
    yield "text in a cell", [_TEXT], {**rows, "X": X}
    X = np.array(rows["X"])
    X[unit] = _FAR_SENTINEL
    X[unit, -1] = np.nan
    yield "a row with NaN", [_FAR_SENTINEL], {**rows, "X": X}
    X = np.array(rows["X"], dtype=complex if np.asarray(rows["X"]).dtype.kind == "f" else object)
    X[unit] = _FAR_SENTINEL * 1j
    yield "complex numbers", [_FAR_SENTINEL], {**rows, "X": X}
    yield "one column alone", [_FAR_SENTINEL], {**rows, "X": np.full(len(rows["X"]), _FAR_SENTINEL)}
    if rows.get("y") is None or np.asarray(rows["y"]).dtype.names:
        return
    for spoil, value in (("text as a target", _TEXT), ("a far target", _FAR_SENTINEL), ("no number", np.nan)):
        y = np.array(rows["y"], dtype=object)
        y[unit] = value
        yield spoil, [_TEXT, _FAR_SENTINEL], {**rows, "y": y}
    yield "too short a target", [_FAR_SENTINEL], {**rows, "y": np.full(len(rows["X"]) - 1, _FAR_SENTINEL)}


def _fit_or_error(case: AuditCase, rows: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return a fit and its warnings, or None and what the errors say."""
    try:
        return case.fit_with_warnings(rows)
    except Exception as error:
        return None, list(_messages_of(error))


def _messages_of(error: BaseException) -> Iterator[str]:
    failure: BaseException | None = error
    seen: set[int] = set()
    while failure is not None and id(failure) not in seen:
        seen.add(id(failure))
        yield from (str(failure), repr(failure.args), *getattr(failure, "__notes__", ()))
        # What `raise ... from None` hides is still there for who looks.
        failure = failure.__cause__ or failure.__context__


def _texts_of(model: Any) -> list[str]:
    """Return the texts that a fitted object shows."""
    if model is None:
        return []
    return [repr(model), str(getattr(model, "privacy_spent_", "")), _html(model)]


def _html(model: Any) -> str:
    return str(model._repr_html_()) if hasattr(model, "_repr_html_") else ""
