# SPDX-License-Identifier: BSD-3-Clause
"""A site: what it lets out, what it announces when it joins, and what a platform warns of."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skprivate import (
    BSTDAggregator,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.collaborative import CollaborativeSite, LocalAverageRegressor
from skprivate.collaborative._protocols.messages import Query, SiteCard, make_query
from skprivate.datasets import make_parties
from skprivate.exceptions import DisclosureWarning, UtilityWarning

M, N = 10, 1000
X, Y, _ = make_parties(N, M, n_features=2, random_state=0)
ASKED, TRUTH, _ = make_parties(100, 1, n_features=2, noise=0, random_state=1)
SITES = np.arange(N) % M
NAMES, TURNED = ["age", "dose"], ["dose", "age"]
FRAME, FRAME_ASKED = (pd.DataFrame(rows, columns=NAMES) for rows in (X, ASKED))
LINEAR = LinearRegression().fit(X, Y)
LABELS = np.where(Y > 0.3, "high", "low")
LOGISTIC = LogisticRegression().fit(X, LABELS)


def local_site(number, refine_to, n_samples=N // M):
    own = number == SITES
    model = LocalAverageRegressor(refine_to=refine_to, bounds=(0, 1)).fit(X[own], Y[own])
    return CollaborativeSite(f"s{number}", model, n_samples, columns=NAMES)


def linear_site(name, n_samples=100, columns=NAMES):
    return CollaborativeSite(name, LINEAR, n_samples, columns=columns)


def joined(sites):
    """The platform, and what was said of utility."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        platform = CollaborativeRegressor.from_sites(sites)
    said = [warning for warning in caught if warning.category is UtilityWarning]
    assert all(warning.filename == __file__ for warning in said)
    return platform, [str(warning.message) for warning in said]


class TestWhatLeaves:
    def test_an_announcement_says_what_the_platform_needs(self):
        assert SiteCard.from_bytes(CollaborativeSite(3, LINEAR, 40).announce()) == SiteCard("3", 40, 2)
        card = SiteCard.from_bytes(CollaborativeSite("a", LOGISTIC, 40).announce())
        assert card.classes == ("high", "low")

    def test_the_repr_shows_no_value(self):
        site = CollaborativeSite("a", LocalAverageRegressor(bandwidth=0.1).fit(X, Y), len(X))
        assert repr(site) == "CollaborativeSite('a', LocalAverageRegressor, 1000 rows)"

    def test_classes_of_the_collaboration_have_their_columns_in_any_order(self):
        found = CollaborativeSite("a", LOGISTIC, 40, classes=["low", "medium", "high"]).respond(ASKED)
        expected = LOGISTIC.predict_proba(ASKED)
        np.testing.assert_array_equal(found[:, [2, 0]], expected)
        np.testing.assert_array_equal(found[:, 1], 0.0)
        np.testing.assert_array_equal(CollaborativeSite("a", LOGISTIC, 40).respond(ASKED), expected)

    def test_no_support_travels_as_such(self):
        model = LocalAverageRegressor("epanechnikov", bandwidth=0.02, bounds=(0, 1)).fit(X, Y)
        values = CollaborativeSite("a", model, len(X)).respond(ASKED)
        np.testing.assert_array_equal(np.isnan(values[:, 0]), ~model.support(ASKED))
        assert np.isnan(values).any()

    def test_a_site_responds_to_a_query_message_as_to_its_rows(self):
        platform = CollaborativeLARRegressor(bounds=(0, 1)).fit(X, Y, sites=SITES)
        one, coarse = platform.site(0), platform.query_perturber_.transform(ASKED)
        np.testing.assert_array_equal(one.respond(platform.ask(ASKED)), one.respond(coarse))

    def test_a_message_of_other_columns_is_refused_before_a_frame_is_made_of_it(self, monkeypatch):
        # pandas takes half a minute for the 2^18 named columns of a message of 3.5 MB.
        site = CollaborativeSite("a", LINEAR, 40)
        monkeypatch.setattr(Query, "rows", lambda *_, **__: pytest.fail("a frame was made"))
        query = make_query(np.array([["text", 1.0, 2.0]], dtype=object), ("a", "b", "c")).to_bytes()
        for read in (site.respond, site.answer):
            with pytest.raises(ValueError, match="another number of columns"):
                read(query)


