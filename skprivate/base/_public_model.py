# SPDX-License-Identifier: BSD-3-Clause
"""Models of public rows alone: they are fitted, cross-fitted, and their predictions are checked."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from .._typing import BoolArray, FloatArray
from ..domain import BooleanColumn, CategoricalColumn, TableDomain
from ..metrics._model_outputs import aligned_copy, is_same_in_any_table
from ..metrics._probabilities import log, row_totals, softmax
from ..utils._public_module import public_module

#: Nats by which cross-fitted predictions must raise the likelihood of public labels. Fitted noise raises it
#: by at most about half a nat, through the temperature.
LEAST_GAIN = 2.0
#: Predictions that differ by less are constant.
SAME = 1e-6
# Parts of the public rows: each is predicted by a model that was not fitted to it.
_FOLDS = 5
# Least probability of a prediction: a model of hundreds of rows cannot know more.
_LEAST_SHARE = 0.01
# Prior of the temperature, around 1: the best one of forests is up to 2, and of models fitted to noise 0.
_TEMPERATURE_ERROR, _HIGHEST_TEMPERATURE = 0.5, 4.0


# Steps that choose columns of a table, or encode its levels. A model with one of them gets no encoded rows.
_OF_TABLES = frozenset(
    ("ColumnTransformer", "OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "TableVectorizer")
)


def of_encoded_rows(estimator: Any, domain: TableDomain | None) -> Any:
    """Return an estimator for encoded rows. If it chooses or encodes columns, it gets a decoded table."""
    parts = [estimator, *estimator.get_params(deep=True).values()] if hasattr(estimator, "get_params") else []
    if domain is None or not any(type(part).__name__ in _OF_TABLES for part in parts):
        return estimator
    return TableModel(estimator, domain)


@public_module("skprivate.base")
class TableModel(BaseEstimator):
    """A model of declared columns, for callers with encoded rows: it gets a table with column names.

    The table is a function of the encoded rows. Levels of text become text, or None if a row has none.
    Numbers, booleans and other levels become floats, or NaN if an indicator marks them missing. Dates become
    dates.

    Parameters
    ----------
    estimator : estimator
    domain : TableDomain
    """

    def __init__(self, estimator: Any, domain: TableDomain) -> None:
        self.estimator = estimator
        self.domain = domain

    def fit(self, X: FloatArray, y: NDArray[Any]) -> "TableModel":
        """Fit a clone to the table; ValueError if it fails on a declared level that these rows lack."""
        self.estimator_ = clone(self.estimator).fit(self._table(X), y)
        try:
            with warnings.catch_warnings(action="ignore"):
                ask = getattr(self.estimator_, "predict_proba", None) or self.estimator_.predict
                ask(self._table(self._with_all_levels(X[0])))
        except Exception as error:
            raise ValueError(
                f"it does not predict rows with every declared level: {error} Encoders need "
                "handle_unknown='ignore', or the declared levels as categories."
            ) from error
        return self

    @property
    def classes_(self) -> Any:
        """Classes of a classifier."""
        return self.estimator_.classes_

    def predict(self, X: FloatArray) -> Any:
        """Return predictions of encoded rows."""
        return self.estimator_.predict(self._table(X))

    def predict_proba(self, X: FloatArray) -> Any:
        """Return probabilities of encoded rows."""
        return self.estimator_.predict_proba(self._table(X))

    def last_step(self, X: FloatArray) -> tuple[Any, FloatArray]:
        """Return the last step of a pipeline and its input, if the earlier steps transform cell by cell."""
        model = self.estimator_
        if not isinstance(model, Pipeline) or not is_same_in_any_table(model[:-1]):
            return self, X
        ready = model[:-1].transform(self._table(X))
        return model[-1], np.asarray(ready.toarray() if issparse(ready) else ready, dtype=np.float64)

    def _with_all_levels(self, row: FloatArray) -> FloatArray:
        """Return the row, and copies of it with every level of every column."""
        rows = [row]
        for group in self.domain.groups:
            for place in range(group.n_levels):
                rows.append(row.copy())
                rows[-1][group.start : group.end] = np.arange(group.end - group.start) == place
            for value in group.values:
                rows.append(row.copy())
                rows[-1][group.start : group.end] = 0.0
                rows[-1][group.start] = value
        return np.array(rows)

    def _table(self, X: FloatArray) -> Any:
        try:
            import pandas
        except ImportError:
            raise ImportError("a public_model that reads columns by name needs pandas.") from None
        # Types depend on the declarations alone.
        text, columns = pandas.Series(["text"]).dtype, {}
        for group, (name, cells) in zip(self.domain.groups, self.domain.decode(X).items(), strict=True):
            column = self.domain.columns[name]
            if isinstance(column, CategoricalColumn) and isinstance(column.levels[0], str):
                columns[name] = pandas.Series(cells, dtype=text)
            elif isinstance(column, CategoricalColumn):
                columns[name] = pandas.Series([np.nan if cell is None else float(cell) for cell in cells])
            elif isinstance(column, BooleanColumn):
                absent = 0.0 if group.indicator is None else X[:, group.indicator]
                columns[name] = pandas.Series(np.where(absent, np.nan, X[:, group.start]))
            else:
                columns[name] = pandas.Series(cells)
        return pandas.DataFrame(columns)


def fit_model(estimator: Any, X: FloatArray, labels: NDArray[Any]) -> Any:
    """Return a clone fitted to public rows; ValueError, with the model's reason, if the fit fails."""
    try:
        # A copy: some models work in place.
        return clone(estimator).fit(X.copy(), labels)
    except Exception as error:
        raise ValueError(f"public_model could not be fitted to the public rows: {error}") from error


