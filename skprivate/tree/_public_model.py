# SPDX-License-Identifier: BSD-3-Clause
"""A model fitted to public rows alone: its predictions, its small tree, and its means in leaves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..base._public_model import (
    LEAST_GAIN,
    SAME,
    cross_fit_shares,
    fit_model,
    fit_temperature,
    log_likelihood_gain,
    predict_shares,
    tempered,
)
from ..domain._table_domain import ColumnGroup
from ..metrics._probabilities import BaseRate
from ..partition import Partition
from ..utils._json_documents import Fields
from ..utils._public_module import public_module
from ._rows import PublicVotes, shares_of

# Number of rows that are drawn for the small tree in addition to the public ones, so that it imitates the
# model between them too, and the share of a drawn row's columns that come from another public row. Set by
# hand.
_DRAWN_ROWS, _EXCHANGED = 2000, 0.25
# Weight of a drawn row relative to a public one in the mean of a leaf: it matters only in a leaf without
# public rows.
_WEIGHT_OF_DRAWN = 1e-3
# Number of folds of the public rows, each of which is predicted by a model that was not fitted to it.
_FOLDS = 5
# Smallest share of the width: its logarithm is finite, and it is small enough for bounds that are far too
# wide.
_LEAST_NUMBER = 1e-4
# Number of copies of a row, with labels in proportion to its prediction, from which the tree is grown. Set by
# hand.
_COPIES = 8
# Model, classes, temperature, cross-fitted shares of the public rows, drawn rows and their shares, and slope.
_Fitted = tuple[Any, NDArray[Any], float, FloatArray, FloatArray, FloatArray, float]


@dataclass(frozen=True, eq=False)
class PublicModel:
    """A fitted model, and its predictions of rows to which it was not fitted.

    Attributes
    ----------
    classifier : object or None
        Fitted to public rows. None: the model was not sent on from where it was fitted, and the means of the
        leaves replace it.
    classes : ndarray of shape (n_labels,)
        The tree's classes, sorted; those of the classifier are among them.
    temperature : float
        Factor of the logarithms of its probabilities, chosen to fit labels that it has not seen.
    X : ndarray of shape (n, d)
        Public rows, then rows drawn by exchanging columns among public rows.
    shares : ndarray of shape (n, n_labels)
        Predictions of `X`; those of public rows come from models that have not seen them.
    weights : ndarray of shape (n,)
        Weight of a row in means.
    slope : float
        Slope of public labels on their cross-fitted predictions, both as differences from their means, from 0
        to 1.
    """

    classifier: Any
    classes: NDArray[Any]
    temperature: float
    X: FloatArray
    shares: FloatArray
    weights: FloatArray
    slope: float
    base: BaseRate | None = None

    @classmethod
    def fit(
        cls,
        estimator: Any,
        votes: PublicVotes,
        classes: NDArray[Any],
        seed: int,
        groups: Sequence[ColumnGroup] | None = None,
    ) -> "PublicModel | None":
        """Fit a clone of an estimator to public rows, and predict them by cross-fitting.

        Returns None if these predictions are no better than the base rate, or than the mean of numbers: the
        model has then learnt noise. `classes` are the labels, or the bounds of numbers. `groups` are those of
        encoded columns, or None if every column is a group by itself.

        Raises
        ------
        ValueError
            The rows have only one class, or the model cannot be fitted to them. Or it predicts the same for
            all of them, or something other than probabilities or numbers.
        """
        X = votes.X
        draw = partial(_exchange_columns, X, groups, seed)
        fit = _fit_labels if votes.shares is None else _fit_numbers
        fitted = fit(estimator, X, votes, classes, draw)
        if fitted is None:
            return None
        model, classes, temperature, cross_fitted, drawn, of_drawn, slope = fitted
        return cls(
            model,
            classes,
            temperature,
            np.vstack([X, drawn]),
            np.vstack([cross_fitted, of_drawn]),
            np.repeat([1.0, _WEIGHT_OF_DRAWN], [len(X), len(drawn)]),
            float(np.clip(slope, 0.0, 1.0)),
        )

    def soft_rows(self) -> tuple[FloatArray, NDArray[np.int32]]:
        """Return rows with labels in proportion to their predictions, from which the small tree is grown."""
        place = (np.arange(_COPIES) + 0.5) / _COPIES
        ends = np.cumsum(self.shares, axis=1)[:, np.newaxis, :-1]
        labels = np.sum(place[np.newaxis, :, np.newaxis] > ends, axis=2)
        return np.repeat(self.X, _COPIES, axis=0), labels.ravel().astype(np.int32)

    def on_leaves(self, partition: Partition) -> "LeafModel":
        """Return what the model predicts in the leaves of a partition."""
        leaf = partition.apply(self.X)
        weight = np.bincount(leaf, self.weights, partition.n_leaves)
        sums = [np.bincount(leaf, self.weights * column, partition.n_leaves) for column in self.shares.T]
        overall = np.average(self.shares, axis=0, weights=self.weights)
        empty = (weight == 0)[:, np.newaxis]
        means = np.column_stack(sums) / np.maximum(weight, 1e-300)[:, np.newaxis]
        means = np.where(empty, overall, means)
        square = np.mean((self.shares - means[leaf]) ** 2, axis=1)
        spread = np.mean((self.shares - overall) ** 2)
        within = np.bincount(leaf, self.weights * square, partition.n_leaves) + _WEIGHT_OF_DRAWN * spread
        # The variance of a mean, with the sum of the weights as the number of rows; at most that of a
        # prediction.
        variances = np.minimum(within / np.maximum(weight, _WEIGHT_OF_DRAWN) ** 2, spread)
        # The public rows stay where the model was fitted.
        kept = {**vars(self), "X": self.X[:0]}
        return LeafModel(**kept, leaf=leaf, means=means, variances=variances)


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False)
class NumberModel:
    """A fitted regressor, whose predictions are shares of the width between two bounds.

    Attributes
    ----------
    regressor : object
        Fitted to public rows.
    low, high : float
        The bounds.
    """

    regressor: Any
    low: float
    high: float

    @property
    def classes_(self) -> IntArray:
        """The two ends of the width."""
        return np.arange(2)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the shares 1 - t and t of every row, with t in [0.0001, 0.9999]."""
        try:
            found = np.asarray(self.regressor.predict(X.copy()), dtype=np.float64)
        except Exception as error:
            raise ValueError(f"public_model cannot predict numbers: {error}") from error
        if found.shape != (len(X),) or not np.isfinite(found).all():
            raise ValueError("public_model must predict one finite number for each row.")
        shares = np.clip(shares_of(found, np.array([self.low, self.high])), _LEAST_NUMBER, 1 - _LEAST_NUMBER)
        return np.column_stack([1 - shares, shares])


