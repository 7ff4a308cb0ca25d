# SPDX-License-Identifier: BSD-3-Clause
"""The domain that an estimator declares, random rows within it, and targets at its ends."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from ...base._pipeline_report import last_step
from ...utils import check_bounds
from .units import Arguments

# Two levels of a tree have six rows a leaf, and a fit takes milliseconds.
_ROWS = 24
# Beyond every bound; sums of some of them are still finite.
FAR = 1e300
# A label that nobody declares.
_STRANGE = {"U": "zzz-undeclared", "i": 987654, "u": 987654, "f": 987654.5, "b": True}


def declared(estimator: Any, name: str) -> Any:
    """Return a parameter of an estimator, or of the last step of a pipeline; None if it has none."""
    last = last_step(estimator)
    return last.get_params(deep=False).get(name) if hasattr(last, "get_params") else None


def make_rows(estimator: Any, n: int = _ROWS, seed: int = 0, width: int = 2) -> Arguments:
    """Return random rows within the declared domain."""
    rng = np.random.default_rng(seed)
    lower, upper = domain_of_X(estimator, width)
    X = rng.uniform(lower, upper, (n, len(lower)))
    columns = declared(estimator, "domain")
    if columns is not None:
        cells = list(columns.decode(X).values())
        numbers = all(values.dtype.kind == "f" for values in cells)
        X = np.column_stack([values if numbers else values.astype(object) for values in cells])
    if is_classifier(estimator):
        classes = np.asarray(domain_of_y(estimator))
        return {"X": X, "y": classes[rng.integers(len(classes), size=n)]}
    if is_regressor(estimator):
        low, high = domain_of_y(estimator)
        return {"X": X, "y": low + (high - low) * rng.random(n)}
    return {"X": X}


def domain_of_X(estimator: Any, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the declared bounds of X, encoded where columns are declared; [-1, 1] where there are none."""
    columns = declared(estimator, "domain")
    if columns is not None:
        return columns.bounds
    for name in ("bounds", "bounds_X"):
        bounds = declared(estimator, name)
        if bounds is not None:
            sizes = [n_features, *(np.size(b) for b in bounds if np.ndim(b))] if len(bounds) == 2 else []
            return check_bounds(bounds, sizes[-1] if sizes else n_features, name=name)
    return -np.ones(n_features), np.ones(n_features)


def domain_of_y(estimator: Any) -> Any:
    """Return the declared classes, or bounds of the target."""
    if is_classifier(estimator):
        classes = declared(estimator, "classes")
        return [0, 1] if classes is None else classes
    bounds = declared(estimator, "bounds_y")
    if bounds is not None:
        return bounds
    positive = last_step(estimator).__sklearn_tags__().target_tags.positive_only
    return (0.5, 2.0) if positive else (-1.0, 1.0)


def extreme_targets(estimator: Any, rows: Arguments) -> Iterator[Any]:
    """Yield targets at the ends of the domain and beyond."""
    y = np.asarray(rows["y"])
    low, *_, high = domain_of_y(estimator)
    if is_classifier(estimator):
        yield from domain_of_y(estimator)
        yield strange_label(y)
        return
    positive = estimator.__sklearn_tags__().target_tags.positive_only or y.dtype.names is not None
    ends = [low, high, 1e-300 if positive else -FAR, FAR]
    if y.dtype.names is None:
        yield from ends
        return
    yield from ((event, end) for end in ends for event in (True, False))


def strange_label(y: NDArray[Any]) -> Any:
    """Return a label of the same type that no class has."""
    kind = y.dtype.kind
    return _STRANGE.get(kind, _STRANGE["U"])
