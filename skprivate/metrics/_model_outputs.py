# SPDX-License-Identifier: BSD-3-Clause
"""What models say of rows; of each by the row alone."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError

from .._config import get_config
from .._typing import FloatArray
from ..utils import is_frame
from ..utils._compat import num_samples, safe_indexing
from ..utils._refused_values import refuse_text
from ._linear_models import ask_at_once
from ._rows_alone import rows_alone

# How far probabilities of a row may sum from 1: single precision of a hundred classes.
_TOLERANCE = 1e-4


def predictions(
    model: Any, method: str, X: Any, strict: bool, check: Callable[[Any, int], NDArray[Any]], instead: Any
) -> NDArray[Any]:
    """Return what a model predicts for rows; in strict mode `instead` for those that it fails on.

    Notes
    -----
    **Privacy.** The prediction of a row is what the model says of a table that holds this row only, at a
    place of one alignment: a function of the row, however the model rounds (:doc:`/proofs/rows`). Rows are
    taken together where that is known to give the same bits.
    """
    n_rows = num_samples(X)
    ask = getattr(model, method)
    # In threads the trees of a forest would be added in any order.
    with warnings.catch_warnings(), np.errstate(all="ignore"), parallel_config(backend="sequential"):
        warnings.simplefilter("ignore")
        at_once = None if isinstance(X, list | tuple) else ask_at_once(model, method)
        if at_once is not None:
            try:
                return check(_ask(at_once, X), n_rows)
            except ValueError:
                if not strict:
                    raise
        found = np.tile(instead, (n_rows, *([1] * np.ndim(instead))))
        for number, row in enumerate(rows_alone(X)):
            try:
                found[number] = check(_ask(ask, row), 1)[0]
            except NotFittedError:
                raise
            except Exception:
                if not strict:
                    raise
    return found


def check_table(model: Any, X: Any) -> Any:
    """Return a table whose rows can be taken, and refuse one of another type or width: public facts."""
    X = X.tocsr() if issparse(X) else X
    if _reads_numbers(model):
        refuse_text(X, objects=get_config()["strict"], takes_domain=True)
        names = list(getattr(model, "feature_names_in_", ()))
        if names and is_frame(X) and list(X.columns) not in (names, list(range(len(names)))):
            raise ValueError(
                "the model was fitted to other columns, or in another order: pass X[model.feature_names_in_]."
            )
    n_features = getattr(model, "n_features_in_", None)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if n_features is not None and len(shape) == 2 and shape[1] != n_features:
        raise ValueError(f"X has {shape[1]} columns, and the model was fitted to {n_features}.")
    try:
        safe_indexing(X, np.arange(min(num_samples(X), 1)))
    except Exception:
        taken = False
    else:
        taken = True
    if not taken:
        raise TypeError("X must be an array, a data frame, a list of rows or a sparse matrix.")
    return X


def _reads_numbers(model: Any) -> bool:
    """Tell whether the first step of a model is one of ours that reads numbers, without a domain."""
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "steps"):
        return bool(model.steps) and _reads_numbers(model.steps[0][1])
    declared = getattr(model, "domain_", getattr(model, "domain", None))
    return declared is None and getattr(type(model), "_reads_numbers", False)


def _ask(predict: Callable[[Any], Any], X: Any) -> Any:
    """Return what a model predicts; what it says of rows in errors is kept back."""
    try:
        return predict(X)
    except NotFittedError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # Raised outside the handler, so that the original is not kept as __context__.
    raise ValueError(
        f"the model failed on these rows with an error of its own ({kind}), whose message may repeat a value "
        "and is kept back. Try the model on public rows; in strict mode rows that it fails on are counted "
        "with equal scores."
    )


def probabilities(model: Any, X: Any, n_classes: int, strict: bool) -> FloatArray:
    """Return the probabilities of the classes, checked."""

    def check(found: Any, n_rows: int) -> FloatArray:
        table = np.array(found, dtype=np.float64)
        if table.shape != (n_rows, n_classes):
            raise ValueError("predict_proba must return one column per class.")
        good = (table >= -_TOLERANCE).all(axis=1) & (np.abs(table.sum(axis=1) - 1) <= _TOLERANCE)
        if strict:
            table[~good] = 1 / n_classes
        elif not good.all():
            raise ValueError(
                "predict_proba must return probabilities: from 0 to 1, of sum 1 in a row, and none missing."
            )
        return table

    return predictions(model, "predict_proba", X, strict, check, np.full(n_classes, 1 / n_classes))


def predicted_numbers(model: Any, X: Any, strict: bool, instead: float) -> FloatArray:
    """Return a regressor's predictions, checked."""

    def check(found: Any, n_rows: int) -> FloatArray:
        values = np.array(found, dtype=np.float64)
        if values.shape == (n_rows, 1):
            values = values[:, 0]
        if values.shape != (n_rows,):
            raise ValueError("predict must return one number per row.")
        good = np.isfinite(values)
        if strict:
            values[~good] = instead
        elif not good.all():
            raise ValueError("predict must return finite numbers.")
        return values

    return predictions(model, "predict", X, strict, check, instead)
