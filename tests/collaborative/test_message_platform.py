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
from skprivate.collaborative._protocols.messages import Answer, Query, SiteCard, _pack
from skprivate.datasets import make_parties
from skprivate.exceptions import ConsentError, DisclosureWarning, SiteError, SiteWarning

M = 12
X, Y, SITES = make_parties(1200, M, n_features=3, random_state=0)
ASKED = make_parties(5, 1, n_features=3, random_state=1)[0]


@pytest.fixture(scope="module")
def platform():
    return CollaborativeLARRegressor(bounds=(0, 1)).fit(X, Y, sites=SITES)


@pytest.fixture(scope="module")
def query(platform):
    return platform.ask(ASKED)


@pytest.fixture(scope="module")
def answers(platform, query):
    return [platform.site(name).answer(query) for name in platform.sites_]


def test_messages_predict_what_the_process_predicts(platform, query, answers):
    np.testing.assert_array_equal(platform.combine(*answers, query=query), platform.predict(ASKED))
    np.testing.assert_array_equal(platform.combine(*answers[::-1]), platform.predict(ASKED))


def test_a_query_carries_no_value_of_the_asker(platform, query):
    sent = Query.from_bytes(query).X
    np.testing.assert_array_equal(sent, platform.query_perturber_.transform(ASKED))
    assert not np.isin(sent, ASKED).any()
    assert platform.ask(ASKED) != query


def test_a_platform_that_holds_no_model(platform):
    sites = [
        CollaborativeSite(f"h{j}", platform.estimators_[j], platform.site_sizes_[j]) for j in platform.sites_
    ]
    remote = CollaborativeLARRegressor.from_sites([site.announce() for site in sites], bounds=(0, 1))
    assert remote.estimators_ == {}
    query = remote.ask(ASKED)
    found = remote.combine(*(site.answer(query) for site in sites), query=query)
    np.testing.assert_array_equal(found, platform.predict(ASKED))
    with pytest.raises(SiteError, match="use ask and combine"):
        remote.predict(ASKED)
    here = CollaborativeLARRegressor.from_sites(sites, bounds=(0, 1))
    np.testing.assert_array_equal(here.predict(ASKED), platform.predict(ASKED))


def test_sites_that_do_not_fit_each_other():
    model = LinearRegression().fit(X, Y)
    first, second = CollaborativeSite("a", model, 10), CollaborativeSite("a", model, 20)
    narrow = CollaborativeSite("b", LinearRegression().fit(X[:, :2], Y), 10)
    for sites in ([], [first, second]):
        with pytest.raises(ValueError, match="at least one, and each must have its own name"):
            CollaborativeRegressor.from_sites(sites)
    with pytest.raises(ValueError, match="same number of features"):
        CollaborativeRegressor.from_sites([first, narrow])
    labelled = LogisticRegression().fit(X, Y > 0.3)
    other = [CollaborativeSite("c", labelled, 10), CollaborativeSite("d", labelled, 10, [False, True, 2])]
    with pytest.raises(ValueError, match="the same classes"):
        CollaborativeClassifier.from_sites(other)
    with pytest.raises(TypeError, match="not int"):
        CollaborativeRegressor.from_sites([3])
    with pytest.raises(ValueError, match="declared bounds"):
        CollaborativeRegressor.from_sites([first], query_perturber=TQMATransformer())


