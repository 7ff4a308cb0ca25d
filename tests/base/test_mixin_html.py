# SPDX-License-Identifier: BSD-3-Clause
"""What notebooks show: the label under the diagram, and no value of what must not be published."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skprivate import (
    BSTDAggregator,
    CollaborativeLARRegressor,
    DPTreeClassifier,
    LocalAverageRegressor,
    PrivacyLedger,
    PrivateGridSearch,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.accounting import compose

SECRET = 1234.5678
#: scikit-learn shows them since 1.9.
SHOWS_ATTRIBUTES = hasattr(BaseEstimator, "_get_fitted_attr_html")
X = np.random.default_rng(0).uniform(size=(200, 2))
Y = (X[:, 0] > 0.5).astype(int)


def html(estimator):
    page = estimator._repr_html_()
    assert ("skprivate-label" in page) == ("skprivate-label" in estimator._repr_mimebundle_()["text/html"])
    return page


def captions(estimator):
    """Captions under the names of the boxes in a diagram."""
    return re.findall('<div class="caption">(.*?)</div>', html(estimator))


RESPONSES = np.random.default_rng(0).normal(size=(5, 12))


@pytest.mark.parametrize(
    "estimator",
    [
        TQMATransformer(bounds=(0, 1)).fit(X),
        BSTDAggregator().fit(RESPONSES),
        SecureSumAggregator().fit(RESPONSES),
    ],
)
def test_disclosure_risk(estimator):
    page = html(estimator)
    assert "Not differential privacy" in page
    assert "no ε holds" in page
    assert "ε =" not in page


def holders():
    sites, y = np.arange(200) % 12, SECRET + X[:, 0]
    local = LocalAverageRegressor(bounds=(0, 1), bandwidth=0.25)
    yield "local", local.fit(X, y)
    yield "pipeline", make_pipeline(TQMATransformer(bounds=(0, 1)), local).fit(X, y)
    platform = CollaborativeLARRegressor(bounds=(0, 1), bandwidth=0.25)
    yield "platform", platform.fit(X, y, sites=sites)
    game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-0.6, 0.1, 0.4, SECRET], r_bounds=(-1, 2000))
    yield "game", PrivateNashSolver(max_iter=3, random_state=0).fit(game)


HOLDERS = dict(holders())


@pytest.mark.parametrize(("name", "holder"), HOLDERS.items())
def test_no_value_of_what_must_not_be_published(name, holder):
    page = html(holder)
    assert "1234" not in page
    assert "1235" not in page
    for attribute in ("n_samples_", "site_sizes_", "strategies_"):
        assert attribute not in page
    if name != "pipeline":  # whose diagram is scikit-learn's
        assert "Never publish this object" in page
        assert "Fitted attributes" not in page


def test_captions_in_diagrams():
    tree = DPTreeClassifier(epsilon=0.5, bounds=(-3, 3), classes=[0, 1])
    pipe = make_pipeline(StandardScaler(), tree)
    assert captions(pipe) == ["not fitted, ε = 0.5 requested per row or group"]
    pipe.fit(X, Y, dptreeclassifier__groups=np.arange(200) // 2)
    assert captions(pipe) == ["ε = 0.5 per group, of this step alone"]
    assert captions(DPTreeClassifier(epsilon="much")) == []
    seeded = make_pipeline(DPTreeClassifier(bounds=(0, 1), classes=[0, 1], random_state=0))
    assert captions(seeded.fit(X, Y)) == ["NOT PRIVATE: no ε holds"]
    holder = HOLDERS["pipeline"]
    assert captions(holder) == ["not differential privacy: no ε holds", "never publish this object"]


def test_a_search_in_a_pipeline_has_a_box_for_its_label():
    tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])
    pipe = make_pipeline(PrivateGridSearch(tree, {"max_depth": [1, 2]})).fit(X, Y)
    shown = re.sub("<style>.*?</style>", "", html(pipe), flags=re.DOTALL)
    assert (
        shown.index("PrivateGridSearch</div>") < shown.index("ε = 3 per row") < shown.index("estimator: DP")
    )
    assert "per row, of" not in html(make_pipeline(PrivateGridSearch(tree, {"max_depth": [1, 2]})))


HOSTILE = "<script>alert('&')</script>"


def test_runs_that_are_private_and_one_that_is_not():
    tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])
    assert "skprivate-label" not in html(tree)
    page = html(tree.fit(X, Y))
    assert "ε = 1<" in page
    assert "claimed by the software, not certified" in page
    assert ("Fitted attributes" in page) is SHOWS_ATTRIBUTES
    # scikit-learn's diagram comes first and is whole.
    assert page.rindex("sk-estimator") < page.index("skprivate-label")
    page = html(tree.set_params(random_state=0).fit(X, Y))
    assert "NOT PRIVATE" in page
    assert "ε =" not in page


def test_steps_are_escaped_in_diagrams():
    tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])
    pipe, plain = (Pipeline([(name, make_pipeline(tree))]).fit(X, Y) for name in (HOSTILE, "step"))
    # scikit-learn has scripts of its own.
    assert html(pipe).count("<script") == html(plain).count("<script")


@pytest.fixture
def account(tmp_path):
    """A ledger of a fit and of a charge, whose names are hostile; and what the fit spent."""
    ledger = PrivacyLedger(tmp_path / "a<b>.ledger", epsilon=3)
    tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1], ledger=ledger)
    with ledger.label(HOSTILE), ledger.data(HOSTILE):
        spent = tree.fit(X, Y).privacy_spent_
    with ledger.label(HOSTILE):
        ledger.charge(replace(spent, mechanism=HOSTILE, unprotected={HOSTILE: HOSTILE}), HOSTILE)
    return ledger, spent


def test_a_ledger_shows_its_account(account, tmp_path):
    ledger, spent = account
    page = ledger._repr_html_()
    assert "ε = 2 spent" in page
    assert '<th scope="row">Remaining</th><td>epsilon = 1, delta = 0</td>' in page
    assert "(1 fits)" in page
    assert "Differential privacy (claimed" in page
    other = {"epsilon": Fraction(1, 2), "releases": ()}
    ledger.charge(replace(spent, claim="not-private", reasons=("seeded",), **other), "A")
    assert "NOT PRIVATE: some entries are not" in ledger._repr_html_()
    assert "ε = 2.5 spent" in ledger._repr_html_()
    (tmp_path / "a<b>.ledger").unlink()
    assert "The ledger cannot be read" in ledger._repr_html_()


def test_a_composition_without_a_bound_shows_none(account):
    ledger, spent = account
    composition = ledger.composition()
    assert "ε = 2<" in composition._repr_html_()
    for page in (ledger._repr_html_(), composition._repr_html_()):
        assert "&lt;script&gt;" in page
        assert not re.search(r"<script|<b>|url\(|@import|https?:", page)
    page = compose([spent, replace(spent, relation="add-remove")])._repr_html_()
    assert "NO BOUND" in page
    assert "ε =" not in page
