# SPDX-License-Identifier: BSD-3-Clause
"""A site: what it takes for its model, and what it lets out."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression

from skprivate.collaborative import CollaborativeSite
from skprivate.collaborative._protocols.messages import Query, SiteCard, make_query

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 2))
LINEAR = LinearRegression().fit(X, X[:, 0])
LOGISTIC = LogisticRegression().fit(X, np.where(X[:, 0] > 0.5, "high", "low"))


def test_an_unfitted_model_and_no_rows_are_errors():
    with pytest.raises(NotFittedError):
        CollaborativeSite("a", LinearRegression(), 40)
    with pytest.raises(ValueError, match="n_samples"):
        CollaborativeSite("a", LINEAR, 0)
    with pytest.raises(TypeError, match="n_samples"):
        CollaborativeSite("a", LINEAR, 1.5)


def test_an_announcement_says_what_the_platform_needs():
    assert SiteCard.from_bytes(CollaborativeSite(3, LINEAR, 40).announce()) == SiteCard("3", 40, 2)
    assert SiteCard.from_bytes(CollaborativeSite("a", LOGISTIC, 40).announce()).classes == ("high", "low")


def test_classes_of_the_collaboration_have_their_columns():
    site = CollaborativeSite("a", LOGISTIC, 40, classes=["high", "low", "medium"])
    found = site.respond(X)
    np.testing.assert_array_equal(found[:, :2], LOGISTIC.predict_proba(X))
    np.testing.assert_array_equal(found[:, 2], 0.0)
    np.testing.assert_array_equal(CollaborativeSite("a", LOGISTIC, 40).respond(X), LOGISTIC.predict_proba(X))


class Odd(BaseEstimator):
    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.answer

    predict_proba = predict


class OddRegressor(RegressorMixin, Odd):
    pass


class OddClassifier(ClassifierMixin, Odd):
    pass


@pytest.mark.parametrize(
    ("kind", "answer", "match"),
    [
        (OddRegressor, np.zeros(3), "another number of values"),
        (OddRegressor, np.zeros((2, 1)), "another number of values"),
        (OddRegressor, np.array([0.0, np.nan]), "not finite"),
        (OddRegressor, np.array([0.0, np.inf]), "not finite"),
        (OddClassifier, np.full((2, 3), 1 / 3), "another number of values"),
        (OddClassifier, np.array([[0.5, 0.5], [np.nan, 1.0]]), "not finite"),
    ],
)
def test_answers_that_are_none_are_not_sent(kind, answer, match):
    site = CollaborativeSite("a", kind(answer).fit(X[:2], [0, 1]), 2)
    with pytest.raises(ValueError, match=match):
        site.respond(X[:2])


def test_a_message_of_other_columns_is_refused_before_a_frame_is_made_of_it(monkeypatch):
    # pandas takes half a minute for the 2^18 named columns of a message of 3.5 MB.
    site = CollaborativeSite("a", LINEAR, 40)
    monkeypatch.setattr(Query, "rows", lambda *_, **__: pytest.fail("a frame was made"))
    query = make_query(np.array([["text", 1.0, 2.0]], dtype=object), ("a", "b", "c")).to_bytes()
    for read in (site.respond, site.answer):
        with pytest.raises(ValueError, match="another number of columns"):
            read(query)