class TestRefusals:
    def test_an_answer_to_another_query(self, platform, query, answers):
        other = platform.site(0).answer(platform.ask(ASKED))
        with pytest.raises(ConsentError, match="not of this query"):
            platform.combine(other, *answers[1:], query=query)
        with pytest.raises(ConsentError, match="not of this query"):
            platform.combine(*answers, query=platform.ask(ASKED))
        with pytest.raises(ConsentError, match="not of this query"):
            platform.combine(other, *answers[1:])

    def test_an_answer_twice_or_of_a_stranger(self, platform, query, answers):
        stranger = CollaborativeSite("x", platform.estimators_[0], 100).answer(query)
        for extra, name in ((answers[0], "0"), (stranger, "x")):
            with pytest.raises(ConsentError, match=f"site '{name}', which is unknown here or has answered"):
                platform.combine(*answers, extra)

    def test_a_site_that_claims_more_weight(self, platform, query, answers):
        heavy = CollaborativeSite("0", platform.estimators_[0], 10**6).answer(query)
        with pytest.raises(ConsentError, match="site '0' states another number of rows"):
            platform.combine(heavy, *answers[1:])

    def test_a_missing_answer(self, platform, query, answers):
        with pytest.raises(SiteError, match=r"site 0 \(no answer\)"):
            platform.combine(*answers[1:], query=query)
        drop = CollaborativeLARRegressor(bounds=(0, 1), on_site_error="drop").fit(X, Y, sites=SITES)
        with pytest.warns(SiteWarning, match="site 0") as caught:
            found = drop.combine(*answers[1:], query=query)
        assert caught[0].filename == __file__
        kept = [drop.site(name) for name in drop.sites_[1:]]
        others = CollaborativeLARRegressor.from_sites(kept, bounds=(0, 1))
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

    @pytest.mark.parametrize("message", [b"", b"\xff" * 50, b"\x02\0\0\0{}", "text", None, 3.0])
    def test_what_is_no_message(self, message, platform):
        with pytest.raises(ConsentError):
            platform.combine(message)

    def test_values_that_are_no_answers(self, platform, query):
        good = Answer.from_bytes(platform.site(0).answer(query))
        for values in (np.full((5, 1), np.inf), np.zeros((5, 2)), np.zeros((4, 1))):
            forged = Answer(good.query_id, good.site, good.n_samples, values, good.asked).to_bytes()
            with pytest.raises(ConsentError):
                platform.combine(forged, query=query)

    @pytest.mark.parametrize(
        "changed",
        [
            {"shape": [10**30, 0]},
            {"shape": [10**12, 10**3], "table": [[1.0]]},
            {"shape": [2, 1], "table": [[1.0]]},
            {"shape": [1, 1], "table": [[1.0], [2.0]]},
            {"shape": [1, 2], "table": ["ab"]},
            {"shape": [0], "table": []},
            {"shape": [1, 1], "table": [[[1.0]]]},
            {"names": ["a", {}, "c"]},
            {"names": "abc"},
        ],
    )
    def test_a_query_that_is_not_what_it_says(self, changed):
        head = {"id": "00" * 16, "shape": [1, 3], "names": None, "table": None, "roster": ""}
        body = np.zeros(0 if "shape" in changed else 3)
        with pytest.raises(ConsentError, match="damaged"):
            Query.from_bytes(_pack("skprivate-query", head | changed, body))

    @pytest.mark.parametrize(
        "changed",
        [
            {"n_samples": 10**30},
            {"n_features": 0},
            {"classes": 5},
            {"classes": [[1]]},
            {"site": 1},
            {"columns": 5},
        ],
    )
    def test_an_announcement_that_is_none(self, changed):
        head = {"site": "a", "n_samples": 3, "n_features": 2, "classes": None, "refined_to": None}
        head["columns"] = None
        with pytest.raises(ConsentError, match="damaged"):
            SiteCard.from_bytes(_pack("skprivate-site", head | changed, np.zeros(0)))

    def test_an_answer_of_no_shape(self):
        head = {"id": "00" * 16, "site": "a", "n_samples": 3, "asked": "00" * 32, "shape": [10**30, 0]}
        with pytest.raises(ConsentError, match="damaged"):
            Answer.from_bytes(_pack("skprivate-answer", head, np.zeros(0)))

    def test_answers_of_two_shapes(self, platform, query, answers):
        good = Answer.from_bytes(answers[0])
        short = Answer(good.query_id, good.site, good.n_samples, good.values[1:], good.asked).to_bytes()
        with pytest.raises(ConsentError, match="not of one shape"):
            platform.combine(short, *answers[1:], query=query)

    def test_an_unknown_site(self, platform):
        with pytest.raises(ValueError, match="no site 99"):
            platform.site(99)