class TestRefinement:
    def test_one_that_was_forgotten_is_announced_and_matters(self):
        good, silent = joined([local_site(number, N) for number in range(M)])
        bad, said = joined([local_site(number, None if number < 9 else N) for number in range(M)])
        assert silent == []
        assert len(said) == 1
        assert "'s0'" in said[0]
        assert "'s9'" not in said[0]
        assert "refine_to" in said[0]
        errors = [np.mean((platform.predict(FRAME_ASKED) - TRUTH) ** 2) for platform in (good, bad)]
        assert errors[1] > 1.2 * errors[0]

    def test_announcements_say_as_much_as_sites(self):
        cards = [local_site(number, None).announce() for number in range(M)]
        assert {SiteCard.from_bytes(card).refined_to for card in cards} == {N // M}
        assert len(joined(cards)[1]) == 1

    @pytest.mark.parametrize(("total", "announced"), [(N, 0), (1100, 0), (900, 0), (1200, 1), (800, 1)])
    def test_totals_count_as_far_as_the_grid_of_bandwidths_tells(self, total, announced):
        # |ln(n' / n)| <= ln n_j / 32: 15.5 % of 100 rows.
        assert len(joined([local_site(number, total) for number in range(M)])[1]) == announced

    def test_models_without_one_and_one_site_are_not_warned_about(self):
        plain = [linear_site(f"s{j}") for j in range(M)]
        assert SiteCard.from_bytes(plain[0].announce()).refined_to is None
        assert joined(plain)[1] == joined([local_site(0, None)])[1] == []

    def test_it_is_found_inside_other_models(self):
        local = LocalAverageRegressor(refine_to=N).fit(X[:100], Y[:100])
        nested = make_pipeline(FunctionTransformer(), FrozenEstimator(local)).fit(X, Y)
        assert SiteCard.from_bytes(CollaborativeSite("a", nested, 100).announce()).refined_to == N


@pytest.mark.parametrize(("own", "announced"), [(900, 0), (901, 1)])
def test_from_one_half_on(own, announced):
    said = joined([*(linear_site(f"s{j}") for j in range(9)), linear_site("big", own)])[1]
    assert len(said) == announced


def of_columns(name, columns, *, declared=None):
    """A site whose model was fitted to columns of these names, of an array where they are None."""
    rows = X if columns is None else FRAME[columns]
    return CollaborativeSite(name, LinearRegression().fit(rows, Y), 100, columns=declared)


class TestColumns:
    """A site that was fitted to columns in another order would answer wrongly, and nothing would show it."""

    @pytest.mark.parametrize("there", [False, True], ids=["here", "elsewhere"])
    @pytest.mark.parametrize("declared", [False, True])
    @pytest.mark.parametrize(
        ("columns", "match"),
        [
            (TURNED, "column 0 is 'dose', and not 'age' .the same columns in another order"),
            (["age", "dosis"], "column 1 is 'dosis', and not 'dose'[.] Fit the models of all sites to"),
        ],
    )
    def test_other_columns_are_refused_by_the_name_of_the_site(self, columns, match, declared, there):
        model = LinearRegression().fit(X if declared else pd.DataFrame(X, columns=columns), Y)
        odd = CollaborativeSite("south", model, 100, None, columns if declared else None)
        # One without names between them does not hide the difference.
        sites = [of_columns("north", NAMES), of_columns("plain", None), odd]
        with pytest.raises(ValueError, match=f"site 'south' .* other columns than site 'north': {match}"):
            CollaborativeRegressor.from_sites([site.announce() for site in sites] if there else sites)

    @pytest.mark.parametrize("there", [False, True], ids=["here", "elsewhere"])
    def test_a_frame_is_asked_by_its_names_and_an_array_by_its_order(self, there):
        sites = [of_columns(f"s{j}", NAMES) for j in range(M)]
        platform = CollaborativeRegressor.from_sites(
            [site.announce() for site in sites] if there else sites,
            query_perturber=TQMATransformer(4, {"dose": (0, 1)}, ["dose"]),
        )
        query = platform.ask(FRAME[:3])
        sent = Query.from_bytes(query)
        assert sent.names == tuple(NAMES)
        np.testing.assert_array_equal(sent.X[:, 0], X[:3, 0])
        assert not np.isin(sent.X[:, 1], X[:3, 1]).any()
        expected = platform.combine(*(site.answer(query) for site in sites), query=query)
        for other in (FRAME[TURNED], FRAME.rename(columns={"age": "years"})):
            with pytest.raises(ValueError, match="feature names should match"):
                platform.ask(other[:3])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            query = platform.ask(X[:3])
        np.testing.assert_array_equal(platform.combine(*(s.answer(query) for s in sites)), expected)

    @pytest.mark.parametrize("declared", [None, NAMES])
    def test_a_site_refuses_a_query_about_other_columns(self, declared):
        site = of_columns("north", NAMES if declared is None else None, declared=declared)
        query = make_query(FRAME[TURNED][:3]).to_bytes()
        for ask, rows in ((site.answer, query), (site.respond, query), (site.respond, FRAME[TURNED][:3])):
            with pytest.raises(ValueError, match="site 'north' was asked about other columns: column 0"):
                ask(rows)
        assert declared is None or site.respond(make_query(X[:3]).to_bytes()).shape == (3, 1)

    def test_a_perturber_in_another_order_is_refused(self):
        perturber = TQMATransformer(4, (0, 1)).fit(FRAME[TURNED])
        with pytest.raises(ValueError, match="query perturber has other columns than the sites: column 0"):
            CollaborativeRegressor.from_sites([of_columns("a", NAMES)], query_perturber=perturber)


class TestUnits:
    """Nothing depends on the unit of y."""

    def test_the_paper_s_rule_is_not_and_says_so(self):
        platform = CollaborativeLARRegressor(bounds=(0, 1), active_rule="box").fit(X, Y * 1e-6, sites=SITES)
        query = platform.ask(ASKED)
        answers = [platform.site(name).answer(query) for name in platform.sites_]
        for predict in (lambda: platform.predict(ASKED), lambda: platform.combine(*answers, query=query)):
            with pytest.warns(UtilityWarning, match="rests on few.*active_rule='support'") as caught:
                found = predict()
            assert not found.any()
            assert [warning.filename for warning in caught] == [__file__]

    def test_every_default_is_support(self):
        parts = (BSTDAggregator(), SecureSumAggregator(), CollaborativeLARRegressor())
        assert {part.active_rule for part in parts} == {"support"}
        for kind in (CollaborativeRegressor, CollaborativeClassifier):
            assert kind()._make_aggregator().active_rule == "support"


@pytest.mark.parametrize("aggregator", [BSTDAggregator(2, 8), SecureSumAggregator()])
def test_every_fit_of_a_platform_warns_once_at_the_line_of_its_user(aggregator):
    platform = CollaborativeRegressor(LinearRegression(), aggregator=aggregator)
    with warnings.catch_warnings(record=True) as caught:
        # As by default: once per line of code.
        warnings.simplefilter("default")
        platform.fit(X, Y, sites=SITES % 2)
        make_pipeline(StandardScaler(), platform).fit(X, Y)
    assert [warning.category for warning in caught] == [DisclosureWarning] * 2
    assert [warning.filename for warning in caught] == [__file__] * 2
