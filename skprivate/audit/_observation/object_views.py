# SPDX-License-Identifier: BSD-3-Clause
"""All that can be seen of a fitted object, step by step: what it keeps, and what it shows."""

import functools
import inspect
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from ...base._pipeline_report import CONTAINERS, steps_of
from .code_constants import names_in_code
from .defining_modules import module_of
from .object_walk import Leaves, leaves

#: What a container keeps its steps in; those are looked at by themselves.
_STEPS = (
    *("steps", "transformer_list", "transformers", "transformers_", "remainder", "_remainder"),
    "best_estimator_",
)
#: Views besides the state.
SHOWS = ("repr", "HTML", "names of its columns", "pickle", "clone", "output")


# Numbers of elements, and addresses, which scikit-learn may cut at the front.
_OF_THIS_PROCESS = re.compile(r"id-\d+|(?:0x|\.\.\.x?)[0-9a-f]+(?=>|&gt;)")


def owners_of_files(fitted: Any) -> dict[Any, str]:
    """Return the steps by the files that their classes are written in, where their warnings come from."""
    paths: dict[Any, list[str]] = {}
    for path, step in steps_inside(fitted, ""):
        paths.setdefault(getattr(module_of(type(step)), "__file__", None), []).append(path)
    return {file: " or ".join(found) for file, found in paths.items()}


def steps_inside(fitted: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A fitted object and what stands in it; paths are those of `privacy_report`."""
    yield path or "estimator", fitted
    inside = vars(fitted).get("best_estimator_")
    pairs = steps_of(fitted) if isinstance(fitted, CONTAINERS) else []
    for name, child in [*pairs, *([] if inside is None else [("best_estimator_", inside)])]:
        yield from steps_inside(child, f"{path} > {name}" if path else name)


def state_of(step: Any) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of all that a step keeps."""
    state = {name: value for name, value in vars(step).items() if name not in _STEPS}
    for name, value in state.items():
        yield from leaves(value, f"attribute {name}").items()
    yield "set of attributes", ",".join(sorted(state))
    if "transformers_" in vars(step):
        columns = [(name, str(columns)) for name, _, columns in step.transformers_]
        yield from leaves(columns, "attribute transformers_").items()


def views_of(step: Any) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of all that a step shows."""
    views: dict[str, Callable[[], Any]] = {
        "repr": lambda: repr(step),
        # That of a container is made of those of its steps.
        "HTML": lambda: "" if isinstance(step, CONTAINERS) else step._repr_html_(),
        "names of its columns": lambda: list(step.get_feature_names_out()),
        "pickle": lambda: _state_of(pickle.loads(pickle.dumps(step))),
        "clone": lambda: _state_of(clone(step)),
    }
    for name, view in views.items():
        result = _result_of(view)
        # Numbers of elements on a page, and addresses in memory, are those of this process.
        text = _OF_THIS_PROCESS.sub("", result) if isinstance(result, str) else result
        yield from leaves(text, name).items()


def _state_of(step: Any) -> Any:
    state = step.__getstate__() if hasattr(step, "__getstate__") else vars(step)
    return (
        {name: value for name, value in state.items() if name not in _STEPS}
        if isinstance(state, dict)
        else state
    )


def _result_of(view: Callable[[], Any]) -> Any:
    """Return what a view shows, or the error that it ends in."""
    try:
        return view()
    except Exception as error:
        return type(error).__name__


def outputs_of(model: Any, X: Any) -> dict[str, Any]:
    """Return what a fitted object makes of the same rows."""
    found = {}
    for name in ("transform", "predict"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method = getattr(
                model[:-1] if name == "transform" and hasattr(model, "steps") else model, name, None
            )
            found[name] = None if method is None else _result_of(functools.partial(method, X))
    return found


def form_of(seen: dict[str, Any]) -> dict[str, Any]:
    """Return the form of leaves whose values are noisy."""
    return {
        path: (type(leaf).__name__, str(getattr(leaf, "dtype", "")), np.shape(leaf)).__repr__()
        for path, leaf in seen.items()
        if not path.startswith(SHOWS)
    }


#: Methods that take rows, and those that take none: how the names of the latter begin.
_USES = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")
_TELLS = ("get_", "to_", "as_", "summary", "report", "describe", "export", "inverse_")


def views_of_a_fit(model: Any, rows: Any) -> Leaves:
    """Return the leaves of all that a fitted object shows to who holds it.

    Texts, state, pickle, clone, tags, parameters, properties, what methods return that need no argument, and
    what it makes of rows, with every switch on too.
    """
    found = Leaves()
    for path, step in steps_inside(model, ""):
        shown = {**dict(views_of(step)), **leaves(_told_by(step), "told")}
        found.update({f"{path}: {name}" if step is not model else name: leaf for name, leaf in shown.items()})
    found.update(leaves(_made_of(model, rows), "made of rows"))
    return found


def _told_by(step: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "str": _OF_THIS_PROCESS.sub("", str(_result_of(lambda: str(step)))),
        "tags": _OF_THIS_PROCESS.sub("", str(_result_of(lambda: repr(step.__sklearn_tags__())))),
        "order of attributes": list(vars(step)) if hasattr(step, "__dict__") else [],
    }
    for name in names_in_code(getattr(type(step), "__getattr__", None)):
        told[name] = _result_of(functools.partial(getattr, step, name))
    for name in dir(type(step)):
        member = getattr(type(step), name, None)
        if isinstance(member, property | functools.cached_property) and not name.startswith("__"):
            told[name] = _result_of(functools.partial(getattr, step, name))
        elif callable(member) and name.startswith(_TELLS) and not _needs_arguments(member):
            told[f"{name}()"] = _result_of(functools.partial(_call, step, name))
    return told


def _call(step: Any, name: str) -> Any:
    return getattr(step, name)()


def _needs_arguments(method: Any) -> bool:
    try:
        parameters = list(inspect.signature(method).parameters.values())[1:]
    except (TypeError, ValueError):
        return True
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(one.default is one.empty and one.kind not in variable for one in parameters)


def _made_of(model: Any, rows: Any) -> dict[str, Any]:
    """Return what a fitted object makes of rows, plainly and with every switch of the method turned."""
    if not (isinstance(rows, dict) and "X" in rows):
        return {}
    made = {}
    for name in _USES:
        method = getattr(model, name, None)
        if method is not None:
            for switch, value in [(None, None), *_switches(method)]:
                options = {} if switch is None else {switch: value}
                made[f"{name}({switch or ''})"] = _quietly(functools.partial(method, rows["X"], **options))
    if hasattr(model, "score"):
        arguments = [rows["X"]] if rows.get("y") is None else [rows["X"], rows["y"]]
        made["score()"] = _quietly(functools.partial(model.score, *arguments))
    return made


def _switches(method: Any) -> list[tuple[str, bool]]:
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return []
    return [(one.name, not one.default) for one in parameters if isinstance(one.default, bool)]


def _quietly(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _result_of(call)
