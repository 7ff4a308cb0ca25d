"""A private estimator of a third party: noisy class counts on both sides of the middle of one column."""

import copy
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skprivate import PrivacySpent
from skprivate.accounting import ReleaseRecord
from skprivate.base import (
    SHARED_CONSTRAINTS,
    PlannedCost,
    PrivateEstimatorMixin,
    PublicShape,
    assign_roles,
    check_epsilon,
    claim_of,
    name_inputs,
    private_fit,
    redact_errors,
    within_bounds,
)
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy


def leaks_of(estimator):
    """What has to be read from private rows, because nobody declared it."""
    missing = [name for name in ("bounds", "classes") if getattr(estimator, name) is None]
    return [f"the {name} were read from private rows" for name in missing]


class DPHalvesClassifier(PrivateEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Differentially private class frequencies below and above the middle of the first column."""

    # The name is scikit-learn's.
    _parameter_constraints = {
        **{name: SHARED_CONSTRAINTS[name] for name in ("epsilon", "random_state", "ledger")},
        **{"bounds": ["array-like", dict, None], "classes": ["array-like", None], "smoothing": [Real]},
    }
    declared_roles = assign_roles(
        release="epsilon bounds classes random_state", post_processing="smoothing", computing="ledger"
    )

    def __init__(
        self, epsilon=1.0, *, bounds=None, classes=None, smoothing=1.0, random_state=None, ledger=None
    ):
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.smoothing = smoothing
        self.random_state = random_state
        self.ledger = ledger

    def planned_cost(self, any_public):
        epsilon, seeded = check_epsilon(self.epsilon), self.random_state is not None
        return PlannedCost(
            epsilon=epsilon, relation="replace-one", leaks=tuple(leaks_of(self)), seeded=seeded
        )

    def check_public(self, shape):
        shape.check_bounds(self.bounds, "bounds")
        if not self.smoothing > 0:
            raise ValueError("smoothing must be above 0.")

    @private_fit
    def fit(self, X, y):
        leaks = leaks_of(self)
        if self.is_strict():
            self.announce_leaks(leaks)  # an error; from here on all is declared
            X = self.read_numbers(X)
            y = self.read_labels(y, len(X))
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
            check_classification_targets(y)
            self.announce_leaks(leaks)
        self.check_public(PublicShape(n_features=X.shape[1], n_rows=len(X)))
        lower, upper = self.resolve_bounds(self.bounds, X, None)
        X = within_bounds(X, lower, upper)
        self.classes_ = np.unique(y if self.classes is None else np.asarray(self.classes))
        self.middle_ = (lower[0] + upper[0]) / 2
        label = np.zeros(len(X), dtype=np.intp)  # a label that nobody declared counts as the first class
        for k, known in enumerate(self.classes_):
            label[np.asarray(y == known, dtype=bool)] = k
        exact = np.zeros((2, len(self.classes_)), dtype=np.int64)
        np.add.at(exact, ((X[:, 0] > self.middle_).astype(np.intp), label), 1)

        entropy = check_entropy(self.random_state)
        # A replaced row takes 1 from one count and adds 1 to another.
        mechanism = DiscreteLaplaceMechanism(self.epsilon, sensitivity=2)
        self.privacy_spent_ = PrivacySpent(
            releases=[ReleaseRecord.of("class counts", mechanism)],
            mechanism="discrete Laplace noise on class counts",
            epsilon=mechanism.epsilon,
            relation="replace-one",
            sensitivity=2,
            noise_scale=mechanism.scale,
            noise_source=entropy.source,
            deployment="curator",
            public_inputs=name_inputs(self, ("bounds", "classes")),
            unprotected={"rows": len(X)},
            **claim_of(leaks, entropy.source, self, ("bounds",)),
        )
        self.charge(self.privacy_spent_)
        self.counts_ = mechanism.randomize(exact, entropy)
        return self

    def post_processed(self, parameters):
        return copy.copy(self).set_params(**parameters)

    @redact_errors
    def predict_proba(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        counts = np.maximum(self.counts_, 0) + self.smoothing
        frequencies = counts / counts.sum(axis=1, keepdims=True)
        return frequencies[(X[:, 0] > self.middle_).astype(np.intp)]

    def predict(self, X):
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it looks at one column
        return tags
