# SPDX-License-Identifier: BSD-3-Clause
"""What is public and drawn from no noise: names, signatures, commands, errors; and examples."""

import doctest
import inspect
import re
import time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .encode import clean
from .names import public, public_objects, rooms
from .parties import run_module
from .record import FIT, STATEMENTS, Recorder, describe

# Examples that take seconds, since they fit hundreds of times; they draw no other noise than the cases here.
_LONG = (
    *("check_private_estimator", "check_private_pipeline", "sensitivity_fuzz", "ModelExtractionAttack"),
    *("AuditCase", "parametrize_with_private_checks", "PipelineCheck"),
)
_COMMANDS = (
    *("", "client", "curator", "curator plan", "curator add", "curator merge", "curator release"),
    *("curator show", "nothing"),
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
            case.put(
                STATEMENTS,
                "listed",
                {entry: "" for entry in dir(module) if not entry.startswith("_")}
                if name == "skprivate"
                else None,
            )
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


def errors(recorder: Recorder) -> None:
    """Note down what bad inputs are told."""
    X = np.random.default_rng(0).uniform(size=(30, 2))
    y = np.arange(30) % 2
    holes = np.where(X > 0.9, np.nan, X)
    times = np.exp(X[:, 0])
    inputs: dict[str, tuple[Any, ...]] = {
        "no rows": (X[:0], y[:0]),
        "one row": (X[:1], y[:1]),
        "one column of text": (np.array([["a", "b"]] * 30), y),
        "missing numbers": (holes, y),
        "infinite numbers": (X / 0.0 if False else np.where(X > 0.9, np.inf, X), y),
        "other lengths": (X, y[:-1]),
        "flat": (X[:, 0], y),
        "three dimensions": (X[None], y),
        "no targets": (X, None),
        "targets of two columns": (X, np.c_[y, y]),
        "dates": (X.astype("datetime64[s]"), y),
        "complex": (X + 1j, y),
        "negative times": (X, -times),
        "good": (X, times),
    }
    settings: dict[str, dict[str, Any]] = {
        **{f"epsilon={value!r}": {"epsilon": value} for value in (0, -1, np.inf, np.nan, "1", None, True)},
        **{f"delta={value!r}": {"delta": value} for value in (-1, 1, "0")},
        **{f"max_depth={value!r}": {"max_depth": value} for value in (0, 31, 1.5, "deep")},
        **{
            f"bounds={value!r}": {"bounds": value}
            for value in ((1, 0), (0,), "x", ([0, 0, 0], 1), {"a": (0, 1)})
        },
        **{f"bounds_X={value!r}": {"bounds_X": value} for value in ((1, 0), (0, np.inf), 3)},
        **{f"bounds_y={value!r}": {"bounds_y": value} for value in ((-1, 1), (2, 1), "x")},
        **{f"classes={value!r}": {"classes": value} for value in ([0], [0, 0], [[0, 1]], "no")},
        **{f"mechanism={value!r}": {"mechanism": value} for value in ("exact", 3)},
        **{f"random_state={value!r}": {"random_state": value} for value in (-1, "x", True, 1.5)},
        **{f"ledger={value!r}": {"ledger": value} for value in ("file", 1)},
        **{f"max_rows_per_group={value!r}": {"max_rows_per_group": value} for value in (0, 2.5)},
        "gaussian without delta": {"mechanism": "gaussian"},
        "rule": {"rule": "best"},
        "relation": {"relation": "both"},
        "public_weight": {"public_weight": -1},
    }
    strict = public_objects()["config_context"]
    bases = {
        "DPTreeClassifier": {"bounds": (0, 1), "classes": [0, 1]},
        "LocallyPrivateTreeClassifier": {"bounds": (0, 1), "classes": [0, 1]},
        "DPLogLocationScaleRegressor": {"bounds_X": (0, 1), "bounds_y": (0.1, 10)},
        "DPNormalLLSRegressor": {"bounds_X": (0, 1), "bounds_y": (-10, 10)},
        **{
            name: {}
            for name in ("LocalAverageRegressor", "BSTDAggregator", "TQMATransformer", "BoundsScaler")
        },
        "CollaborativeLARRegressor": {},
    }
    for name, base in bases.items():
        kind = public_objects()[name]
        known = kind().get_params()
        with recorder.case("errors", name) as case:
            for mode in (False, True):
                for label, rows in inputs.items():
                    with strict(strict=mode):
                        case.attempt(
                            STATEMENTS,
                            f"{label}, strict {mode}",
                            lambda k=kind, b=base, r=rows: _fit(k, b, r),
                        )
            targets = y if "Tree" in name else times
            for label, change in settings.items():
                if set(change) <= set(known):
                    parameters = {**base, **change}
                    case.attempt(
                        STATEMENTS, label, lambda k=kind, p=parameters, t=targets: _fit(k, p, (X, t))
                    )
            for method in ("predict", "transform", "predict_proba"):
                if hasattr(kind, method):
                    case.attempt(
                        STATEMENTS, f"{method}, not fitted", lambda k=kind, m=method: getattr(k(), m)(X)
                    )
    _errors_of_values(recorder)


def _fit(kind: Any, parameters: dict[str, Any], rows: tuple[Any, ...]) -> str:
    kind(**parameters).fit(*rows)
    return "fits"


def _errors_of_values(recorder: Recorder) -> None:
    bad: dict[str, list[tuple[Any, ...]]] = {
        "DiscreteLaplaceMechanism": [(0, 1), (1, 0), (1, 1.5), ("1", 1)],
        "DiscreteGaussianMechanism": [(0, 1), (1, -1)],
        "HadamardRandomizer": [(0, 2), (1, 0), (1, 2, 1)],
        "make_randomizer": [("exact", 1, 2), ("krr", -1, 2)],
        "randomizer_from_dict": [({},), ({"mechanism": "krr"},)],
        "QuadraticAggregativeGame": [(1.0, 0.5, []), (-1.0, 0.5, [1.0]), ("x", 0, [1.0])],
        "VaccinationGame": [([1.0], [1.0], "free"), ([1.0], [1.0, 2.0])],
        "TypePrior": [([1.0], [0.5]), ([], [])],
        "PrivateNashSolver": [("nash",)],
        "MomentAccumulator": [((0, 1), (0, 1), 10), ((1, 0), (1, 2), 10), ((0, 1), (1, 2), 0)],
        "TreeSpecification": [(None, None, [])],
        "TreeClient": [(None,)],
        "PrivacyGuarantee": [()],
        "shuffle_amplification": [(1.0, 0, 1e-6), (-1, 10, 1e-6), (1.0, 10, 2)],
        "zcdp_to_epsilon": [(-1, 1e-6), (1, 0)],
        "ConsentBox": [({}, b""), ({"a": b"1"}, b"2")],
        "SiteKey": [(None,)],
        "pml_from_ldp": [(-1, 0.5), (1, 2)],
        "statement_schema": [(1,)],
    }
    for name, calls in bad.items():
        with recorder.case("errors", name) as case:
            for arguments in calls:
                thing = public_objects()[name]
                case.attempt(STATEMENTS, repr(arguments), lambda t=thing, a=arguments: t(*a))
    with recorder.case("errors", "specification") as case:
        reader = public("collection", "TreeSpecification")
        for text in ("", "{}", "[]", '{"format": "skprivate.tree"}', "missing.json"):
            case.attempt(STATEMENTS, text, lambda t=text: reader.from_json(t))
        loader = public("linear_model", "MomentAccumulator")
        for raw in (b"", b"{}", b"\x00" * 40):
            case.attempt(STATEMENTS, repr(raw), lambda r=raw: loader.from_bytes(r))


def examples(recorder: Recorder) -> None:
    """Run the example of every public object on seeded entropy; note down outputs and what it fitted."""
    for name, thing in public_objects().items():
        if not getattr(thing, "__doc__", None) or name in _LONG:
            continue
        for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs={}):
            with recorder.case("examples", name) as case:
                start = time.process_time()
                found = _run(test)
                case.put(STATEMENTS, "outputs", found)
                left = {key: value for key, value in test.globs.items() if _is_result(value)}
                case.put(FIT, "left", left)
                recorder.seconds[f"example of {name}"] = time.process_time() - start


def _run(test: doctest.DocTest) -> list[str]:
    """Return the outputs of an example, of an error too."""
    outputs: list[str] = []

    class Runner(doctest.DocTestRunner):
        def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
            outputs.append(clean(got))

        def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
            outputs.append(clean(got))

        def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
            outputs.append(describe(exc_info[1]))

    Runner(verbose=False).run(test, out=lambda text: None, clear_globs=False)
    return outputs


def _is_result(value: Any) -> bool:
    kinds = (
        BaseEstimator,
        np.ndarray,
        float,
        int,
        str,
        dict,
        list,
        tuple,
        public("accounting", "PrivacySpent"),
    )
    return isinstance(value, kinds)
