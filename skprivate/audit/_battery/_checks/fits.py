# SPDX-License-Identifier: BSD-3-Clause
"""Checks of ``fit``: it works, changes no parameter, and agrees with ``fit_transform``."""

import inspect

import numpy as np

from ..._cases.case import AuditCase
from ..._observation.flat_objects import FlatObject, differing_paths, flatten_object, same_value
from ..replay import replayed_case
from ..requirements import (
    NotApplicable,
    listed,
    name_of,
    publishable_fit,
    require,
)

_ROWS = ("self", "X", "y")


def check_fit(case: AuditCase) -> None:
    """``fit`` works on ordinary rows within the declared domain, with the arguments that it is given."""
    given = {*case.data_sets[0], *_ROWS}
    parameters = inspect.signature(type(case.estimator).fit).parameters.values()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [one.name for one in parameters if one.kind in plain and one.default is one.empty]
    missing = [name for name in needed if name not in given]
    require(
        not missing,
        f"{name_of(case)}.fit needs {', '.join(missing)}: hand over data that hold them, such as "
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
    """``fit_transform`` and ``fit_predict`` give what ``fit`` and then ``transform`` or ``predict`` give."""
    publishable_fit(case)
    replay = replayed_case(case)
    if replay is None or "X" not in case.data_sets[0]:
        raise NotApplicable("the noise of two fits cannot be made the same")
    rows = case.data_sets[0]
    for both, use in (("fit_transform", "transform"), ("fit_predict", "predict")):
        if hasattr(case.estimator, both) and hasattr(case.estimator, use):
            direct = replay.call(both, rows)
            model = case.record(rows, replay.given_outputs)[0]
            same = same_value(np.asarray(direct), np.asarray(getattr(model, use)(rows["X"])))
            require(same, f"{both} gives something else than fit and {use}")
