# SPDX-License-Identifier: BSD-3-Clause
"""All that can be seen of a fitted pipeline, step by step: what it keeps, and what it shows."""

import functools
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from ..base import CONTAINERS, steps_of
from ._walk import leaves

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
        paths.setdefault(getattr(sys.modules[type(step).__module__], "__file__", None), []).append(path)
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
