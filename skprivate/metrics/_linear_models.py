# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of scikit-learn's linear models of which every row has the same bits alone and in any table."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.utils.validation import validate_data

from .._typing import FloatArray
from ..utils._public_module import changed_methods
from ._row_arithmetic import products, softmax
from ._rows_alone import is_same_in_any_table

_CLASSIFIERS = ("LogisticRegression", "LogisticRegressionCV")
_REGRESSORS = ("ElasticNet", "Lasso", "LinearRegression", "Ridge")
# Relative error: far above the rounding of a model's own matrix product, far below another formula.
_SAME = 1e-6
# Rows of a sparse table that are held in full at once: 16 MB of 1,000 columns.
_ROWS_AT_ONCE = 2048

Ask = Callable[[Any], NDArray[Any]]


def ask_at_once(model: Any, method: str) -> Ask | None:
    """Return what asks a model about a whole table; None if rows must be asked about one by one.

    Notes
    -----
    **Privacy.** Of scikit-learn's linear models, by exact class, the formula is known: margins are added up
    column by column, so that a row's prediction depends on the row alone (:doc:`/proofs/rows`). It may differ
    from the model's own in the last bits. That it is the model's formula is tried on rows made of its
    coefficients, and not on private ones.
    """
    if is_same_in_any_table(model):
        ask: Ask = getattr(model, method)
        return ask
    steps = [step for _, step in model.steps] if _is_of_sklearn(model, ("Pipeline",)) else [model]
    *first, last = steps
    if not _is_of_sklearn(last, _CLASSIFIERS + _REGRESSORS) or not all(map(is_same_in_any_table, first)):
        return None
    linear = _method_of(last, method)
    if linear is None or not _is_formula_of(last, method, linear):
        return None

    def ask_rows(X: Any) -> NDArray[Any]:
        for step in first:
            X = step.transform(X)
        if not issparse(X):
            return linear(validate_data(last, X, reset=False, dtype=np.float64))
        table = validate_data(last, X, reset=False, dtype=np.float64, accept_sparse="csr")
        starts = range(0, table.shape[0], _ROWS_AT_ONCE)
        return np.concatenate([linear(table[here : here + _ROWS_AT_ONCE].toarray()) for here in starts])

    return ask_rows


def _is_of_sklearn(model: Any, names: tuple[str, ...]) -> bool:
    kind = type(model)
    own = kind.__module__.partition(".")[0] == "sklearn" and kind.__name__ in names
    return own and changed_methods(model) is None


def _method_of(model: Any, method: str) -> Ask | None:
    coef = np.asarray(model.coef_, dtype=np.float64)
    slopes = coef[0] if coef.ndim == 2 and len(coef) == 1 else coef.T

    def margins(X: FloatArray) -> FloatArray:
        return products(X, slopes) + np.squeeze(model.intercept_)

    def shares(X: FloatArray) -> FloatArray:
        found = margins(X)
        if found.ndim == 2:
            return softmax(found)
        second: FloatArray = expit(found)
        return np.column_stack([1 - second, second])

    def labels(X: FloatArray) -> NDArray[Any]:
        found = margins(X)
        codes = found.argmax(axis=1) if found.ndim == 2 else (found > 0).astype(np.intp)
        return np.asarray(model.classes_)[codes]

    if hasattr(model, "classes_"):
        return {"predict_proba": shares, "predict": labels}.get(method)
    return margins if method == "predict" else None


def _is_formula_of(model: Any, method: str, linear: Ask) -> bool:
    """Whether the formula is the model's, on rows along its slopes."""
    slopes = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    unit = slopes / max(np.abs(slopes).sum(), 1e-300)
    rows = np.concatenate([unit, -unit, 3 * unit, np.zeros_like(unit[:1])])
    try:
        theirs, ours = getattr(model, method)(rows), linear(rows)
    except Exception:  # the model knows columns by names, or is not fitted
        return False
    if ours.dtype.kind != "f":
        return bool(np.array_equal(theirs, ours))
    return theirs.shape == ours.shape and bool(np.allclose(theirs, ours, rtol=_SAME, atol=_SAME))
