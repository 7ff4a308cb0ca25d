# SPDX-License-Identifier: BSD-3-Clause
"""State and visible values of a fitted object: leaves by path, displays, properties, and outputs on rows."""

import contextvars
import functools
import gc
import inspect
import math
import operator
import pickle
import re
import types
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from ...base._pipeline_report import CONTAINERS, steps_of
from .source_code import module_of, names_in_code

# Flat forms of objects, with numbers, texts and arrays by path, and their comparison.

# Set by hand: no model is nested as deep as this.
_DEEPEST = 40
_PLAIN = (bool, int, float, complex, str, bytes, bytearray, type(None), np.dtype)
_EXACTLY_PLAIN = frozenset(_PLAIN)
# Not state: code is the same for all rows.
_OF_ERRORS = ("args", "__traceback__", "__cause__", "__context__", "__notes__")
_CODE = (type, types.ModuleType, types.BuiltinFunctionType, types.CodeType, np.ufunc)


def flatten_object(root: Any, name: str = "") -> dict[str, Any]:
    """Return every number, text and array inside an object, by its path.

    Parameters
    ----------
    root : object
        Dicts, sequences, sets, arrays (also of objects), instances with attributes or slots, the contents of
        closures and bound methods, and the pickled state of compiled objects.
    name : str, default=""
        Path of the root.

    Returns
    -------
    leaves : dict of str to value
        Values that can be compared by `same_value`.

    Examples
    --------
    >>> from skprivate.audit._observation.fitted_objects import flatten_object
    >>> flatten_object([1, (2.5, "text")], "state_")
    {'state_[0]': 1, 'state_[1][0]': 2.5, 'state_[1][1]': 'text', 'state_[1].len': 2, 'state_.len': 2}
    """
    found: dict[str, Any] = {}
    # Objects are held until the end, so that the id of a temporary one is not used again.
    seen: dict[int, Any] = {}
    _collect(root, name, found, seen, 0)
    return found


def _collect(value: Any, path: str, found: dict[str, Any], seen: dict[int, Any], depth: int) -> None:
    if type(value) in _EXACTLY_PLAIN or isinstance(value, (_PLAIN, np.generic)):
        found[path] = value
        return
    if isinstance(value, _CODE) or id(value) in seen or depth > _DEEPEST:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        found[path] = value
        found[path + ".order"] = value.flags.f_contiguous, value.flags.c_contiguous
        if value.base is not None:
            _collect(value.base, path + ".base", found, seen, depth + 1)
        return
    for step, child in _children(value):
        _collect(child, path + step, found, seen, depth + 1)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) is dict or isinstance(value, Mapping):
        yield from ((f"[{key!r}]", item) for key, item in value.items())
        # Keys may differ even if the values do not.
        yield ".keys()", tuple(value)
    elif isinstance(value, list | tuple):
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
        yield ".len", len(value)
    elif isinstance(value, set | frozenset):
        yield from ((f"{{{index}}}", item) for index, item in enumerate(sorted(value, key=repr)))
        yield ".len", len(value)
    elif isinstance(value, np.ndarray):
        yield from ((f"[{index}]", item) for index, item in enumerate(value.ravel().tolist()))
        yield ".shape", value.shape
    else:
        look = next((look for kind, look in _LOOKS.items() if isinstance(value, kind)), _of_instance)
        yield from look(value)