@public_module("skprivate.tree")
@dataclass(frozen=True, eq=False, kw_only=True)
class LeafModel(PublicModel):
    """Predictions of a public model in the leaves of a partition.

    It holds no public rows, only predictions of them: `X` is empty.

    Attributes
    ----------
    leaf : ndarray of int32 of shape (n,)
        Leaf of every row of `shares`.
    means : ndarray of shape (n_leaves, n_labels)
        Mean prediction in every leaf.
    variances : ndarray of shape (n_leaves,)
        Variances of these means as estimates for private rows; a mean over the labels.
    """

    leaf: NDArray[np.int32]
    means: FloatArray
    variances: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """Return the facts about the leaves as JSON values; the classifier stays where it was fitted."""
        return {
            "slope": self.slope,
            "means": self.means.ravel().tolist(),
            "variances": self.variances.tolist(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any], n_leaves: int, n_labels: int) -> "LeafModel":
        """Restore the small tree that replaces a model: it predicts a leaf's mean for every row.

        Raises
        ------
        ValueError
            The content does not come from `to_dict` with these numbers of leaves and labels.
        """
        fields = Fields(content, ("slope", "means", "variances"), what="a public model")
        means = np.array(fields.numbers("means", n_leaves * n_labels)).reshape(n_leaves, n_labels)
        variances, slope = np.array(fields.numbers("variances", n_leaves)), fields.number("slope")
        if not ((means > 0).all() and np.allclose(means.sum(axis=1), 1.0)):
            raise ValueError("a public model: the means of its leaves must be probabilities")
        if not ((variances >= 0).all() and 0 <= slope <= 1):
            raise ValueError("a public model: a variance or the slope is out of range")
        leaves = np.arange(n_leaves, dtype=np.int32)
        public = None, np.arange(n_labels), 1.0, np.empty((0, 0)), means, np.ones(n_leaves), slope
        return cls(*public, leaf=leaves, means=means, variances=variances)

    def predict(self, X: FloatArray, leaves: NDArray[np.int32]) -> FloatArray:
        """Return the model's class probabilities, of shape (n, n_labels), each at least 0.01 or so."""
        if self.classifier is None:
            return self.means[leaves]
        if isinstance(self.classifier, NumberModel):
            return self.classifier.predict_proba(X)
        return tempered(predict_shares(self.classifier, X, self.classes), self.temperature)


