# SPDX-License-Identifier: BSD-3-Clause
"""Checks of ``fit``: it works, changes no parameter, and reads no domain from private rows."""

import dataclasses
import inspect
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._cases import AuditCase, private_rows, strange_label, with_unit, without_unit
from .._observation.fitted_objects import FlatObject, differing_paths, flatten_object, same_value
from .._search import NothingRecordedError, sensitivity_fuzz
from .requirements import (
    NotApplicable,
    listed,
    name_of,
    publishable,
    published_state,
    replayed_case,
    require,
    require_cells,
)

# Checks of ``fit``: it works, changes no parameter, and agrees with ``fit_transform``.

_ROWS = ("self", "X", "y")


def check_fit(case: AuditCase) -> None:
    """``fit`` works on ordinary rows within the declared domain, with the given arguments."""
    given = {*case.data_sets[0], *_ROWS}
    parameters = inspect.signature(type(case.estimator).fit).parameters.values()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [one.name for one in parameters if one.kind in plain and one.default is one.empty]
    missing = [name for name in needed if name not in given]
    require(
        not missing,
        f"{name_of(case)}.fit needs {', '.join(missing)}: pass data that hold them, such as "
        '{"X": X, "y": y, "groups": groups}',
    )
    try:
        case.fit(0)
    except Exception as error:
        raise AssertionError(
            f"fit raises on rows within the declared domain: {type(error).__name__}: {error}"
        ) from error


def check_parameters_unchanged(case: AuditCase) -> None:
    """``fit`` writes no parameter and returns the object itself."""
    model = case.make()
    before = flatten_object(model.get_params(deep=False))
    fitted = case.fit(0, model)
    require(fitted is model, "fit does not return self")
    paths = differing_paths(FlatObject(before), FlatObject(flatten_object(model.get_params(deep=False))))
    require(not paths, f"fit changes parameters: {listed(paths)}")


def check_fit_then_use(case: AuditCase) -> None:
    """``fit_transform`` and ``fit_predict`` agree with ``fit`` and then ``transform`` or ``predict``."""
    publishable(case.fit(0))
    replay = replayed_case(case)
    if replay is None or "X" not in case.data_sets[0]:
        raise NotApplicable("the noise of two fits cannot be made the same")
    rows = case.data_sets[0]
    for both, use in (("fit_transform", "transform"), ("fit_predict", "predict")):
        if hasattr(case.estimator, both) and hasattr(case.estimator, use):
            direct = replay.call(both, rows)
            model = case.record(rows, replay.given_outputs)[0]
            same = same_value(np.asarray(direct), np.asarray(getattr(model, use)(rows["X"])))
            require(same, f"{both} and fit with {use} give different results")


# Checks of the declared domain: nothing is read from rows, and rows outside it change no message.

_DOMAIN = ("bounds", "bounds_X", "bounds_y", "x_norm", "classes")


def check_domain_is_declared(case: AuditCase) -> None:
    """Without declared bounds or classes a fit warns of the leak, refuses, or reads nothing from rows."""
    known = case.estimator.get_params(deep=False) if hasattr(case.estimator, "get_params") else {}
    declared = [name for name in _DOMAIN if known.get(name) is not None]
    for names in [*([name] for name in declared), *([declared] if len(declared) > 1 else [])]:
        undeclared = dataclasses.replace(case, estimator=case.make(**dict.fromkeys(names)))
        try:
            model, said = undeclared.fit_with_warnings(0)
        except (ValueError, TypeError):
            continue
        spent = getattr(model, "privacy_spent_", None)
        warned = any("PrivacyLeak" in message for message in said)
        agree = spent is None or warned == (spent.claim != "dp")
        require(agree, "the leak warning and the claim disagree")
        if not warned:
            _require_equal_domains(undeclared, f"without {', '.join(names)}")
    _require_equal_domains(case, "as declared")


def _require_equal_domains(case: AuditCase, when: str) -> None:
    """No attribute that describes the domain may depend on private rows."""
    names = ("bounds_", "bounds_y_", "classes_", "n_classes_", "partition_")
    model = case.fit(0)
    published_state(case, model)
    # Splits chosen by a noisy selection, or by reports of some private rows, are releases and do not describe
    # the domain.
    shaped = getattr(model, "rule_", None) == "private" or getattr(model, "split_counts_", None) is not None
    covered = ("partition_",) if shaped else ()
    mine = {name: getattr(model, name) for name in names if hasattr(model, name) and name not in covered}
    for k in range(1, len(case.data_sets)):
        other = case.fit(k)
        paths = differing_paths(mine, {name: getattr(other, name, None) for name in mine})
        require(not paths, f"{when}, the domain was read from private rows silently: {listed(paths)}")


def check_sample_weight(case: AuditCase) -> None:
    """``fit`` takes no weights, or bounds the effect of a row with a large weight."""
    if "sample_weight" not in inspect.signature(type(case.estimator).fit).parameters:
        return
    rows = [dict(data, sample_weight=np.ones(len(data["X"]))) for data in case.data_sets[-3:]]
    heavy = [with_unit(data, sample_weight=weight) for data in rows for weight in (1e6, -1e6)]
    pairs = None
    if case.relation == "add-remove":
        rows, pairs = [without_unit(rows[-1])], tuple((0, k + 1) for k in range(len(heavy)))
    weighted = dataclasses.replace(case, data_sets=(*rows, *heavy), pairs=pairs, unrelated_data_sets=())
    try:
        fuzz = sensitivity_fuzz(weighted)
    except (ValueError, TypeError) as error:
        if isinstance(error, NothingRecordedError):
            raise NotApplicable("takes sample_weight, and its noise cannot be recorded") from None
        return
    require(fuzz.passed, f"sample_weight is not bounded: {fuzz}")


def check_rows_outside_the_domain(case: AuditCase) -> None:
    """Rows outside the bounds and labels outside the classes change no message and raise no error."""
    warned = set()
    for k in range(len(case.data_sets)):
        try:
            warned.add(warnings_of(case, k))
        except Exception as error:
            raise AssertionError(
                f"a unit within the domain is accepted and another raises {type(error).__name__}"
            ) from None
        require(len(warned) == 1, "warnings depend on one unit's values")


def check_labels_outside_the_classes(case: AuditCase) -> None:
    """A private label outside the classes shows nowhere."""
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
    """NaN is treated in the same way in every row, and no message shows its row."""
    rows = case.data_sets[0]
    require_cells(rows)
    outcomes: set[tuple[str, ...]] = set()
    private = np.flatnonzero(private_rows(rows))
    for row in (private[0], private[len(private) // 2], private[-1]):
        X = np.array(rows["X"])
        X[row, -1] = np.nan
        try:
            outcomes.add(warnings_of(case, {**rows, "X": X}))
        except Exception as error:
            outcomes.add((type(error).__name__, str(error)))
    require(len(outcomes) == 1, "the treatment of NaN depends on the row that holds it")


def warnings_of(case: AuditCase, data: Any) -> tuple[str, ...]:
    """Return the warnings of a fit, except warnings about the released values."""
    return tuple(one for one in case.fit_with_warnings(data, random_state=0)[1] if "Utility" not in one)
