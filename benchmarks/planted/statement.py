# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of statement: what is stated or charged is not what was spent."""

import contextlib
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from skprivate.exceptions import BudgetExceededError
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy

from .honest import finite
from .honest_classifiers import DPLocalLabelClassifier
from .honest_regressors import DPGaussianMeanRegressor, DPGroupMeanRegressor, DPMeanRegressor
from .records import plant


@plant("statement")
class TwiceEpsilonMean(DPMeanRegressor):
    """Noise drawn for 2 epsilon; epsilon, scale and sensitivity are stated as asked for.

    Epsilon 2 times the stated.
    """

    def _randomize(self, exact, mechanism, entropy):
        return DiscreteLaplaceMechanism(2 * Fraction(self.epsilon), mechanism.sensitivity).randomize(
            exact, entropy
        )


@plant("statement")
class SlightlyTooLittleMean(DPMeanRegressor):
    """Scale of the noise 1.3 times too small, everything stated as asked for.

    Epsilon 1.3 times the stated.
    """

    def _randomize(self, exact, mechanism, entropy):
        return DiscreteLaplaceMechanism.from_scale(int(mechanism.scale / 1.3)).randomize(exact, entropy)


@plant("statement")
class NoDeltaGaussianMean(DPGaussianMeanRegressor):
    """(epsilon, delta) noise with delta left out of the statement.

    Pure epsilon is claimed; true delta 1e-6 (or rho-zCDP).
    """

    def _facts(self, mechanism, n):
        return super()._facts(mechanism, n) | {"delta": 0, "rho": None, "mechanism": "discrete noise"}


@plant("statement")
class HeadSampleMean(DPMeanRegressor):
    """Amplification by subsampling claimed for taking the first half of the rows.

    Those rows have epsilon 1, stated .62.
    """

    def _exact(self, X, y):
        return super()._exact(X, y[: (len(y) + 1) // 2])

    def _facts(self, mechanism, n):
        amplified = Fraction(math.log1p(0.5 * math.expm1(float(mechanism.epsilon))))
        sampled = {"epsilon": amplified, "mechanism": "subsampled discrete Laplace"}
        return super()._facts(mechanism, n) | sampled

    def _adopt(self, released, n, d):
        super()._adopt(released, (n + 1) // 2, d)


@plant("statement")
class LabelOnlyNB(DPLocalLabelClassifier):
    """Labels are randomised, class means of the exact features are kept; stated as replace-one.

    Exact mean of the features of a class, given the noisy labels.
    """

    _relation, _deployment = "replace-one", "curator"

    def _randomize(self, exact, mechanism, entropy):
        return mechanism.randomize(exact, entropy).astype(np.int64)

    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        members = [X[released == c] for c in range(len(self.classes_))]
        self.theta_ = np.array([m.mean(axis=0) if len(m) else np.zeros(X.shape[1]) for m in members])
        self.class_prior_ = np.bincount(released, minlength=len(self.classes_)) / len(X)

    def _proba(self, X):
        near = np.exp(-((finite(X, *self.bounds_)[:, None] - self.theta_) ** 2).sum(axis=2)) * (
            self.class_prior_ + 1e-9
        )
        return near / near.sum(axis=1, keepdims=True)


@plant("statement", needs="set random_state")
class SeededClaimsMean(DPMeanRegressor):
    """A seeded fit claims dp with os-entropy.

    Who knows the seed undoes the noise.
    """

    def _facts(self, mechanism, n):
        return super()._facts(mechanism, n) | {"noise_source": "os-entropy", "claim": "dp", "reasons": ()}


@plant("statement", bounds_y=None)
class SilentBoundsMean(DPMeanRegressor):
    """bounds_y=None are read from the rows: no warning, claim dp.

    Exact minimum and maximum in bounds_y_.
    """

    def _leaks(self):
        return []


@plant("statement", needs="ledger")
class HalfChargeMean(DPMeanRegressor):
    """The ledger is charged half of what is stated.

    Accounting: two fits for the price of one.
    """

    def charge(self, spent):
        super().charge(replace(spent, epsilon=spent.epsilon / 2))


@plant("statement", needs="ledger, fit twice")
class FreeRefitMean(DPMeanRegressor):
    """A refit of the same object is not charged.

    Accounting: any number of releases for one charge.
    """

    def charge(self, spent):
        if not hasattr(self, "privacy_spent_"):
            super().charge(spent)


@plant("statement", needs="ledger that refuses")
class IgnoredRefusalMean(DPMeanRegressor):
    """A refusal of the ledger is logged and ignored.

    Accounting: the ceiling is passed.
    """

    def charge(self, spent):
        with contextlib.suppress(BudgetExceededError):
            super().charge(spent)


@plant("statement", needs="ledger that refuses")
class LateChargeMean(DPMeanRegressor):
    """The ledger is charged after the noise, and the refusal carries the release.

    A release that was never paid for.
    """

    def charge(self, spent):
        self._pending = spent

    def _randomize(self, exact, mechanism, entropy):
        released = super()._randomize(exact, mechanism, entropy)
        try:
            super().charge(self.__dict__.pop("_pending"))
        except BudgetExceededError as error:
            error.add_note(f"would have released {released.tolist()}")
            raise
        return released


@plant("statement", needs="partial_fit, ledger")
class FreePartialFitMean(DPMeanRegressor):
    """partial_fit releases again and charges and states nothing.

    Epsilon of every batch unaccounted.
    """

    def partial_fit(self, X, y):
        if not hasattr(self, "privacy_spent_"):
            return self.fit(X, y)
        X, y = self._read(X, y)
        released = self._mechanism(X.shape[1]).randomize(self._exact(X, y), check_entropy(self.random_state))
        self.released_ = self.released_ + released
        self.n_rows_ += len(X)
        self._adopt(self.released_, self.n_rows_, X.shape[1])
        return self


@plant("statement")
class TwoReleasesMean(DPMeanRegressor):
    """A second, independent release (for validation) is made and kept, and not stated.

    Epsilon 2 times the stated.
    """

    def _randomize(self, exact, mechanism, entropy):
        released = mechanism.randomize(exact, entropy)
        self.validation_ = mechanism.randomize(exact, entropy)
        return released


@plant("statement", max_rows_per_group=5, needs="fit(..., groups=)")
class GroupSensitivityMean(DPGroupMeanRegressor):
    """Unit 'group' with 5 rows a group, noise and sensitivity of one row.

    Epsilon 5 times the stated.
    """

    def _sensitivity(self, d):
        return DPMeanRegressor._sensitivity(self, d) + 2