class TestAPerturberFittedElsewhere:
    """Its columns must be found again, or a quasi-identifier leaves as it is."""

    def sites(self, platform):
        return [platform.site(name) for name in platform.sites_]

    def test_columns_in_another_order(self, platform):
        frame = pd.DataFrame(X, columns=["age", "weight", "dose"])
        perturber = TQMATransformer(4, (0, 1), ["age"]).fit(frame)
        for sites in (self.sites(platform), [site.announce() for site in self.sites(platform)]):
            here = CollaborativeRegressor.from_sites(sites, query_perturber=perturber)
            sent = Query.from_bytes(here.ask(frame[:3])).X
            np.testing.assert_array_equal(sent, perturber.transform(frame[:3]))
            with pytest.raises(ValueError, match="same order"):
                here.ask(frame[["weight", "age", "dose"]][:3])

    @pytest.mark.parametrize("width", [2, 4])
    def test_another_number_of_columns(self, platform, width):
        perturber = TQMATransformer(4, (0, 1), [width - 1]).fit(np.zeros((1, width)))
        with pytest.raises(ValueError, match=f"fitted to {width} columns, the sites to 3"):
            CollaborativeRegressor.from_sites(self.sites(platform), query_perturber=perturber)


def test_a_secure_sum_of_open_messages_is_announced(platform):
    pytest.importorskip("cryptography")
    sites = [platform.site(name) for name in platform.sites_]
    with pytest.warns(DisclosureWarning, match="in the open") as caught:
        CollaborativeRegressor.from_sites(
            [site.announce() for site in sites], aggregator=SecureSumAggregator()
        )
    assert caught[0].filename == __file__
    CollaborativeRegressor.from_sites(sites, aggregator=SecureSumAggregator())


def test_no_support_travels_as_such():
    model = LocalAverageRegressor("epanechnikov", bandwidth=0.05, bounds=(0, 1)).fit(X, Y)
    site = CollaborativeSite("a", model, len(X))
    values = site.respond(ASKED)
    np.testing.assert_array_equal(np.isnan(values[:, 0]), ~model.support(ASKED))
    assert np.isnan(values).any()


def test_columns_with_text_travel():
    frame = pd.DataFrame(X, columns=["age", "weight", "dose"])
    frame["ward"] = np.where(X[:, 0] > 0.5, "north", "south")
    frame.loc[::3, "ward"] = None
    encode = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    perturber = TQMATransformer(4, {"age": (0, 1)}, ["age"])
    platform = CollaborativeRegressor(make_pipeline(encode, LinearRegression()), perturber)
    platform.fit(frame, Y, sites=SITES)
    query = platform.ask(frame[:5])
    found = platform.combine(*(platform.site(name).answer(query) for name in platform.sites_), query=query)
    np.testing.assert_allclose(found, platform.predict(frame[:5]), atol=1e-12)
    frame["when"] = pd.Timestamp("2020-01-01")
    with pytest.raises(TypeError, match="holds dates"):
        CollaborativeRegressor(make_pipeline(encode, LinearRegression())).fit(
            frame[["age", "ward"]], Y, sites=SITES
        ).ask(frame[["when", "ward"]].rename(columns={"when": "age"}))


def test_probabilities_travel():
    labels = np.where(Y > 0.3, "high", "low")
    platform = CollaborativeClassifier(LogisticRegression()).fit(X, labels, sites=SITES)
    sites = [platform.site(name) for name in platform.sites_]
    remote = CollaborativeClassifier.from_sites([site.announce() for site in sites])
    assert remote.classes_.tolist() == ["high", "low"]
    query = remote.ask(ASKED)
    found = remote.combine(*(site.answer(query) for site in sites), query=query)
    np.testing.assert_allclose(found, platform.predict_proba(ASKED), atol=1e-12)


