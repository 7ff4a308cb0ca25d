# SPDX-License-Identifier: BSD-3-Clause
"""Honest third-party-style private estimators, with small hooks in which to plant bugs."""

import math
from fractions import Fraction

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from skprivate import PrivacySpent
from skprivate.base import SHARED_CONSTRAINTS, PrivateEstimatorMixin, private_fit
from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, check_entropy
from skprivate.randomizers import KRRRandomizer
from skprivate.utils import check_bounds, number_groups, select_rows

U = 2**16  # steps of the integer grid in one unit


def finite(values, lower, upper):
    """NaN goes to the middle, infinities to the bounds; everything is clipped."""
    middle = (np.asarray(lower) + np.asarray(upper)) / 2
    values = np.where(np.isnan(values), middle, values)
    return np.clip(values, lower, upper)


def floats(y):
    """Numbers; NaN for what is none."""
    y = np.asarray(y)
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):

        def number(v):
            try:
                return float(v)
            except (TypeError, ValueError):
                return math.nan

        return np.array([number(v) for v in y.ravel()], dtype=np.float64).reshape(y.shape)


class Base(PrivateEstimatorMixin, BaseEstimator):
    """Template of a fit: read, exact integers, charge, noise, adopt."""

    _parameter_constraints = {k: SHARED_CONSTRAINTS[k] for k in ("epsilon", "random_state", "ledger")} | {
        "bounds_X": "no_validation",
        "bounds_y": "no_validation",
        "classes": "no_validation",
    }
    _relation, _unit, _deployment, _name = "replace-one", "row", "curator", "discrete Laplace"

    @private_fit
    def fit(self, X, y=None):
        leaks = self._leaks()
        if self.is_strict():
            self.announce_leaks(leaks)
        X, y = self._read(X, y)
        if not self.is_strict():
            self.announce_leaks(leaks)
        self._public(X, y)
        X, y = self._clean(X, y)
        exact = self._exact(X, y)
        entropy = check_entropy(self.random_state)
        mechanism = self._mechanism(X.shape[1])
        spent = self._spent(mechanism, entropy, len(X), leaks)
        self.charge(spent)
        released = self._randomize(exact, mechanism, entropy)
        self.privacy_spent_ = spent
        self._finish(X, y, exact, released)
        return self

    # hooks ------------------------------------------------------------------------------------------------
    def _leaks(self):
        missing = [n for n in ("bounds_X", "bounds_y", "classes") if getattr(self, n, 0) is None]
        return [f"{n} were read from private rows" for n in missing]

    def _public(self, X, y):
        """Resolve what is public."""

    def _clean(self, X, y):
        """Only strict mode lets what is not finite come so far: it goes within the bounds."""
        X = np.where(np.isfinite(X), X, finite(X, *self.bounds_))
        if hasattr(self, "bounds_y_"):
            y = np.where(np.isfinite(y), y, finite(y, *self.bounds_y_))
        return X, y

    def _mechanism(self, d):
        return DiscreteLaplaceMechanism(self.epsilon, self._sensitivity(d))

    def _randomize(self, exact, mechanism, entropy):
        return mechanism.randomize(exact, entropy)

    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        self.released_ = released
        self._adopt(released, len(X), X.shape[1])

    def _spent(self, mechanism, entropy, n, leaks=(), /, **changes):
        reasons = tuple(leaks) + (() if entropy.private else ("the run is seeded",))
        facts = dict(
            mechanism=self._name,
            epsilon=mechanism.epsilon,
            relation=self._relation,
            unit=self._unit,
            sensitivity=mechanism.sensitivity,
            noise_scale=mechanism.scale,
            noise_source=entropy.source,
            deployment=self._deployment,
            unprotected={"rows": n},
            claim="not-private" if reasons else "dp",
            reasons=reasons,
        )
        return PrivacySpent(**(facts | changes))

    # reading ----------------------------------------------------------------------------------------------
    def _table(self, X, reset=True):
        if self.is_strict() and reset:
            return self.read_numbers(X)
        return validate_data(self, X, dtype=np.float64, order="C", reset=reset)

    def _unit_X(self, X):
        """X scaled to [0, 1] by the bounds, clipped."""
        lower, upper = self.bounds_
        return (finite(X, lower, upper) - lower) / np.where(upper > lower, upper - lower, 1.0)

    def _resolve(self, X):
        if self.bounds_X is None:
            return np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        return check_bounds(
            self.bounds_X, X.shape[1], getattr(self, "feature_names_in_", None), name="bounds_X"
        )


