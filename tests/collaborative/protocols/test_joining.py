# SPDX-License-Identifier: BSD-3-Clause
"""What sites announce when they join, and what a platform warns of; units of y; messages of a site."""

import warnings

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skprivate import CollaborativeClassifier, CollaborativeLARRegressor, CollaborativeRegressor
from skprivate.collaborative import (
    BSTDAggregator,
    CollaborativeSite,
    LocalAverageRegressor,
    SecureSumAggregator,
)
from skprivate.collaborative._protocols.messages import SiteCard
from skprivate.datasets import make_parties
from skprivate.exceptions import DisclosureWarning, UtilityWarning

M, N = 10, 1000
X, Y, _ = make_parties(N, M, n_features=2, random_state=0)
ASKED, TRUTH, _ = make_parties(300, 1, n_features=2, noise=0, random_state=1)
SITES = np.arange(N) % M


def site(number, refine_to, n_samples=N // M, kind=LocalAverageRegressor):
    own = number == SITES
    model = kind(refine_to=refine_to, bounds=(0, 1)).fit(X[own], Y[own])
    return CollaborativeSite(f"s{number}", model, n_samples)


def joined(sites):
    """The platform, and what was said of utility."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        platform = CollaborativeRegressor.from_sites(sites)
    said = [warning for warning in caught if warning.category is UtilityWarning]
    assert all(warning.filename == __file__ for warning in said)
    return platform, [str(warning.message) for warning in said]


def error(platform):
    return np.mean((platform.predict(ASKED) - TRUTH) ** 2)


def test_a_forgotten_refinement_is_announced_and_matters():
    good, silent = joined([site(number, N) for number in range(M)])
    bad, said = joined([site(number, None if number < 9 else N) for number in range(M)])
    assert silent == []
    assert len(said) == 1
    assert "'s0'" in said[0]
    assert "'s9'" not in said[0]
    assert "refine_to" in said[0]
    assert error(bad) > 1.2 * error(good)


def test_announcements_say_as_much_as_sites():
    cards = [site(number, None).announce() for number in range(M)]
    assert {SiteCard.from_bytes(card).refined_to for card in cards} == {N // M}
    assert len(joined(cards)[1]) == 1


@pytest.mark.parametrize(
    ("total", "announced"), [(N, 0), (1100, 0), (900, 0), (1200, 1), (800, 1), (10**6, 1)]
)
def test_totals_count_as_far_as_the_grid_of_bandwidths_tells(total, announced):
    # |ln(n' / n)| <= ln n_j / 32: 15.5 % of 100 rows.
    assert len(joined([site(number, total) for number in range(M)])[1]) == announced


def test_models_without_a_refinement_and_one_site_are_not_warned_about():
    plain = [CollaborativeSite(f"s{j}", LinearRegression().fit(X, Y), 100) for j in range(M)]
    assert SiteCard.from_bytes(plain[0].announce()).refined_to is None
    assert joined(plain)[1] == []
    assert joined([site(0, None)])[1] == []


def test_a_refinement_is_found_inside_other_models():
    local = LocalAverageRegressor(refine_to=N).fit(X[:100], Y[:100])
    nested = make_pipeline(FunctionTransformer(), FrozenEstimator(local)).fit(X, Y)
    assert SiteCard.from_bytes(CollaborativeSite("a", nested, 100).announce()).refined_to == N


def test_a_site_that_outvotes_all_others_is_announced():
    sites = [site(number, N) for number in range(1, M)]
    heavy, said = joined([site(0, N, 10**9), *sites])
    assert "'s0'" in said[0]
    assert "more rows than all others together" in said[0]
    # Why it matters: its answer is the prediction.
    np.testing.assert_allclose(heavy.predict(ASKED), heavy.estimators_["s0"].predict(ASKED), atol=1e-5)


@pytest.mark.parametrize(("own", "announced"), [(900, 0), (901, 1)])
def test_from_one_half_on(own, announced):
    plain = [CollaborativeSite(f"s{j}", LinearRegression().fit(X, Y), 100) for j in range(9)]
    said = joined([*plain, CollaborativeSite("big", LinearRegression().fit(X, Y), own)])[1]
    assert len(said) == announced


class TestUnits:
    """Nothing depends on the unit of y."""

    @pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
    @pytest.mark.parametrize("sum_up", [False, True])
    def test_scores_are_the_same_in_millionths_and_millions(self, kernel, sum_up):
        def score(unit):
            if not sum_up:
                platform = CollaborativeLARRegressor(8, kernel=kernel, bounds=(0, 1))
            else:
                local = LocalAverageRegressor(kernel, bounds=(0, 1))
                platform = CollaborativeRegressor(local, aggregator=SecureSumAggregator())
            return platform.fit(X, Y * unit, sites=SITES).score(ASKED, TRUTH * unit)

        assert score(1.0) > 0.8
        for unit in (1e-6, 1e6):
            assert score(unit) == pytest.approx(score(1.0), abs=1e-9)

    def test_the_paper_s_rule_is_not_and_says_so(self):
        platform = CollaborativeLARRegressor(bounds=(0, 1), active_rule="box").fit(X, Y * 1e-6, sites=SITES)
        with pytest.warns(UtilityWarning, match="active_rule='support'") as caught:
            found = platform.predict(ASKED)
        assert not found.any()
        assert [warning.filename for warning in caught] == [__file__]
        query = platform.ask(ASKED)
        answers = [platform.site(name).answer(query) for name in platform.sites_]
        with pytest.warns(UtilityWarning, match="rests on few") as caught:
            platform.combine(*answers, query=query)
        assert [warning.filename for warning in caught] == [__file__]

    def test_every_default_is_support(self):
        parts = (BSTDAggregator(), SecureSumAggregator(), CollaborativeLARRegressor())
        assert {part.active_rule for part in parts} == {"support"}
        for kind in (CollaborativeRegressor, CollaborativeClassifier):
            assert kind()._make_aggregator().active_rule == "support"


def test_few_active_sites_are_announced_once_for_all_classes():
    labels = np.where(Y > 0.3, "high", "low")
    platform = CollaborativeClassifier(aggregator=BSTDAggregator(active_rule="box"))
    platform.fit(X, labels, sites=SITES)
    # Answers of nobody: below the box rule's threshold.
    platform.estimators_ = dict.fromkeys(platform.sites_, _Silent(platform.classes_))
    with pytest.warns(UtilityWarning, match="rests on few") as caught:
        platform.predict_proba(ASKED)
    assert len(caught) == 1


class _Silent:
    """A classifier whose probabilities are too small to count."""

    _estimator_type = "classifier"

    def __init__(self, classes):
        self.classes_ = classes

    def __sklearn_tags__(self):
        return CollaborativeClassifier().__sklearn_tags__()

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1e-9)


def test_a_site_responds_to_a_query_message_as_to_its_rows():
    platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, Y, sites=SITES)
    query = platform.ask(ASKED)
    coarse = platform.query_perturber_.transform(ASKED)
    one = platform.site(0)
    np.testing.assert_array_equal(one.respond(query), one.respond(coarse))


def test_a_site_s_name_is_text():
    model = LinearRegression().fit(X, Y)
    for name, problem in (("", "needs a name"), ("\ud800", "lone surrogates")):
        with pytest.raises(ValueError, match=problem):
            CollaborativeSite(name, model, 10)


@pytest.mark.parametrize("aggregator", [BSTDAggregator(2, 8), SecureSumAggregator()])
def test_every_fit_of_a_platform_warns_once_at_the_line_of_its_user(aggregator):
    X = np.linspace(0, 1, 40)[:, np.newaxis]
    platform = CollaborativeRegressor(LinearRegression(), aggregator=aggregator)
    with warnings.catch_warnings(record=True) as caught:
        # As by default: once per line of code.
        warnings.simplefilter("default")
        platform.fit(X, X[:, 0], sites=np.arange(40) % 2)
        make_pipeline(StandardScaler(), platform).fit(X, X[:, 0])
    assert [warning.category for warning in caught] == [DisclosureWarning] * 2
    assert [warning.filename for warning in caught] == [__file__] * 2


def test_a_masked_array_is_not_asked():
    platform = CollaborativeRegressor(LinearRegression(), aggregator=BSTDAggregator(1, 6))
    X = np.linspace(0, 1, 40)[:, np.newaxis]
    with pytest.warns(DisclosureWarning):
        platform.fit(X, X[:, 0])
    with pytest.raises(ValueError, match="masked array"):
        platform.ask(np.ma.array([[0.5]], mask=[[True]]))
