# SPDX-License-Identifier: BSD-3-Clause
"""What notebooks show: the label under the diagram, and no value of what must not be published."""

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skprivate import (
    BSTDAggregator,
    CollaborativeLARRegressor,
    DPTreeClassifier,
    LocalAverageRegressor,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    SecureSumAggregator,
    TQMATransformer,
    privacy_report,
)

SECRET = 1234.5678
X = np.random.default_rng(0).uniform(size=(200, 2))
Y = (X[:, 0] > 0.5).astype(int)


def html(estimator):
    page = estimator._repr_html_()
    assert ("skprivate-label" in page) == ("skprivate-label" in estimator._repr_mimebundle_()["text/html"])
    return page


def test_private_run():
    tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])
    assert "skprivate-label" not in html(tree)
    page = html(tree.fit(X, Y))
    assert "ε = 1<" in page
    assert "claimed by the software, not certified" in page
    assert "Fitted attributes" in page
    # scikit-learn's diagram comes first and is whole.
    assert page.index("</body>") < page.index("skprivate-label")


def test_run_that_is_not_private():
    page = html(DPTreeClassifier(bounds=(0, 1), classes=[0, 1], random_state=0).fit(X, Y))
    assert "NOT PRIVATE" in page
    assert "ε =" not in page


def test_a_label_of_a_step_is_none_of_its_pipeline():
    pipe = make_pipeline(StandardScaler(), DPTreeClassifier(bounds=(-3, 3), classes=[0, 1])).fit(X, Y)
    tree = pipe[-1]
    for page in (html(tree), tree.privacy_spent_._repr_html_(), tree.privacy_spent_.to_html()):
        # Beside the verdict, and not in what is folded away.
        shown = page.partition("<details><summary>Details")[0]
        assert "Of this step alone, given its input." in shown
    # Scikit-learn's diagram of the pipeline makes no claim for us.
    assert "differential privacy" not in pipe._repr_html_()
    assert "skprivate-label" not in pipe._repr_html_()
    report = privacy_report(pipe)._repr_html_()
    assert "NOT PRIVATE" in report
    assert "standardscaler (StandardScaler)" in report
    assert "Of the whole fitted object." in report
    assert "ε =" not in report


def test_as_text():
    with sklearn.config_context(display="text"):
        tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, Y)
        assert not hasattr(tree, "_repr_html_")
        assert set(tree._repr_mimebundle_()) == {"text/plain"}


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


@pytest.mark.parametrize(("name", "holder"), list(holders()))
def test_no_value_of_what_must_not_be_published(name, holder):
    page = html(holder)
    assert "1234" not in page
    assert "1235" not in page
    for attribute in ("n_samples_", "site_sizes_", "strategies_"):
        assert attribute not in page
    if name != "pipeline":  # whose diagram is scikit-learn's
        assert "Never publish this object" in page
        assert "Fitted attributes" not in page


def test_the_notice_says_where_the_statement_is():
    pages = {name: html(holder) for name, holder in holders()}
    assert "stated in privacy_spent_." in pages["game"]
    assert "stated in disclosure_risk_." in pages["platform"]
    assert "stated in" not in pages["local"]


def test_values_would_show_otherwise(monkeypatch):
    monkeypatch.setattr(LocalAverageRegressor, "releases_state", True)
    page = html(dict(holders())["local"])
    assert "n_samples_" in page
    assert "Never publish" not in page


def test_unfitted_holder_has_no_notice():
    assert "Never publish" not in html(LocalAverageRegressor())