class Regressor(RegressorMixin, Base):
    def __init__(self, epsilon=1.0, *, bounds_X=None, bounds_y=None, random_state=None, ledger=None):
        self.epsilon, self.bounds_X, self.bounds_y = epsilon, bounds_X, bounds_y
        self.random_state, self.ledger = random_state, ledger

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _read(self, X, y):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        if not self.is_strict():
            return validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        X, y = self._table(X), floats(column_or_1d(y, warn=True))
        if len(y) != len(X):
            raise ValueError("X and y must have one target per row.")
        return X, y

    def _public(self, X, y):
        self.bounds_ = self._resolve(X)
        if self.bounds_y is None:
            self.bounds_y_ = float(y.min()), float(y.max() + (y.min() == y.max()))
        else:
            low, high = check_bounds(self.bounds_y, 1, name="bounds_y")
            self.bounds_y_ = float(low[0]), float(high[0])

    @property
    def _width(self):
        return self.bounds_y_[1] - self.bounds_y_[0]

    def _y(self, y):
        """Target above its lower bound, clipped."""
        return finite(y, *self.bounds_y_) - self.bounds_y_[0]

    def _units(self, values):
        return np.trunc(values * U).astype(np.int64)

    def predict(self, X):
        check_is_fitted(self)
        X = self._table(X, reset=False)
        return self._predict(X)

    def _predict(self, X):
        return np.full(len(X), self.mean_)


class DPMeanRegressor(Regressor):
    """Noisy sum of the clipped target, divided by the public number of rows."""

    def _exact(self, X, y):
        return np.array([self._units(self._y(y)).sum()])

    def _sensitivity(self, d):
        return max(int(self._width * U), 1)

    def _adopt(self, released, n, d):
        self.mean_ = float(np.clip(self.bounds_y_[0] + released[0] / (U * n), *self.bounds_y_))


class DPGroupMeanRegressor(DPMeanRegressor):
    """The same with the person as the unit, of whom max_rows_per_group rows count."""

    _parameter_constraints = Base._parameter_constraints | {
        "max_rows_per_group": SHARED_CONSTRAINTS["max_rows_per_group"]
    }
    __metadata_request__fit = {"groups": True}

    def __init__(
        self,
        epsilon=1.0,
        *,
        bounds_X=None,
        bounds_y=None,
        max_rows_per_group=1,
        random_state=None,
        ledger=None,
    ):
        super().__init__(
            epsilon, bounds_X=bounds_X, bounds_y=bounds_y, random_state=random_state, ledger=ledger
        )
        self.max_rows_per_group = max_rows_per_group

    def fit(self, X, y, groups=None):
        self._groups = groups
        try:
            return super().fit(X, y)
        finally:
            del self._groups

    def _keep(self, codes, entropy):
        return select_rows(codes, self.max_rows_per_group, entropy.random_bytes)

    def _exact(self, X, y):
        if self._groups is None:
            self._rows, self._unit_now = 1, "row"
            return super()._exact(X, y)
        codes = number_groups(self._groups, np.ones(len(X), dtype=bool), strict=self.is_strict())
        kept = self._keep(codes, check_entropy(self.random_state))
        self._rows, self._unit_now = self.max_rows_per_group, "group"
        # A person with fewer rows than the cap is made up with rows in the middle: n = persons * cap.
        self._persons = int(codes.max()) + 1
        centred = self._units(self._y(y)[kept]) - self._units(np.array([self._width / 2]))
        return np.array([centred.sum()])

    def _sensitivity(self, d):
        # centred rows: within +-width/2, and an absent row is 0
        return super()._sensitivity(d) * self._rows + 2 * self._rows

    def _spent(self, mechanism, entropy, n, leaks=(), /, **changes):
        grouped = self._unit_now == "group"
        return super()._spent(
            mechanism,
            entropy,
            self._persons if grouped else n,
            leaks,
            unit=self._unit_now,
            max_rows_per_unit=self._rows if grouped else 1,
            **changes,
        )

    def _finish(self, X, y, exact, released):
        n = len(X) if self._unit_now == "row" else self._persons * self._rows
        self.n_rows_, self.released_ = n, released
        offset = 0 if self._unit_now == "row" else self._width / 2
        mean = self.bounds_y_[0] + offset + released[0] / (U * n)
        self.mean_ = float(np.clip(mean, *self.bounds_y_))
        for name in ("_rows", "_unit_now", "_persons"):
            self.__dict__.pop(name, None)


