# SPDX-License-Identifier: BSD-3-Clause
"""Honest private classifiers from noisy or randomised counts, and a standardizer from noisy moments."""

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skprivate.randomizers import KRRRandomizer

from .honest import Base, Classifier, U, finite


class DPMajorityClassifier(Classifier):
    """Noisy class counts."""

    def _exact(self, X, y):
        return np.bincount(self._codes(y), minlength=len(self.classes_)).astype(np.int64)

    def _sensitivity(self, d):
        return 2

    def _adopt(self, released, n, d):
        counts = np.maximum(released, 0) + 1.0
        self.class_prior_ = counts / counts.sum()

    def _proba(self, X):
        return np.tile(self.class_prior_, (len(X), 1))


class DPNaiveBayesClassifier(Classifier):
    """Noisy counts of (class, feature, bin); a row is in one bin of every feature."""

    n_bins = 4

    def _bins(self, X):
        return np.minimum((self._unit_X(X) * self.n_bins).astype(int), self.n_bins - 1)

    def _exact(self, X, y):
        codes, bins = self._codes(y), self._bins(X)
        counts = np.zeros((len(self.classes_), X.shape[1], self.n_bins), dtype=np.int64)
        for j in range(X.shape[1]):
            np.add.at(counts, (codes, j, bins[:, j]), 1)
        return counts

    def _sensitivity(self, d):
        return 2 * d

    def _adopt(self, released, n, d):
        counts = np.maximum(released, 0) + 1.0
        self.class_log_prior_ = np.log(counts.sum(axis=(1, 2)) / counts.sum())
        self.feature_log_prob_ = np.log(counts / counts.sum(axis=2, keepdims=True))

    def _proba(self, X):
        bins = self._bins(X)
        joint = self.class_log_prior_ + sum(
            self.feature_log_prob_[:, j, bins[:, j]].T for j in range(X.shape[1])
        )
        joint = np.exp(joint - joint.max(axis=1, keepdims=True))
        return joint / joint.sum(axis=1, keepdims=True)


class DPLocalLabelClassifier(Classifier):
    """Every row sends its label by k-ary randomised response."""

    _relation, _deployment, _name = "local", "simulated", "k-ary randomised response"

    def _exact(self, X, y):
        return self._codes(y)

    def _mechanism(self, d):
        return KRRRandomizer(self.epsilon, n_cells=1, n_labels=len(self.classes_))

    def _scale_of(self, mechanism):
        return None, None

    def _randomize(self, exact, mechanism, entropy):
        return mechanism.simulate(exact, entropy)

    def _adopt(self, released, n, d):
        counts = np.maximum(np.asarray(released, dtype=float).ravel(), 0) + 1.0
        self.class_prior_ = counts / counts.sum()

    _proba = DPMajorityClassifier._proba


class DPStandardizer(OneToOneFeatureMixin, TransformerMixin, Base):
    """Noisy sums and sums of squares of every column."""

    def __init__(self, epsilon=1.0, *, bounds_X=None, random_state=None, ledger=None):
        self.epsilon, self.bounds_X = epsilon, bounds_X
        self.random_state, self.ledger = random_state, ledger

    def _read(self, X, y):
        return self._table(X), None

    def _public(self, X, y):
        self.bounds_ = self._resolve(X)

    def _exact(self, X, y):
        q = self._unit_X(X)
        return np.array([np.trunc(q * U).sum(axis=0), np.trunc(q**2 * U).sum(axis=0)]).astype(np.int64)

    def _sensitivity(self, d):
        return 2 * d * U

    def _adopt(self, released, n, d):
        lower, upper = self.bounds_
        mean, square = released / (U * n)
        self.mean_ = lower + (upper - lower) * np.clip(mean, 0, 1)
        self.scale_ = np.where(upper > lower, upper - lower, 1.0) * np.sqrt(
            np.clip(square - mean**2, 0.01, 1)
        )

    def transform(self, X):
        check_is_fitted(self)
        X = self._table(X, reset=False)
        return (finite(X, *self.bounds_) - self.mean_) / self.scale_
