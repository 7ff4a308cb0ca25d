# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of any model, for each row alone, and intervals that probabilities are counted in."""

import math
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from .._config import get_config
from .._typing import FloatArray
from ..utils import is_frame
from ..utils._compat import num_samples, safe_indexing
from ..utils._public_module import changed_methods, is_exported
from ..utils._tables import refuse_text
from ._probabilities import products, softmax

# Largest difference of the sum of a row's probabilities from 1: single precision of a hundred classes.
_SUM_TOLERANCE = 1e-4


def predictions(
    model: Any, method: str, X: Any, strict: bool, check: Callable[[Any, int], NDArray[Any]], instead: Any
) -> NDArray[Any]:
    """Return a model's predictions for rows; in strict mode `instead` for rows that it fails on.

    Notes
    -----
    **Privacy.** The prediction of a row is that of a table that holds only this row, at a place of one
    alignment. It is a function of the row, however the model rounds (:doc:`/proofs/rows`). Rows are predicted
    together if this is known to give the same bits.
    """
    n_rows = num_samples(X)
    ask = getattr(model, method)
    # In threads, the trees of a forest would be added in any order.
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
    """Return whether the first step of a model is one of this package that reads numbers, not a domain."""
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "steps"):
        return bool(model.steps) and _reads_numbers(model.steps[0][1])
    declared = getattr(model, "domain_", getattr(model, "domain", None))
    return declared is None and getattr(type(model), "_reads_numbers", False)


def _ask(predict: Callable[[Any], Any], X: Any) -> Any:
    """Return the predictions of a model; what its errors contain about rows is kept back."""
    try:
        return predict(X)
    except NotFittedError:
        raise
    except Exception as error:
        kind = type(error).__name__
    # It is raised outside the handler, so that the original is not kept as __context__.
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
        good = (table >= -_SUM_TOLERANCE).all(axis=1) & (np.abs(table.sum(axis=1) - 1) <= _SUM_TOLERANCE)
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


# Predictions of scikit-learn's linear models, in which every row has the same bits alone and in any table.

# Linear models of scikit-learn whose formula is known.
_CLASSIFIERS = ("LogisticRegression", "LogisticRegressionCV")
_REGRESSORS = ("ElasticNet", "Lasso", "LinearRegression", "Ridge")
# Relative error: far above the rounding of a model's own matrix product, far below that of another formula.
_SAME = 1e-6
# Rows of a sparse table that are stored in full at once: 16 MB for 1,000 columns.
_ROWS_AT_ONCE = 2048

# A model as a function of a table.
Ask = Callable[[Any], NDArray[Any]]


def ask_at_once(model: Any, method: str) -> Ask | None:
    """Return a function that predicts a whole table; None if rows must be predicted one by one.

    Notes
    -----
    **Privacy.** For scikit-learn's linear models, by exact class, the formula is known. Margins are added up
    column by column, so a row's prediction depends on the row alone (:doc:`/proofs/rows`). It may differ from
    the model's own in the last bits. Rows made of the model's coefficients, not private rows, are used to
    check that the formula is the model's.
    """
    if is_same_in_any_table(model):
        return getattr(model, method)
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
    """Return whether the formula is the model's, on rows along its slopes."""
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


# Rows that are predicted one by one, so that none changes the last bits of another's prediction.

# A line of the cache: vectorised code may add up in another order if a row starts elsewhere in one.
_ALIGNMENT = 64
# Models of scikit-learn that read a row without linear algebra: leaves of trees, added in the order of the
# trees; and steps before them that look cells up, or do one exact operation of IEEE 754 on each.
_WITHOUT_LINEAR_ALGEBRA = frozenset(
    (
        *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
        *("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        *("ColumnTransformer", "FrozenEstimator", "Pipeline"),
        *("MinMaxScaler", "OneHotEncoder", "OrdinalEncoder", "SimpleImputer", "StandardScaler"),
    )
)
# Losses of boosted trees whose numbers use no exponential of NumPy; an object that is a loss may do anything.
_LOSSES = ("log_loss", "squared_error", "absolute_error", "quantile")


def rows_alone(X: Any) -> Iterator[Any]:
    """Yield tables of one row each; all rows of an array are put at one place in memory.

    A yielded table is overwritten by the next row.
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
    """Return a copy in rows, aligned like those of `rows_alone`."""
    place = _aligned(X.shape, X.dtype)
    place[...] = X
    return place


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    n_bytes = math.prod(shape) * dtype.itemsize
    memory = np.zeros(n_bytes + _ALIGNMENT, dtype=np.uint8)
    first = -memory.ctypes.data % _ALIGNMENT
    return memory[first : first + n_bytes].view(dtype).reshape(shape)


def takes_rows_together(model: Any, X: Any) -> bool:
    """Return whether a model may predict all rows of a table at once.

    A list has the common type of all of its cells: one text changes the numbers beside it.
    """
    return not isinstance(X, list | tuple) and is_same_in_any_table(model)


def is_same_in_any_table(model: Any) -> bool:
    """Return whether a model's prediction of a row has the same bits alone and in any table of one type.

    Notes
    -----
    This is so for models whose code is known, by their exact class. These are models of this package, which
    add up in one fixed order, and models of scikit-learn without linear algebra. Pipelines and searches that
    hold nothing else are known, too. Numbers of boosted trees must not go through an exponential of NumPy,
    whose vectorised loop may round otherwise than the one for the remaining cells. A forest is the same in
    any table if its trees are added in turn: without threads.
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


# Public intervals in which probabilities are counted: their number, and their ends.

#: Probabilities are at least this far from 0 and 1, so that their logarithm is bounded. Set by hand.
CLIP = 1e-3
# Most intervals of a grid: more of them add noise, and their bins are narrower than any error that matters.
# Set by hand, as the fewest.
_MOST_INTERVALS = 64
_FEWEST_INTERVALS = 4
# Number of intervals if the number of rows is not public: that of a study of some 5,000 rows at epsilon 1.
_INTERVALS_WITHOUT_ROWS = 20


def choose_number(n_rows: int | None, std: float) -> int:
    """Return an even number of intervals, by the public number of rows and the noise of a count.

    Notes
    -----
    With B intervals on a grid over [0, 1], rounding at random has an error in a squared score of at most
    w^2 / 4 = 1 / (4 B^2) for the widest, of width w = 1 / B. Here the widest is twice as wide, so the error
    is 1 / B^2. Accuracy is a signed sum over 4 B cells, two for each interval and label, and has a noise of
    std B^(1/2) / n. The two are equal at B^(5/2) = n / std.
    """
    if n_rows is None:
        return _INTERVALS_WITHOUT_ROWS
    best = (n_rows / std) ** 0.4
    return 2 * round(min(max(best, _FEWEST_INTERVALS), _MOST_INTERVALS) / 2)


def inner_ends(intervals: int) -> FloatArray:
    """Return the ends of an even number of intervals of (0, 1), without 0, 1/2 and 1.

    Half of the intervals are below 1/2. Their ends are sigmoid(2 logit(j / B)): equal steps in rank of a
    logistic distribution of scale 2. So both rare events and scores around 1/2 have intervals.
    """
    half = max(intervals, 2) // 2
    odds = (np.arange(1, half) / (2 * half - np.arange(1, half))) ** 2
    low = odds / (1 + odds)
    low = low[low > 1.5 * CLIP]
    return np.concatenate([low, 1 - low[::-1]])
