# SPDX-License-Identifier: BSD-3-Clause
"""Checks of what is said: no message, log, text or pickle tells a private value, nor depends on one."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._neighbours import (
    AuditCase,
    domain_of_X,
    domain_of_y,
    private_rows,
    strange_label,
    unit_of,
    with_unit,
)
from .._observation.object_walk import forms_of_text, packed_forms
from .._observation.recorder import listening
from .limits import NotApplicable
from .release_checks import pickled, require

# A share of the range of a column that no honest constant hits.
_SHARE = 0.618033988749
# Digits that no honest text shows by chance.
_FAR_SENTINEL = 53918.421773519
_TEXT = "sentinel-5391842"


def check_rows_outside_the_domain(case: AuditCase) -> None:
    """Rows outside the bounds and labels outside the classes change no message and raise nothing."""
    told = None
    for k in range(len(case.data_sets)):
        try:
            told_now = warnings_of(case, k)
        except Exception as error:
            raise AssertionError(
                f"a unit within the domain is accepted and another raises {type(error).__name__}"
            ) from None
        require(told in (None, told_now), "warnings depend on one unit's values")
        told = told_now


def check_labels_outside_the_classes(case: AuditCase) -> None:
    """A private label that no class has shows nowhere."""
    if not is_classifier(case.estimator):
        raise NotApplicable("not a classifier")
    rows = case.data_sets[0]
    known = rows["y"][0]
    classes = []
    for label in (known, strange_label(np.asarray(rows["y"]))):
        try:
            classes.append(case.fit(with_unit(rows, y=label)).classes_)
        except Exception as error:
            raise AssertionError(f"a label outside the classes raises {type(error).__name__}") from None
    require(np.array_equal(classes[0], classes[1]), "classes_ were read from private labels")


def check_missing_values(case: AuditCase) -> None:
    """NaN is treated alike in whatever row it stands, and no message tells which."""
    rows = case.data_sets[0]
    if "X" not in rows or np.asarray(rows["X"]).dtype.kind != "f":
        raise NotApplicable("fit takes no table of floats")
    outcomes = set()
    private = np.flatnonzero(private_rows(rows))
    for row in (private[0], private[len(private) // 2], private[-1]):
        X = np.array(rows["X"])
        X[row, -1] = np.nan
        outcomes.add(outcome(case, {**rows, "X": X}))
    require(len(outcomes) == 1, "what happens to NaN depends on the row that holds it")


def outcome(case: AuditCase, rows: dict[str, Any]) -> tuple[str, ...]:
    """Return what a fit says: the error, or the warnings but those about the released values."""
    try:
        return warnings_of(case, rows)
    except Exception as error:
        return (type(error).__name__, str(error))


def warnings_of(case: AuditCase, data: Any) -> tuple[str, ...]:
    """Return what a fit warns of, but for what it tells of the released values."""
    return tuple(one for one in case.listen(data, random_state=0)[1] if "Utility" not in one)


def check_sentinels(case: AuditCase) -> None:
    """A private value that is planted stands in no error, warning, log, print, text or pickle."""
    rows = case.data_sets[0]
    if "X" not in rows or np.asarray(rows["X"]).dtype.kind != "f":
        raise NotApplicable("fit takes no table of floats")
    for planted, values in _planted(case, rows):
        with listening() as heard:
            model, said = _fit_or_error(case, planted)
            texts = [*said, *_texts_of(model)]
        texts.append(heard())
        require(not tells("\n".join(texts), values), "a private value in what is said about good rows")
        if model is not None and getattr(model, "releases_state", True):
            require(not keeps(pickled(model) or b"", values), "a private value in the pickle of a fit")
    for spoil, values, planted in _spoiled(case, rows):
        with listening() as heard:
            text = "\n".join(_fit_or_error(case, planted)[1])
        require(not tells(text + heard(), values), f"a private value in what is said about {spoil}")


def _planted(case: AuditCase, rows: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield good rows with a sentinel in the last unit, and what to look for."""
    lower, upper = domain_of_X(case.estimator, np.shape(rows["X"])[1])
    inside = lower + _SHARE * (upper - lower)
    only_label = getattr(getattr(case.fit(rows), "privacy_spent_", None), "relation", None) == "label"
    for X in (inside, np.full(len(lower), _FAR_SENTINEL)):
        # With relation "label" features are not protected.
        values: list[Any] = [] if only_label else X.tolist()
        changed = rows if only_label else with_unit(rows, X=X)
        y = np.asarray(rows["y"]) if rows.get("y") is not None else None
        if y is not None and y.dtype.kind == "U":
            changed, values = with_unit(changed, y=_TEXT), [*values, _TEXT]
        elif y is not None and y.dtype.kind == "f" and not is_classifier(case.estimator):
            low, high = domain_of_y(case.estimator)
            target = low + _SHARE**2 * (high - low)
            changed, values = with_unit(changed, y=target), [*values, target]
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
    X = np.array(rows["X"], dtype=complex)
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
        return case.listen(rows)
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


def tells(text: str, values: list[Any]) -> bool:
    """Whether a text shows one of the values, to six digits or more."""
    return any(form in text for value in values for form in forms_of_text(value))


def keeps(content: bytes, values: list[Any]) -> bool:
    """Whether bytes hold one of the values in full."""
    return any(form in content for value in values for form in packed_forms(value))


CHECKS: tuple[Callable[[AuditCase], None], ...] = (
    check_rows_outside_the_domain,
    check_labels_outside_the_classes,
    check_missing_values,
    check_sentinels,
)
