# SPDX-License-Identifier: BSD-3-Clause
"""What is public and drawn from no noise: names, signatures, commands, errors; and examples."""

import contextlib
import doctest
import inspect
import io
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from tests.catalogue import INSTANCES, ONE_OF_EACH, arguments

from .encode import clean
from .estimators import applicable
from .names import public, public_objects, rooms
from .objects import run_module
from .record import FIT, STATEMENTS, Recorder, describe

# Examples that take seconds, since they fit hundreds of times; they draw no other noise than the cases here.
_LONG = (
    *("check_private_estimator", "check_private_pipeline", "sensitivity_fuzz", "ModelExtractionAttack"),
    *("AuditCase", "parametrize_with_private_checks", "PipelineCheck"),
)
_COMMANDS = (
    "",
    "client",
    "curator",
    *(f"curator {name}" for name in ("plan", "add", "merge", "release", "show")),
)
# What an annotation names, without the module that holds it.
_MODULES = re.compile(
    r"\b(?:skprivate|numpy|collections|typing|fractions|scipy|sklearn|os|datetime)(?:\.\w+)*\.(?=\w)"
)


def names(recorder: Recorder) -> None:
    """Note down all public names, signatures and methods."""
    for name, module in rooms().items():
        with recorder.case("public names", name) as case:
            # A dict, so that the order after a renaming is no difference.
            case.put(STATEMENTS, "__all__", {entry: "" for entry in getattr(module, "__all__", ())})
            if name == "skprivate":
                case.put(STATEMENTS, "listed", {entry: "" for entry in dir(module) if entry[0] != "_"})
    for name, thing in public_objects().items():
        with recorder.case("public signatures", name) as case:
            case.put(STATEMENTS, "signature", _signature(thing))
            if inspect.isclass(thing):
                case.put(STATEMENTS, "bases", {base.__name__: "" for base in thing.__mro__})
                members = {entry: _member(thing, entry) for entry in dir(thing) if not entry.startswith("_")}
                case.put(STATEMENTS, "members", members)


def _signature(thing: Any) -> Any:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError) as error:
        return describe(error)
    return {name: _MODULES.sub("", clean(str(one))) for name, one in signature.parameters.items()} | {
        "order": list(signature.parameters),
        "return": _MODULES.sub("", clean(str(signature.return_annotation))),
    }


def _member(kind: type, name: str) -> Any:
    value = inspect.getattr_static(kind, name)
    if callable(value) or isinstance(value, classmethod | staticmethod):
        return _signature(getattr(kind, name))
    return value if isinstance(value, bool | int | str | tuple | None) else type(value).__name__


def commands(recorder: Recorder) -> None:
    """Note down the help of every command."""
    with recorder.case("commands", "help") as case:
        case.put(STATEMENTS, "python -m skprivate", run_module("skprivate", ["--help"]))
        for command in _COMMANDS:
            case.put(STATEMENTS, command, run_module("skprivate.collection", [*command.split(), "--help"]))
            case.put(STATEMENTS, f"{command}, bare", run_module("skprivate.collection", command.split()))


#: What is wrong with rows, from good ones.
_DAMAGED: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "none": lambda X, y: (X, y),
    "no rows": lambda X, y: (X[:0], y[:0]),
    "one row": lambda X, y: (X[:1], y[:1]),
    "text": lambda X, y: (np.full(X.shape, "a"), y),
    "missing numbers": lambda X, y: (np.where(X > 0.9, np.nan, X), y),
    "infinite numbers": lambda X, y: (np.where(X > 0.9, np.inf, X), y),
    "other lengths": lambda X, y: (X, y[:-1]),
    "flat": lambda X, y: (X[:, 0], y),
    "three dimensions": lambda X, y: (X[None], y),
    "no targets": lambda X, y: (X, None),
    "targets of two columns": lambda X, y: (X, np.c_[y, y]),
    "dates": lambda X, y: (X.astype("datetime64[s]"), y),
    "complex": lambda X, y: (X + 1j, y),
    "negative times": lambda X, y: (X, -1.0 - X[:, 0]),
}
_BAD_SETTINGS: tuple[dict[str, Any], ...] = (
    *({"epsilon": value} for value in (0, -1, np.inf, np.nan, "1", None, True)),
    *({"delta": value} for value in (-1, 1, "0")),
    *({"max_depth": value} for value in (0, 31, 1.5, "deep")),
    *({"bounds": value} for value in ((1, 0), (0,), "x", ([0, 0, 0], 1), {"a": (0, 1)})),
    *({"bounds_X": value} for value in ((1, 0), (0, np.inf), 3)),
    *({"bounds_y": value} for value in ((-1, 1), (2, 1), "x")),
    *({"classes": value} for value in ([0], [0, 0], [[0, 1]], "no")),
    *({"mechanism": value} for value in ("exact", 3, "gaussian")),
    *({"random_state": value} for value in (-1, "x", True, 1.5)),
    *({"ledger": value} for value in ("file", 1)),
    *({"max_rows_per_group": value} for value in (0, 2.5)),
    *({"rule": "best"}, {"relation": "both"}, {"public_weight": -1}),
)


def errors(recorder: Recorder) -> None:
    """Note down what an estimator of every class says of bad rows, strict or not, and of bad settings."""
    for name in ONE_OF_EACH:
        estimator, given = INSTANCES[name].estimator, arguments(INSTANCES[name])
        if "X" not in given:
            continue
        with recorder.case("errors", type(estimator).__name__) as case:
            for (label, damage), strict in product(_DAMAGED.items(), (False, True)):
                with public("config_context")(strict=strict):
                    case.attempt(STATEMENTS, f"{label}, strict {strict}", _fit, estimator, given, damage)
            for label, change in applicable(estimator, _BAD_SETTINGS):
                case.attempt(STATEMENTS, label, _fit, estimator, given, _DAMAGED["none"], change)
            for method in ("predict", "transform", "predict_proba"):
                if hasattr(estimator, method):
                    ask = getattr(clone(estimator), method)
                    case.attempt(STATEMENTS, f"{method}, not fitted", ask, given["X"])


def _fit(estimator: Any, given: dict[str, Any], damage: Any, change: dict[str, Any] | None = None) -> str:
    X, y = damage(given["X"], given["y"])
    beside = {name: values[: len(X)] for name, values in given.items() if name not in "Xy"}
    clone(estimator).set_params(**change or {}).fit(X, y, **beside)
    return "fits"


def examples(recorder: Recorder) -> None:
    """Run the example of every public object on seeded entropy; note down outputs and what it fitted."""
    results = (BaseEstimator, np.ndarray, float, int, str, dict, list, tuple, public("PrivacySpent"))
    for name, thing in public_objects().items():
        if not getattr(thing, "__doc__", None) or name in _LONG:
            continue
        for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs={}):
            with recorder.case("examples", name) as case:
                case.put(STATEMENTS, "outputs", _run(test))
                left = {key: value for key, value in test.globs.items() if isinstance(value, results)}
                case.put(FIT, "left", left)


def _run(test: doctest.DocTest) -> list[str]:
    """Return the lines that an example prints, of an error too."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for example in test.examples:
            try:
                exec(compile(example.source, test.name, "single"), test.globs)
            except Exception as error:
                print(describe(error))
    return [clean(line) for line in printed.getvalue().splitlines()]