def cross_fit_shares(
    estimator: Any, X: FloatArray, labels: NDArray[np.int32], classes: NDArray[Any]
) -> FloatArray:
    """Return the prediction of every row by a model of the other folds, stratified by label."""
    fold = np.empty(len(X), dtype=np.int64)
    fold[np.argsort(labels, kind="stable")] = np.arange(len(X)) % _FOLDS
    shares = np.empty((len(X), len(classes)))
    for number in range(_FOLDS):
        held: BoolArray = fold == number
        others = labels[~held]
        if len(np.unique(others)) < 2:
            counts = np.bincount(others, minlength=len(classes))
            shares[held] = bounded_shares(counts[np.newaxis] / max(len(others), 1))
        elif held.any():
            shares[held] = predict_shares(fit_model(estimator, X[~held], classes[others]), X[held], classes)
    return shares


def predict_shares(classifier: Any, X: FloatArray, classes: NDArray[Any]) -> FloatArray:
    """Return a classifier's probabilities of all classes, each at least 0.01 or so.

    Raises
    ------
    ValueError
        It does not predict probabilities of some of the classes.
    """
    try:
        found = np.asarray(classifier.predict_proba(aligned_copy(X)), dtype=np.float64)
        own = np.asarray(classifier.classes_)
        places = np.searchsorted(classes, own)
        known = own.ndim == 1 and len(np.unique(places)) == len(own)
        known = known and bool((classes[np.minimum(places, len(classes) - 1)] == own).all())
    except Exception as error:
        raise ValueError(f"public_model cannot predict probabilities of its classes: {error}") from error
    if not known or found.shape != (len(X), len(own)):
        raise ValueError("public_model must predict one column for each class of the public rows.")
    if not (
        np.isfinite(found).all() and (found >= 0).all() and np.allclose(found.sum(axis=1), 1.0, atol=1e-3)
    ):
        raise ValueError(
            "public_model does not predict probabilities: numbers from 0 to 1 that add up to 1 in a row."
        )
    shares = np.zeros((len(X), len(classes)))
    shares[:, places] = found
    return bounded_shares(shares)


def bounded_shares(shares: FloatArray) -> FloatArray:
    """Return probabilities that are at least 0.01 or so, and add up to 1 in a row."""
    least = _LEAST_SHARE * 2 / shares.shape[1]
    bounded = np.maximum(shares, least)
    return bounded / row_totals(bounded)


def fit_temperature(shares: FloatArray, labels: NDArray[np.int32]) -> float:
    """Return the temperature of highest posterior, 0 to 4, by the log loss of cross-fitted predictions."""

    def loss(temperature: float) -> float:
        fitted = tempered(shares, temperature)[np.arange(len(labels)), labels]
        prior = (temperature - 1.0) ** 2 / (2 * _TEMPERATURE_ERROR**2)
        return prior - float(np.sum(np.log(fitted)))

    return float(minimize_scalar(loss, bounds=(0.0, _HIGHEST_TEMPERATURE), method="bounded").x)


def log_likelihood_gain(shares: FloatArray, labels: NDArray[np.int32]) -> float:
    """Return the log-likelihood of labels by predictions less that by their base rate."""
    base = np.bincount(labels, minlength=shares.shape[1]) / len(labels)
    return float(np.sum(np.log(shares[np.arange(len(labels)), labels]) - np.log(base[labels])))


def tempered(shares: FloatArray, temperature: float) -> FloatArray:
    """Return probabilities whose logarithms are multiplied by a temperature."""
    return bounded_shares(softmax(temperature * log(shares)))