class DPGaussianMeanRegressor(DPMeanRegressor):
    """Mean with discrete Gaussian noise: (epsilon, delta)."""

    _parameter_constraints = Base._parameter_constraints | {"delta": "no_validation"}
    _name = "discrete Gaussian"

    def __init__(
        self, epsilon=1.0, *, delta=1e-6, bounds_X=None, bounds_y=None, random_state=None, ledger=None
    ):
        super().__init__(
            epsilon, bounds_X=bounds_X, bounds_y=bounds_y, random_state=random_state, ledger=ledger
        )
        self.delta = delta

    def _mechanism(self, d):
        return DiscreteGaussianMechanism(
            epsilon=self.epsilon, delta=self.delta, squared_sensitivity=self._sensitivity(d) ** 2
        )

    def _spent(self, mechanism, entropy, n, leaks=(), /, **changes):
        class Shown:
            epsilon, sensitivity, scale = (
                mechanism.epsilon,
                math.isqrt(mechanism.squared_sensitivity),
                mechanism.sigma,
            )

        return super()._spent(
            Shown, entropy, n, leaks, **({"delta": mechanism.delta, "rho": mechanism.rho} | changes)
        )


class DPLinearRegressor(Regressor):
    """Least squares from noisy moments of (1, x, y), each scaled to [0, 1]."""

    _grid = 2**10

    def _rows_on_grid(self, X, y):
        y = self._y(y) / (self._width or 1.0)
        Z = np.column_stack([np.ones(len(X)), self._unit_X(X), y])
        return np.trunc(Z * self._grid).astype(np.int64)

    def _exact(self, X, y):
        Z = self._rows_on_grid(X, y)
        gram = Z.T @ Z
        return gram[np.triu_indices(gram.shape[0])][1:]

    def _sensitivity(self, d):
        D = d + 2
        return (D * (D + 1) // 2 - 1) * self._grid**2

    def _adopt(self, released, n, d):
        D = d + 2
        gram = np.zeros((D, D))
        rows, columns = np.triu_indices(D)
        gram[rows[1:], columns[1:]] = released / self._grid**2
        gram = np.maximum(gram, gram.T)
        gram[0, 0] = n
        A = gram[:-1, :-1] + np.eye(D - 1) * (0.1 * n)
        self.weights_ = np.linalg.lstsq(A, gram[:-1, -1], rcond=None)[0]

    def _predict(self, X):
        z = np.column_stack([np.ones(len(X)), self._unit_X(X)]) @ self.weights_
        return self.bounds_y_[0] + self._width * np.clip(z, 0, 1)


class DPBinnedRegressor(Regressor):
    """Noisy count and sum of the target in equal bins of the first feature."""

    n_bins = 4

    def _bins(self, X):
        return np.minimum((self._unit_X(X)[:, 0] * self.n_bins).astype(int), self.n_bins - 1)

    def _exact(self, X, y):
        bins, q = self._bins(X), self._units(self._y(y) / (self._width or 1.0))
        counts = np.bincount(bins, minlength=self.n_bins) * U
        sums = np.array([q[bins == b].sum() for b in range(self.n_bins)])
        return np.concatenate([counts, sums]).astype(np.int64)

    def _sensitivity(self, d):
        return 4 * U

    def _adopt(self, released, n, d):
        counts, sums = released[: self.n_bins] / U, released[self.n_bins :] / U
        means = np.clip(sums / np.maximum(counts, 1.0), 0, 1)
        self.bin_means_ = self.bounds_y_[0] + self._width * means

    def _predict(self, X):
        return self.bin_means_[self._bins(X)]


class DPMedianRegressor(Regressor):
    """Report noisy max over a public grid of candidates; nothing but the winner is released."""

    n_candidates = 33
    releases_all_draws = False  # but of the noisy scores, their largest one's position

    def _candidates(self):
        return np.linspace(*self.bounds_y_, self.n_candidates)

    def _exact(self, X, y):
        y = finite(y, *self.bounds_y_)
        c = self._candidates()[:, None]
        return -np.abs((y < c).sum(axis=1) - (y > c).sum(axis=1)).astype(np.int64)

    def _sensitivity(self, d):
        return 4  # twice that of a score: the winner's threshold moves by so much

    def _finish(self, X, y, exact, released):
        self.n_rows_ = len(X)
        self.winner_ = int(np.argmax(released))
        self.mean_ = float(self._candidates()[self.winner_])


class DPFirstBinRegressor(Regressor):
    """Sparse vector: the first bin of the target with more than `threshold` rows; half of epsilon each."""

    n_bins, threshold = 8, 8
    releases_all_draws = False  # but which count is the first above the noisy bar

    def _exact(self, X, y):
        scaled = self._y(y) / (self._width or 1.0)
        bins = np.minimum((scaled * self.n_bins).astype(int), self.n_bins - 1)
        return np.bincount(bins, minlength=self.n_bins).astype(np.int64)

    def _mechanism(self, d):
        half = Fraction(self.epsilon) / 2
        self_ = DiscreteLaplaceMechanism(half, 2)
        self_.threshold = DiscreteLaplaceMechanism(half, 1)
        return self_

    def _spent(self, mechanism, entropy, n, leaks=(), /, **changes):
        total = mechanism.epsilon + mechanism.threshold.epsilon
        return super()._spent(mechanism, entropy, n, leaks, **({"epsilon": total} | changes))

    def _randomize(self, exact, mechanism, entropy):
        bar = mechanism.threshold.randomize(np.array([self.threshold]), entropy)[0]
        above = mechanism.randomize(exact, entropy) >= bar
        return int(np.argmax(above)) if above.any() else self.n_bins

    def _adopt(self, released, n, d):
        self.mean_ = self.bounds_y_[0] + self._width * (released + 0.5) / (self.n_bins + 1)


class DPBisectionRegressor(Regressor):
    """Median by bisection: a round releases how many targets lie above the guess, for epsilon / rounds."""

    n_rounds = 4

    def _exact(self, X, y):
        return self._y(y)

    def _sensitivity(self, d):
        return 1

    def _mechanism(self, d):
        return DiscreteLaplaceMechanism(Fraction(self.epsilon) / self.n_rounds, 1)

    def _spent(self, mechanism, entropy, n, leaks=(), /, **changes):
        return super()._spent(
            mechanism, entropy, n, leaks, **({"epsilon": mechanism.epsilon * self.n_rounds} | changes)
        )

    def _randomize(self, exact, mechanism, entropy):
        low, high, counts = 0.0, self._width, []
        for _ in range(self._rounds(exact)):
            guess = (low + high) / 2
            above = mechanism.randomize(np.array([int((exact > guess).sum())]), entropy)[0]
            counts.append(int(above))
            low, high = (guess, high) if 2 * above > len(exact) else (low, guess)
        self.mean_ = self.bounds_y_[0] + (low + high) / 2
        return np.array(counts)

    def _rounds(self, exact):
        return self.n_rounds

    def _adopt(self, released, n, d):
        self.n_iter_ = len(released)


class Classifier(ClassifierMixin, Base):
    def __init__(self, epsilon=1.0, *, bounds_X=None, classes=None, random_state=None, ledger=None):
        self.epsilon, self.bounds_X, self.classes = epsilon, bounds_X, classes
        self.random_state, self.ledger = random_state, ledger

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _read(self, X, y):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        if self.is_strict():
            X = self._table(X)
            return X, self.read_labels(y, len(X))
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        return X, y

    def _public(self, X, y):
        self.bounds_ = self._resolve(X)
        self.classes_ = np.unique(y if self.classes is None else self.classes)

    def _codes(self, y):
        """Position of every label; unknown ones go to the first class silently."""
        place = {label: i for i, label in enumerate(self.classes_.tolist())}
        return np.array([place.get(label, 0) for label in np.asarray(y).tolist()], dtype=np.int64)

    def predict_proba(self, X):
        check_is_fitted(self)
        return self._proba(self._table(X, reset=False))

    def predict(self, X):
        winners = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[winners]


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

    def _spent(self, mechanism, entropy, n, leaks=(), /, **changes):
        class Shown:
            epsilon, sensitivity, scale = mechanism.epsilon, None, None

        return super()._spent(Shown, entropy, n, leaks, **changes)

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
