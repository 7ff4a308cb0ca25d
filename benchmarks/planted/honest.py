# SPDX-License-Identifier: BSD-3-Clause
"""Honest templates of private estimators, in the style of third parties, with hooks to plant bugs in."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from skprivate import PrivacySpent
from skprivate.base import SHARED_CONSTRAINTS, PrivateEstimatorMixin, private_fit, within_bounds
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
from skprivate.utils import check_bounds
from skprivate.utils._tables import numbers_of

U = 2**16  # steps of the integer grid in one unit


def finite(values, lower, upper):
    """NaN goes to the middle, infinities to the bounds; everything is clipped."""
    return np.clip(within_bounds(values, lower, upper), lower, upper)


class Base(PrivateEstimatorMixin, BaseEstimator):
    """Template of a fit: read, exact integers, charge, noise, adopt."""

    _parameter_constraints = {
        **{name: SHARED_CONSTRAINTS[name] for name in ("epsilon", "random_state", "ledger")},
        **dict.fromkeys(("bounds_X", "bounds_y", "classes"), "no_validation"),
    }
    _relation, _deployment, _name = "replace-one", "curator", "discrete Laplace"
    _not_pickled: tuple[str, ...] = ()

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
        reasons = tuple(leaks) + (() if entropy.private else ("the run is seeded",))
        claim = dict(
            noise_source=entropy.source, claim="not-private" if reasons else "dp", reasons=reasons, unit="row"
        )
        spent = PrivacySpent(**(claim | self._facts(mechanism, len(X))))
        self.charge(spent)
        released = self._randomize(exact, mechanism, entropy)
        self.privacy_spent_ = spent
        self._finish(X, y, exact, released)
        self._afterwards(X, y, exact, released)
        return self

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._not_pickled}

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

    def _afterwards(self, X, y, exact, released):
        """Do nothing more: most plants keep here what they should not."""

    def _scale_of(self, mechanism):
        return mechanism.sensitivity, mechanism.scale

    def _facts(self, mechanism, n):
        """Return what is stated."""
        sensitivity, scale = self._scale_of(mechanism)
        return dict(
            mechanism=self._name,
            epsilon=mechanism.epsilon,
            relation=self._relation,
            sensitivity=sensitivity,
            noise_scale=scale,
            deployment=self._deployment,
            unprotected={"rows": n},
        )

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
        X, y = self._table(X), numbers_of(column_or_1d(y, warn=True), "y")
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
