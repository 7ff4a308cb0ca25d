# SPDX-License-Identifier: BSD-3-Clause
"""Rows that a model is asked about one by one, so that none moves the last bits of another's prediction."""

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..utils._compat import num_samples, safe_indexing
from ..utils._public_module import changed_methods, is_exported

# A line of the cache: vectorised code may add up in another order where a row starts elsewhere in one.
_ALIGNMENT = 64
# Models of scikit-learn that read a row without linear algebra: leaves of trees, added in the order of the
# trees; and steps in front of them that look cells up, or do one exact operation of IEEE 754 on each.
_WITHOUT_LINEAR_ALGEBRA = frozenset(
    (
        *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
        *("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        *("ColumnTransformer", "FrozenEstimator", "Pipeline"),
        *("MinMaxScaler", "OneHotEncoder", "OrdinalEncoder", "SimpleImputer", "StandardScaler"),
    )
)
# Of boosted trees whose numbers go through no exponential of NumPy; an object that is a loss may do anything.
_LOSSES = ("log_loss", "squared_error", "absolute_error", "quantile")


def rows_alone(X: Any) -> Iterator[Any]:
    """Yield tables of one row each; the rows of an array all come at one place in memory.

    What is yielded is overwritten by the next row.
    """
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf":
        place = _aligned((1, X.shape[1]), X.dtype)
        for row in X:
            place[0] = row
            yield place
    else:
        for number in range(num_samples(X)):
            yield safe_indexing(X, np.arange(number, number + 1))


def aligned_copy(X: NDArray[Any]) -> NDArray[Any]:
    """Return a copy in rows, aligned as those of `rows_alone`."""
    place = _aligned(X.shape, X.dtype)
    place[...] = X
    return place


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    n_bytes = math.prod(shape) * dtype.itemsize
    memory = np.zeros(n_bytes + _ALIGNMENT, dtype=np.uint8)
    first = -memory.ctypes.data % _ALIGNMENT
    return memory[first : first + n_bytes].view(dtype).reshape(shape)


def takes_rows_together(model: Any, X: Any) -> bool:
    """Tell whether a model may be asked about all rows of a table at once.

    A list has the type that all of its cells have in common: one text changes what numbers beside it are.
    """
    return not isinstance(X, list | tuple) and is_same_in_any_table(model)


def is_same_in_any_table(model: Any) -> bool:
    """Tell whether a model's prediction of a row has the same bits alone and in any table of one type.

    Notes
    -----
    That is so for models whose code we know, by their exact class: those of this package, which add up in one
    fixed order, and models of scikit-learn without linear algebra; and for pipelines and searches that hold
    nothing else. Numbers of boosted trees must not go through an exponential of NumPy, whose vectorised loop
    need not round as the one for what is left over does. A forest is the same in any table where its trees
    are added in turn: without threads.
    """
    return hasattr(model, "get_params") and all(map(_is_known, _parts_of(model)))


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield an estimator and every estimator within its parameters."""
    if isinstance(value, dict):
        yield from _parts_of(list(value.values()))
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(_parts_of, value))
    elif hasattr(value, "get_params") and not isinstance(value, type):
        yield value
        yield from _parts_of(value.get_params(deep=False))
    elif hasattr(value, "predict") or hasattr(value, "transform"):
        yield value


def _is_known(part: Any) -> bool:
    kind = type(part)
    package = kind.__module__.partition(".")[0]
    if changed_methods(part) is not None:
        return False
    if package != "sklearn" or kind.__name__ not in _WITHOUT_LINEAR_ALGEBRA:
        return is_exported(kind)
    if kind.__name__ == "HistGradientBoostingClassifier" and len(getattr(part, "classes_", ())) != 2:
        return False
    return getattr(part, "loss", None) in (None, *_LOSSES)
