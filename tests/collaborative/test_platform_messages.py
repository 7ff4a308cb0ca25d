# SPDX-License-Identifier: BSD-3-Clause
"""Queries and answers as bytes: the same predictions as in one process, and refusal of anything else."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skprivate import (
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    LocalAverageRegressor,
    SecureSumAggregator,
    TQMATransformer,
)
from skprivate.collaborative import CollaborativeSite
from skprivate.collaborative._protocols.messages import Answer, Query
from skprivate.datasets import make_parties
from skprivate.exceptions import ConsentError, DisclosureWarning, SiteError, SiteWarning

M = 12
X, Y, SITES = make_parties(600, M, n_features=3, random_state=0)
ASKED = make_parties(5, 1, n_features=3, random_state=1)[0]
NAMES = ["age", "weight", "dose"]
FRAME, FRAME_ASKED = (pd.DataFrame(rows, columns=NAMES) for rows in (X, ASKED))


@pytest.fixture(scope="module")
def platform():
    return CollaborativeLARRegressor(bounds=(0, 1)).fit(X, Y, sites=SITES)


@pytest.fixture(scope="module")
def query(platform):
    return platform.ask(ASKED)


@pytest.fixture(scope="module")
def answers(platform, query):
    return [site.answer(query) for site in sites_of(platform)]


def sites_of(platform):
    return [platform.site(name) for name in platform.sites_]


def cards_of(sites):
    return [site.announce() for site in sites]


def by_messages(platform, rows, sites=None):
    query = platform.ask(rows)
    return platform.combine(*(site.answer(query) for site in sites or sites_of(platform)), query=query)


class TestSamePredictions:
    def test_messages_predict_what_the_process_predicts(self, platform, query, answers):
        np.testing.assert_array_equal(platform.combine(*answers, query=query), platform.predict(ASKED))
        np.testing.assert_array_equal(platform.combine(*answers[::-1]), platform.predict(ASKED))

    def test_a_query_carries_no_value_of_the_asker(self, platform, query):
        sent = Query.from_bytes(query).X
        np.testing.assert_array_equal(sent, platform.query_perturber_.transform(ASKED))
        assert not np.isin(sent, ASKED).any()
        assert platform.ask(ASKED) != query

    def test_a_platform_that_holds_no_model(self, platform):
        sites = [
            CollaborativeSite(f"h{j}", platform.estimators_[j], platform.site_sizes_[j])
            for j in platform.sites_
        ]
        remote = CollaborativeLARRegressor.from_sites(cards_of(sites), bounds=(0, 1))
        assert remote.estimators_ == {}
        np.testing.assert_array_equal(by_messages(remote, ASKED, sites), platform.predict(ASKED))
        with pytest.raises(SiteError, match="use ask and combine"):
            remote.predict(ASKED)
        here = CollaborativeLARRegressor.from_sites(sites, bounds=(0, 1))
        np.testing.assert_array_equal(here.predict(ASKED), platform.predict(ASKED))

    def test_columns_with_text_travel(self):
        frame = FRAME.assign(ward=np.where(X[:, 0] > 0.5, "north", "south"))
        frame.loc[::3, "ward"] = None
        encode = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
        perturber = TQMATransformer(4, {"age": (0, 1)}, ["age"])
        platform = CollaborativeRegressor(make_pipeline(encode, LinearRegression()), perturber)
        platform.fit(frame, Y, sites=SITES)
        np.testing.assert_allclose(by_messages(platform, frame[:5]), platform.predict(frame[:5]), atol=1e-12)

    def test_probabilities_travel(self):
        labels = np.where(Y > 0.3, "high", "low")
        platform = CollaborativeClassifier(LogisticRegression()).fit(X, labels, sites=SITES)
        sites = sites_of(platform)
        remote = CollaborativeClassifier.from_sites(cards_of(sites))
        assert remote.classes_.tolist() == ["high", "low"]
        found = by_messages(remote, ASKED, sites)
        np.testing.assert_allclose(found, platform.predict_proba(ASKED), atol=1e-12)

    @pytest.mark.parametrize("estimator", [LinearRegression(), LocalAverageRegressor(bounds=(0, 1))])
    def test_names_of_columns_travel_with_coarsened_numbers(self, estimator):
        platform = CollaborativeRegressor(estimator, TQMATransformer(4, (0, 1))).fit(FRAME, Y, sites=SITES)
        assert Query.from_bytes(platform.ask(FRAME_ASKED)).names == tuple(NAMES)
        np.testing.assert_array_equal(by_messages(platform, FRAME_ASKED), platform.predict(FRAME_ASKED))

    def test_whole_numbers_and_truth_values_travel_as_numbers(self, platform):
        plain = CollaborativeRegressor.from_sites(sites_of(platform))
        for table in (np.array([[0, 1, 1]]), np.array([[False, True, True]])):
            sent = Query.from_bytes(plain.ask(table)).X
            assert sent.dtype == np.float64
            np.testing.assert_array_equal(sent, [[0.0, 1.0, 1.0]])


class TestAnswersThatAreRefused:
    def test_those_to_another_query(self, platform, query, answers):
        other = platform.site(0).answer(platform.ask(ASKED))
        mixed = [other, *answers[1:]]
        for given, asked in ((mixed, query), (mixed, None), (answers, platform.ask(ASKED))):
            with pytest.raises(ConsentError, match="not of this query"):
                platform.combine(*given, query=asked)

    def test_those_of_a_stranger_or_of_more_weight_or_twice(self, platform, query, answers):
        stranger = CollaborativeSite("x", platform.estimators_[0], 100).answer(query)
        for extra, name in ((answers[0], "0"), (stranger, "x")):
            with pytest.raises(ConsentError, match=f"site '{name}', which is unknown here or has answered"):
                platform.combine(*answers, extra)
        heavy = CollaborativeSite("0", platform.estimators_[0], 10**6).answer(query)
        with pytest.raises(ConsentError, match="site '0' states another number of rows"):
            platform.combine(heavy, *answers[1:])

    def test_a_missing_one_is_an_error_or_dropped(self, platform, query, answers):
        with pytest.raises(SiteError, match=r"site 0 \(no answer\)"):
            platform.combine(*answers[1:], query=query)
        drop = CollaborativeLARRegressor(bounds=(0, 1), on_site_error="drop").fit(X, Y, sites=SITES)
        with pytest.warns(SiteWarning, match="site 0") as caught:
            found = drop.combine(*answers[1:], query=query)
        assert caught[0].filename == __file__
        others = CollaborativeLARRegressor.from_sites(sites_of(drop)[1:], bounds=(0, 1))
        np.testing.assert_allclose(found, others.predict(ASKED), atol=1e-12)

    def test_every_damaged_byte(self, platform, query, answers):
        rng = np.random.default_rng(0)
        for message, read in ((query, platform.site(0).answer), (answers[0], platform.combine)):
            for position in rng.integers(len(message), size=200):
                broken = bytearray(message)
                broken[position] ^= 1 << rng.integers(8)
                try:
                    read(bytes(broken))
                except (ConsentError, SiteError):
                    continue
                # Names and numbers in the header are not sealed: that is what a ConsentBox is for.
                assert position < 4 + int.from_bytes(message[:4], "little")

    @pytest.mark.parametrize(
        ("values", "match"),
        [
            (np.full((5, 1), np.inf), "infinite"),
            (np.zeros((5, 2)), "does not hold one finite value"),
            (np.zeros((4, 1)), "not of this query"),
        ],
    )
    def test_those_of_other_shapes_or_no_numbers(self, platform, query, answers, values, match):
        good = Answer.from_bytes(answers[0])
        forged = Answer(good.query_id, good.site, good.n_samples, values, good.asked).to_bytes()
        with pytest.raises(ConsentError, match=match):
            platform.combine(forged, query=query)
        if match != "infinite":
            with pytest.raises(ConsentError, match="not of one shape"):
                platform.combine(forged, *answers[1:], query=query)


class TestBuiltFromSites:
    sites = [
        CollaborativeSite(str(j), LinearRegression().fit(X[own], Y[own]), own.sum())
        for j, own in enumerate(j == SITES for j in range(M))
    ]

    def test_the_risks_and_the_seed_are_those_of_a_fit(self):
        first, second = (CollaborativeRegressor.from_sites(self.sites, random_state=5) for _ in range(2))
        assert len(first.disclosure_risk_) == 1
        np.testing.assert_array_equal(first.observe(ASKED), second.observe(ASKED))
        assert first.aggregator_.random_state is not None
        np.testing.assert_array_equal(first.aggregator_.party_sizes, np.bincount(SITES))

    def test_a_fitted_perturber_is_used_as_it_is(self):
        perturber = TQMATransformer(2, (0, 1), [0]).fit(X)
        platform = CollaborativeRegressor.from_sites(cards_of(self.sites), query_perturber=perturber)
        assert platform.query_perturber_ is perturber
        assert not hasattr(platform, "feature_names_in_")

    def test_a_perturber_finds_its_columns_again(self):
        # Or a quasi-identifier would leave as it is.
        perturber = TQMATransformer(4, (0, 1), ["age"]).fit(FRAME)
        for sites in (self.sites, cards_of(self.sites)):
            here = CollaborativeRegressor.from_sites(sites, query_perturber=perturber)
            sent = Query.from_bytes(here.ask(FRAME_ASKED)).X
            np.testing.assert_array_equal(sent, perturber.transform(FRAME_ASKED))
            with pytest.raises(ValueError, match="same order"):
                here.ask(FRAME_ASKED[["weight", "age", "dose"]])
        # The models were fitted to arrays, and are asked in the order of theirs.
        expected = CollaborativeRegressor.from_sites(self.sites).predict(
            perturber.transform(FRAME_ASKED).to_numpy()
        )
        np.testing.assert_allclose(by_messages(here, FRAME_ASKED, self.sites), expected)

    def test_a_secure_sum_of_open_messages_is_announced(self):
        pytest.importorskip("cryptography")
        with pytest.warns(DisclosureWarning, match="in the open") as caught:
            CollaborativeRegressor.from_sites(cards_of(self.sites), aggregator=SecureSumAggregator())
        assert caught[0].filename == __file__
        CollaborativeRegressor.from_sites(self.sites, aggregator=SecureSumAggregator())

    def test_sites_as_tuples(self):
        model = LinearRegression().fit(X, Y)
        platform = CollaborativeRegressor.from_sites((f"s{j}", model, 10 + j) for j in range(M))
        assert platform.sites_ == [f"s{j}" for j in range(M)]
        np.testing.assert_array_equal(platform.site_sizes_, np.arange(10, 10 + M))
        np.testing.assert_allclose(platform.predict(ASKED), model.predict(ASKED))


class TestBinding:
    """An answer is to the rows, the names and the roster of its query."""

    sites = TestBuiltFromSites.sites

    @pytest.mark.parametrize("change", [{"X": ASKED[::-1]}, {"names": tuple(NAMES)}, {"roster": bytes(32)}])
    def test_one_site_asked_something_else_under_one_id(self, change):
        platform = CollaborativeRegressor.from_sites(cards_of(self.sites))
        sent = Query.from_bytes(platform.ask(ASKED))
        fields = {"query_id": sent.query_id, "X": sent.X, "names": sent.names, "roster": sent.roster}
        forged = Query(**fields | change).to_bytes()
        found = [site.answer(forged if site.name == "3" else sent.to_bytes()) for site in self.sites]
        for query in (None, sent.to_bytes(), forged):
            with pytest.raises(ConsentError, match=r"asked other rows|made for other sites"):
                platform.combine(*found, query=query)

    def test_a_query_of_another_roster(self):
        query = CollaborativeRegressor.from_sites(cards_of(self.sites[:-1])).ask(ASKED)
        platform = CollaborativeRegressor.from_sites(cards_of(self.sites))
        with pytest.raises(ConsentError, match="made for other sites"):
            platform.combine(*(site.answer(query) for site in self.sites), query=query)

    def test_it_does_not_stop_differencing(self):
        # Two rosters, rows a billionth apart: both open as they should, and their difference is the answer.
        sizes, sums = [site.n_samples for site in self.sites], []
        for sites, rows in ((self.sites, ASKED), (self.sites[1:], ASKED + 1e-9)):
            platform = CollaborativeRegressor.from_sites(cards_of(sites))
            sums.append(platform.site_sizes_.sum() * by_messages(platform, rows, sites))
        own = self.sites[0].respond(ASKED)
        np.testing.assert_allclose((sums[0] - sums[1]) / sizes[0], np.ravel(own), atol=1e-5)