def _fit_labels(
    estimator: Any, X: FloatArray, votes: PublicVotes, classes: NDArray[Any], draw: Callable[[], FloatArray]
) -> _Fitted | None:
    labels = votes.labels
    if len(np.unique(labels)) < 2:
        raise ValueError("public_model needs public rows of at least two classes.")
    classifier = fit_model(estimator, X, classes[labels])
    cross_fitted = cross_fit_shares(estimator, X, labels, classes)
    drawn = draw()
    of_drawn = predict_shares(classifier, drawn, classes)
    # Constant predictions differ slightly from fold to fold, so those of one model are compared.
    _refuse_constant(of_drawn, predict_shares(classifier, X, classes))
    temperature = fit_temperature(cross_fitted, labels)
    cross_fitted, of_drawn = (tempered(shares, temperature) for shares in (cross_fitted, of_drawn))
    if log_likelihood_gain(cross_fitted, labels) < LEAST_GAIN:
        return None
    found, differences = np.eye(len(classes))[labels], cross_fitted - cross_fitted.mean(axis=0)
    product = float(np.sum((found - found.mean(axis=0)) * differences))
    slope = product / max(float(np.sum(differences**2)), 1e-300)
    return classifier, classes, temperature, cross_fitted, drawn, of_drawn, slope


def _fit_numbers(
    estimator: Any, X: FloatArray, votes: PublicVotes, bounds: NDArray[Any], draw: Callable[[], FloatArray]
) -> _Fitted | None:
    assert votes.shares is not None
    shares, low, high = votes.shares, float(bounds[0]), float(bounds[1])
    y = (1 - shares) * low + shares * high
    model = NumberModel(fit_model(estimator, X, y), low, high)
    drawn = draw()
    of_drawn = model.predict_proba(drawn)
    _refuse_constant(of_drawn, model.predict_proba(X))
    folds = np.arange(len(X)) % _FOLDS
    cross_fitted = np.tile([1 - shares.mean(), shares.mean()], (len(X), 1))
    for fold in range(_FOLDS if len(X) >= 2 * _FOLDS else 0):
        held = folds == fold
        others = NumberModel(fit_model(estimator, X[~held], y[~held]), low, high)
        cross_fitted[held] = others.predict_proba(X[held])
    spread, error = np.var(shares), np.mean((shares - cross_fitted[:, 1]) ** 2)
    # Gain in log likelihood, in nats, of normal errors of this size over those of the mean.
    if spread == 0 or len(X) / 2 * np.log(spread / max(float(error), 1e-300)) < LEAST_GAIN:
        return None
    differences = cross_fitted[:, 1] - cross_fitted[:, 1].mean()
    slope = float(differences @ (shares - shares.mean())) / max(float(differences @ differences), 1e-300)
    return model, model.classes_, 1.0, cross_fitted, drawn, of_drawn, slope


def _refuse_constant(of_drawn: FloatArray, of_rows: FloatArray) -> None:
    if np.ptp(np.vstack([of_drawn, of_rows]), axis=0).max() < SAME:
        raise ValueError("public_model predicts the same for all public rows: leave it out.")


def _exchange_columns(X: FloatArray, groups: Sequence[ColumnGroup] | None, seed: int) -> FloatArray:
    """Draw rows in which some groups of columns come from another public row."""
    widths = [1] * X.shape[1] if groups is None else [group.end - group.start for group in groups]
    rng = np.random.default_rng(seed)
    first, second = rng.integers(len(X), size=(2, _DRAWN_ROWS))
    exchanged = np.repeat(rng.random((_DRAWN_ROWS, len(widths))) < _EXCHANGED, widths, axis=1)
    return np.where(exchanged, X[second], X[first])
