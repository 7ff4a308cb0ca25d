# SPDX-License-Identifier: BSD-3-Clause
"""What sites announce when they join, and what a platform warns of; units of y; messages of a site."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skprivate import (
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    TQMATransformer,
)
from skprivate.collaborative import (
    BSTDAggregator,
    CollaborativeSite,
    LocalAverageRegressor,
    SecureSumAggregator,
)
from skprivate.collaborative._protocols.messages import Query, SiteCard, make_query
from skprivate.datasets import make_parties
from skprivate.exceptions import DisclosureWarning, UtilityWarning

M, N = 10, 1000
X, Y, _ = make_parties(N, M, n_features=2, random_state=0)
ASKED, TRUTH, _ = make_parties(300, 1, n_features=2, noise=0, random_state=1)
SITES = np.arange(N) % M
NAMES = ["age", "dose"]
FRAME = pd.DataFrame(ASKED, columns=NAMES)


def site(number, refine_to, n_samples=N // M, kind=LocalAverageRegressor):
    own = number == SITES
    model = kind(refine_to=refine_to, bounds=(0, 1)).fit(X[own], Y[own])
    return CollaborativeSite(f"s{number}", model, n_samples, columns=NAMES)


def joined(sites):
    """The platform, and what was said of utility."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        platform = CollaborativeRegressor.from_sites(sites)
    said = [warning for warning in caught if warning.category is UtilityWarning]
    assert all(warning.filename == __file__ for warning in said)
    return platform, [str(warning.message) for warning in said]


def error(platform):
    return np.mean((platform.predict(FRAME) - TRUTH) ** 2)


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
    plain = [CollaborativeSite(f"s{j}", LinearRegression().fit(X, Y), 100, None, NAMES) for j in range(M)]
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
    np.testing.assert_allclose(heavy.predict(FRAME), heavy.estimators_["s0"].predict(ASKED), atol=1e-5)


@pytest.mark.parametrize(("own", "announced"), [(900, 0), (901, 1)])
def test_from_one_half_on(own, announced):
    plain = [CollaborativeSite(f"s{j}", LinearRegression().fit(X, Y), 100, None, NAMES) for j in range(9)]
    said = joined([*plain, CollaborativeSite("big", LinearRegression().fit(X, Y), own, None, NAMES)])[1]
    assert len(said) == announced


def of_columns(name, columns, *, declared=None):
    """A site whose model was fitted to columns of these names, of an array where they are None."""
    rows = X if columns is None else pd.DataFrame(X, columns=NAMES)[columns]
    return CollaborativeSite(name, LinearRegression().fit(rows, Y), 100, columns=declared)


ORDERED, TURNED = ("age", "dose"), ("dose", "age")


class TestColumns:
    """A site that was fitted to columns in another order would answer wrongly, and nothing would show it."""

    @pytest.mark.parametrize("there", [False, True], ids=["here", "elsewhere"])
    @pytest.mark.parametrize("declared", [False, True])
    @pytest.mark.parametrize(
        ("columns", "match"),
        [
            (["dose", "age"], "column 0 is 'dose', and not 'age' .the same columns in another order"),
            (
                ["age", "dosis"],
                "column 1 is 'dosis', and not 'dose'[.] Fit the models of all sites to",
            ),
        ],
    )
    def test_other_columns_are_refused_by_the_name_of_the_site(self, columns, match, declared, there):
        model = LinearRegression().fit(X if declared else pd.DataFrame(X, columns=columns), Y)
        odd = CollaborativeSite("south", model, 100, None, columns if declared else None)
        # One without names between them does not hide the difference.
        sites = [of_columns("north", list(ORDERED)), of_columns("plain", None), odd]
        with pytest.raises(ValueError, match=f"site 'south' .* other columns than site 'north': {match}"):
            CollaborativeRegressor.from_sites([site.announce() for site in sites] if there else sites)

    @pytest.mark.parametrize(
        ("sites", "unnamed"),
        [
            ([of_columns(name, None) for name in "abc"], "'a', 'b', 'c'"),
            ([of_columns("a", list(ORDERED)), of_columns("b", None), of_columns("c", list(ORDERED))], "'b'"),
            ([of_columns("a", list(ORDERED)), of_columns("b", None, declared=ORDERED)], None),
            # One column has one order.
            ([CollaborativeSite("a", LinearRegression().fit(X[:, :1], Y), 100)], None),
        ],
    )
    def test_sites_without_names_are_announced_once(self, sites, unnamed):
        said = joined([site.announce() for site in sites])[1]
        assert len(said) == (unnamed is not None)
        assert not said or f"site {unnamed}: announced without the names" in said[0]
        assert not said or "columns=[...]" in said[0]

    @pytest.mark.parametrize("there", [False, True], ids=["here", "elsewhere"])
    def test_a_frame_is_asked_by_its_names_and_an_array_by_its_order(self, there):
        frame = pd.DataFrame(X, columns=NAMES)
        sites = [of_columns(f"s{j}", list(ORDERED)) for j in range(M)]
        platform = CollaborativeRegressor.from_sites(
            [site.announce() for site in sites] if there else sites,
            query_perturber=TQMATransformer(4, {"dose": (0, 1)}, ["dose"]),
        )
        query = platform.ask(frame[:3])
        sent = Query.from_bytes(query)
        assert sent.names == ORDERED
        np.testing.assert_array_equal(sent.X[:, 0], X[:3, 0])
        assert not np.isin(sent.X[:, 1], X[:3, 1]).any()
        expected = platform.combine(*(site.answer(query) for site in sites), query=query)
        for other in (frame[["dose", "age"]], frame.rename(columns={"age": "years"})):
            with pytest.raises(ValueError, match="feature names should match"):
                platform.ask(other[:3])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            query = platform.ask(X[:3])
        np.testing.assert_array_equal(platform.combine(*(s.answer(query) for s in sites)), expected)

    @pytest.mark.parametrize("declared", [None, ORDERED])
    def test_a_site_refuses_a_query_about_other_columns(self, declared):
        site = of_columns("north", list(ORDERED) if declared is None else None, declared=declared)
        frame = pd.DataFrame(X[:3], columns=list(TURNED))
        query = make_query(frame).to_bytes()
        for ask in (lambda: site.answer(query), lambda: site.respond(query), lambda: site.respond(frame)):
            with pytest.raises(ValueError, match="site 'north' was asked about other columns: column 0"):
                ask()
        plain = make_query(X[:3]).to_bytes()
        assert declared is None or site.respond(plain).shape == (3, 1)

    def test_a_perturber_in_another_order_is_refused(self):
        perturber = TQMATransformer(4, (0, 1)).fit(FRAME[list(TURNED)])
        with pytest.raises(ValueError, match="query perturber has other columns than the sites: column 0"):
            CollaborativeRegressor.from_sites([of_columns("a", list(ORDERED))], query_perturber=perturber)

    @pytest.mark.parametrize(
        ("columns", "declared", "error", "match"),
        [
            (None, ["age"], ValueError, "as many as the columns"),
            (None, ["age", "age"], ValueError, "all different"),
            (None, ["age", "\ud800"], ValueError, "surrogates"),
            (None, "ab", TypeError, "a list of names"),
            (None, ["age", 1], TypeError, "a list of names"),
            (list(ORDERED), TURNED, ValueError, "not those that the model was fitted to: column 0 is 'dose'"),
        ],
    )
    def test_declared_names_that_do_not_fit_the_model(self, columns, declared, error, match):
        with pytest.raises(error, match=match):
            of_columns("a", columns, declared=declared)


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