def _of_function(value: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for index, cell in enumerate(value.__closure__ or ()):
        try:
            yield f".closure[{index}]", cell.cell_contents
        except ValueError:  # an empty cell
            continue
    yield ".defaults", value.__defaults__
    yield ".kwdefaults", value.__kwdefaults__
    yield ".attributes", vars(value)


def _cached(holder: Any, depth: int) -> Iterator[Any]:
    """Yield the contents of a function's cache."""
    for held in gc.get_referents(holder):
        if type(held) in _EXACTLY_PLAIN or isinstance(held, (_PLAIN, np.generic, np.ndarray)):
            yield held
        elif depth < _DEEPEST and not isinstance(held, (_CODE, types.FunctionType)):
            yield from _cached(held, depth + 1)


def _of_instance(value: Any) -> Iterator[tuple[str, Any]]:
    state = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                state[slot] = getattr(value, slot)
    if not state:
        # A compiled object, or one with its state elsewhere: use the state that it would pickle.
        try:
            yield ".reduced", value.__reduce_ex__(2)[1:]
        except (TypeError, AttributeError, pickle.PicklingError):
            return
    yield from ((f".{key}", item) for key, item in state.items())


# Functions that return the contents of objects of the interpreter.
_LOOKS: dict[type, Callable[[Any], Any]] = {
    types.FunctionType: _of_function,
    types.MethodType: lambda value: [(".__self__", value.__self__)],
    types.GeneratorType: lambda value: [
        (".locals", dict(value.gi_frame.f_locals) if value.gi_frame else None)
    ],
    types.TracebackType: lambda value: [(".locals", dict(value.tb_frame.f_locals)), (".next", value.tb_next)],
    BaseException: lambda value: [(f".{name}", getattr(value, name, None)) for name in _OF_ERRORS],
    weakref.ref: lambda value: [(".target", value())],
    contextvars.ContextVar: lambda value: [(".value", value.get(None))],
    functools._lru_cache_wrapper: lambda value: [(".cached", sorted(map(repr, _cached(value, 0))))],
}


def same_value(one: Any, other: Any) -> bool:
    """Return whether two leaves are the same to the last bit; NaN equals NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        first, second = np.asarray(one), np.asarray(other)
        same_form = first.dtype == second.dtype and first.shape == second.shape
        return same_form and first.tobytes() == second.tobytes()
    if type(one) is not type(other):
        return False
    if isinstance(one, float | np.floating):
        same_sign = math.copysign(1, one) == math.copysign(1, other)
        return bool(math.isnan(other)) if math.isnan(one) else bool(one == other and same_sign)
    return bool(one == other)


def differing_paths(one: Any, other: Any) -> list[str]:
    """Return the paths at which two objects differ.

    Parameters
    ----------
    one, other : object or dict of leaves
        Objects, or their flat forms.

    Returns
    -------
    paths : list of str
        Sorted, including paths that only one of the objects has.

    Examples
    --------
    >>> from skprivate.audit._observation.fitted_objects import differing_paths
    >>> differing_paths({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]})
    ["['b'][1]"]
    """
    first = one if isinstance(one, FlatObject) else FlatObject(flatten_object(one))
    second = other if isinstance(other, FlatObject) else FlatObject(flatten_object(other))
    missing = object()
    paths = first.keys() | second.keys()
    return sorted(p for p in paths if not same_value(first.get(p, missing), second.get(p, missing)))


class FlatObject(dict[str, Any]):
    """The flat form of an object: its leaves by path."""


def fitted_state(estimator: Any) -> FlatObject:
    """Return the leaves of the attributes of a fitted estimator, without its parameters."""
    parameters = set(estimator.get_params(deep=False)) if hasattr(estimator, "get_params") else set()
    state = {key: value for key, value in vars(estimator).items() if key not in parameters}
    return FlatObject(
        {path: leaf for key, value in state.items() for path, leaf in flatten_object(value, key).items()}
    )


# The values of a fitted object by step: its state, its displays, its properties, and its outputs on rows.

#: Attributes in which a container keeps its steps; steps are compared by themselves.
_STEPS = (
    *("steps", "transformer_list", "transformers", "transformers_", "remainder", "_remainder"),
    "best_estimator_",
)
#: Views besides the state.
DISPLAYS = ("repr", "HTML", "names of its columns", "pickle", "clone", "output")


# Numbers of scikit-learn's elements on a page, and addresses, which may be cut at the front.
_OF_THIS_PROCESS = re.compile(r"(?<=sk-)[a-z]+-id-\d+|(?:0x|\.\.\.x?)[0-9a-f]+(?=>|&gt;)")


def steps_by_file(fitted: Any) -> dict[Any, str]:
    """Return the steps by the files that define their classes, from which their warnings come."""
    paths: dict[Any, list[str]] = {}
    for path, step in fitted_steps(fitted, ""):
        paths.setdefault(getattr(module_of(type(step)), "__file__", None), []).append(path)
    return {file: " or ".join(found) for file, found in paths.items()}


def fitted_steps(fitted: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield a fitted object and its inner steps, with the paths of `privacy_report`."""
    yield path or "estimator", fitted
    inside = vars(fitted).get("best_estimator_")
    pairs = steps_of(fitted) if isinstance(fitted, CONTAINERS) else []
    for name, child in [*pairs, *([] if inside is None else [("best_estimator_", inside)])]:
        yield from fitted_steps(child, f"{path} > {name}" if path else name)


def kept_values(step: Any) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of all attributes of a step."""
    state = {name: value for name, value in vars(step).items() if name not in _STEPS}
    for name, value in state.items():
        yield from flatten_object(value, f"attribute {name}").items()
    yield "set of attributes", ",".join(sorted(state))
    if "transformers_" in vars(step):
        columns = [(name, str(columns)) for name, _, columns in step.transformers_]
        yield from flatten_object(columns, "attribute transformers_").items()


def display_values(step: Any) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of all displays of a step."""
    views: dict[str, Callable[[], Any]] = {
        "repr": lambda: repr(step),
        # The page of a container consists of those of its steps.
        "HTML": lambda: "" if isinstance(step, CONTAINERS) else step._repr_html_(),
        "names of its columns": lambda: list(step.get_feature_names_out()),
        "pickle": lambda: _state_of(pickle.loads(pickle.dumps(step))),
        "clone": lambda: _state_of(clone(step)),
    }
    for name, view in views.items():
        yield from flatten_object(_of_any_process(_result_of(view)), name).items()