def test_classes_in_any_order():
    labels = np.array(["a", "b", "c"])[(3 * X[:, 0]).astype(int)]
    model = LogisticRegression().fit(X, labels)
    found = CollaborativeSite("s", model, len(X), classes=["c", "x", "a", "b"]).respond(ASKED)
    np.testing.assert_array_equal(found[:, [2, 3, 0]], model.predict_proba(ASKED))
    assert not found[:, 1].any()
    with pytest.raises(ValueError, match="not among those of the collaboration"):
        CollaborativeSite("s", model, len(X), classes=["a", "b"]).respond(ASKED)


def test_repr_of_a_site_shows_no_value():
    site = CollaborativeSite("a", LocalAverageRegressor(bandwidth=0.1).fit(X, Y), len(X))
    assert repr(site) == "CollaborativeSite('a', LocalAverageRegressor, 1200 rows)"


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

    def test_a_fitted_perturber_is_used_as_it_is(self):
        perturber = TQMATransformer(2, (0, 1), [0]).fit(X)
        platform = CollaborativeRegressor.from_sites(self.sites, query_perturber=perturber)
        assert platform.query_perturber_ is perturber
        assert not hasattr(platform, "feature_names_in_")

    def test_weights_are_the_announced_numbers_of_rows(self):
        platform = CollaborativeRegressor.from_sites([site.announce() for site in self.sites])
        np.testing.assert_array_equal(platform.aggregator_.party_sizes, np.bincount(SITES))


def test_a_site_answers_for_all_classes_of_the_platform():
    labels = np.where(SITES < 3, "low", np.where(Y > 0.3, "high", "low"))
    platform = CollaborativeClassifier(LogisticRegression()).fit(X, labels, sites=SITES)
    assert platform.estimators_[0].classes_.tolist() == ["low"]
    np.testing.assert_array_equal(platform.site(0).respond(ASKED), [[0.0, 1.0]] * len(ASKED))


def test_names_of_columns_travel_with_coarsened_numbers():
    frame, asked = (pd.DataFrame(rows, columns=["age", "weight", "dose"]) for rows in (X, ASKED))
    for estimator in (LinearRegression(), LocalAverageRegressor(bounds=(0, 1))):
        platform = CollaborativeRegressor(estimator, TQMATransformer(4, (0, 1))).fit(frame, Y, sites=SITES)
        query = platform.ask(asked)
        assert Query.from_bytes(query).names == ("age", "weight", "dose")
        found = platform.combine(*(platform.site(name).answer(query) for name in platform.sites_))
        np.testing.assert_array_equal(found, platform.predict(asked))


def test_whole_numbers_and_truth_values_travel_as_numbers():
    platform = CollaborativeRegressor(LinearRegression()).fit(X, Y, sites=SITES)
    for table in (np.array([[0, 1, 1]]), np.array([[False, True, True]])):
        sent = Query.from_bytes(platform.ask(table)).X
        assert sent.dtype == np.float64
        np.testing.assert_array_equal(sent, [[0.0, 1.0, 1.0]])


def test_sites_as_tuples():
    model = LinearRegression().fit(X, Y)
    sites = [(f"s{j}", model, 10 + j) for j in range(M)]
    platform = CollaborativeRegressor.from_sites(iter(sites))
    assert platform.sites_ == [f"s{j}" for j in range(M)]
    np.testing.assert_array_equal(platform.site_sizes_, np.arange(10, 10 + M))
    np.testing.assert_allclose(platform.predict(ASKED), model.predict(ASKED))


def test_a_frame_s_query_reaches_models_that_were_fitted_on_arrays():
    sites = [(f"s{j}", LinearRegression().fit(X, Y), 100) for j in range(M)]
    frame = pd.DataFrame(ASKED, columns=["a", "b", "c"])
    perturber = TQMATransformer(bounds=(0, 1)).fit(frame)
    platform = CollaborativeRegressor.from_sites(sites, query_perturber=perturber)
    query = platform.ask(frame)
    answers = [CollaborativeSite(*site).answer(query) for site in sites]
    expected = sites[0][1].predict(perturber.transform(frame).to_numpy())
    np.testing.assert_allclose(platform.combine(*answers, query=query), expected)