def _of_any_process(result: Any) -> Any:
    """Return a text, or a dict of texts, without numbers of elements on a page and addresses in memory.

    A number in the form of an address stays, unless it is the address of a living object.
    """
    if isinstance(result, dict):
        return {name: _of_any_process(text) for name, text in result.items()}
    if not isinstance(result, str) or not _OF_THIS_PROCESS.search(result):
        return result
    living = set(map(id, gc.get_objects())) if "0x" in result else set()
    return _OF_THIS_PROCESS.sub(
        lambda found: found[0] if found[0].startswith("0x") and int(found[0], 16) not in living else "",
        result,
    )


def _state_of(step: Any) -> Any:
    state = step.__getstate__() if hasattr(step, "__getstate__") else vars(step)
    if not isinstance(state, dict):
        return state
    return {name: value for name, value in state.items() if name not in _STEPS}


def _result_of(view: Callable[[], Any]) -> Any:
    """Return the result of a view, or the name of its error."""
    try:
        return view()
    except Exception as error:
        return type(error).__name__


def predictions_of(model: Any, X: Any) -> dict[str, Any]:
    """Return the outputs of a fitted object on these rows."""
    found = {}
    for name in ("transform", "predict"):
        part = model[:-1] if name == "transform" and hasattr(model, "steps") else model
        method = getattr(part, name, None)
        found[name] = None if method is None else _quietly(functools.partial(method, X))
    return found


def forms_of_values(seen: dict[str, Any]) -> dict[str, Any]:
    """Return the form of leaves whose values are noisy."""
    return {
        path: (type(leaf).__name__, str(getattr(leaf, "dtype", "")), np.shape(leaf)).__repr__()
        for path, leaf in seen.items()
        if not path.startswith(DISPLAYS)
    }


#: Methods that take rows, and prefixes of the names of methods that take none.
_METHODS_ON_ROWS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")
_PREFIXES_OF_METHODS = ("_repr_", "get_", "to_", "as_", "summary", "report", "describe", "export", "inverse_")


def visible_values(model: Any, rows: Any) -> FlatObject:
    """Return the leaves of all values that a fitted object shows to its holder.

    These are texts, state, pickle, clone, tags, parameters, properties, results of methods without arguments,
    and outputs on rows, also with every switch turned.
    """
    found = FlatObject()
    for path, step in fitted_steps(model, ""):
        shown = {**dict(display_values(step)), **flatten_object(_property_values(step), "shown")}
        found.update({f"{path}: {name}" if step is not model else name: leaf for name, leaf in shown.items()})
    found.update(flatten_object(_outputs_on_rows(model, rows), "made of rows"))
    return found


def _property_values(step: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "str": _of_any_process(_result_of(lambda: str(step))),
        "format": _of_any_process(_result_of(lambda: format(step))),
        "tags": _of_any_process(_result_of(lambda: repr(step.__sklearn_tags__()))),
        "order of attributes": list(vars(step)) if hasattr(step, "__dict__") else [],
    }
    for name in names_in_code(getattr(type(step), "__getattr__", None)):
        found[name] = _result_of(functools.partial(getattr, step, name))
    for name in dir(type(step)):
        member = getattr(type(step), name, None)
        if isinstance(member, property | functools.cached_property) and not name.startswith("__"):
            found[name] = _result_of(functools.partial(getattr, step, name))
        elif callable(member) and name.startswith(_PREFIXES_OF_METHODS) and not _needs_arguments(member):
            method = functools.partial(operator.methodcaller(name), step)
            found[f"{name}()"] = _of_any_process(_result_of(method))
    return found


def _parameters_of(method: Any) -> list[inspect.Parameter] | None:
    """Return the parameters of a method; None if they are not known."""
    try:
        return list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):
        return None


def _needs_arguments(method: Any) -> bool:
    parameters = _parameters_of(method)
    if parameters is None:
        return True
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(one.default is one.empty and one.kind not in variable for one in parameters[1:])


def _outputs_on_rows(model: Any, rows: Any) -> dict[str, Any]:
    """Return the outputs of a fitted object on rows, by default and with every switch of a method turned."""
    if not (isinstance(rows, dict) and "X" in rows):
        return {}
    made = {}
    for name in _METHODS_ON_ROWS:
        method = getattr(model, name, None)
        if method is not None:
            switches = [one for one in _parameters_of(method) or () if isinstance(one.default, bool)]
            for options in ({}, *({one.name: not one.default} for one in switches)):
                call = functools.partial(method, rows["X"], **options)
                made[f"{name}({''.join(options)})"] = _quietly(call)
    if hasattr(model, "score"):
        arguments = [rows["X"]] if rows.get("y") is None else [rows["X"], rows["y"]]
        made["score()"] = _quietly(functools.partial(model.score, *arguments))
    return made


def _quietly(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _result_of(call)
