# SPDX-License-Identifier: BSD-3-Clause
"""Everything that aggregators, platforms, sites and protocols refuse; no message repeats a value."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skprivate import TQMATransformer
from skprivate.collaborative import (
    BSTDAggregator,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    CollaborativeSite,
    ConsentBox,
    LocalAverageRegressor,
    MaskedSum,
    SecureSumAggregator,
    SiteKey,
)
from skprivate.collaborative._local_average.regressor import MODELS, UNIT_RANGE
from skprivate.collaborative._protocols.mask_kernels import mask_rows
from skprivate.collaborative._protocols.messages import Answer, Query, SiteCard, make_query
from skprivate.exceptions import ConsentError
from tests.collaborative.conftest import (
    ANSWER,
    CARD,
    ID,
    QUERY,
    READERS,
    TABLE,
    forged,
    headed,
    header,
    numbers,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::skprivate.exceptions.DisclosureWarning"),
    pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning"),
]
UNIT = np.ascontiguousarray(np.broadcast_to(UNIT_RANGE, (4, 2)))
SECRET, LARGE = "Miss Marple", 1.23456e33
X = np.random.default_rng(0).uniform(size=(48, 2))
Y, SITES = X.sum(axis=1), np.arange(48) % 12
LABELS = np.where(Y > 1, "high", "low")
LINEAR, LOGISTIC = LinearRegression().fit(X, Y), LogisticRegression().fit(X, LABELS)
FRAME = pd.DataFrame(X, columns=["age", "dose"])


def rows(what, call, *cases, error=ValueError):
    """One row of the table a case: what `call` is given, the message, and the error if it is another one."""
    for given, match, *other in cases:
        yield pytest.param(partial(call, given), *(other or [error]), match, id=f"{what}: {match}")


# ------------------------------------------------------------------ what each row calls
@cache
def platform():
    return CollaborativeRegressor(LocalAverageRegressor(bandwidth=0.2)).fit(X, Y, sites=SITES)


@cache
def pair(kind):
    """A protocol of three members, their keys, and that of the receiver."""
    return kind.simulate(["north", "south", "west"])


def swapping(parameters, y=None):
    BSTDAggregator(**parameters).fit(np.ones((3, 20)), y)


def summing(parameters, y=None):
    SecureSumAggregator(**parameters).fit(np.ones((3, 3)), y)


def ask_aggregator(aggregator_and_answers):
    aggregator, answers = aggregator_and_answers
    aggregator.fit(np.ones((3, 3))).predict(answers)


def local_average(parameters):
    LocalAverageRegressor(**parameters).fit(X, Y)


def ask_local_average(queries):
    LocalAverageRegressor().fit(X, Y).predict(queries)


def fit_local_average(rows_and_targets):
    LocalAverageRegressor().fit(*rows_and_targets)


def fit(estimator, x=X, y=Y, sites=SITES):
    estimator.fit(x, y, sites=sites)


def from_sites(sites, kind=CollaborativeRegressor, **parameters):
    kind.from_sites(sites, **parameters)


def site(parameters):
    CollaborativeSite(**{"name": "a", "estimator": LINEAR, "n_samples": 40, **parameters})


class Odd(BaseEstimator):
    """A model with an answer of its own."""

    def __init__(self, answer=None):
        self.answer = answer

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.answer

    predict_proba = predict


class OddRegressor(RegressorMixin, Odd): ...


class OddClassifier(ClassifierMixin, Odd): ...


def odd_site(model):
    CollaborativeSite("a", model.fit(X[:2], [0, 1]), 2).respond(X[:2])


def mask(values, sizes=1.0):
    roster, keys, _ = pair(MaskedSum)
    roster.mask("north", keys["north"], roster.new_query([[1.0]]), values, sizes)


def seal(values):
    roster, keys, _ = pair(ConsentBox)
    roster.seal("north", keys["north"], roster.new_query([[1.0]]), values)


def protocol(members, receiver=b"\1" * 32):
    for kind in (MaskedSum, ConsentBox):
        kind({"north": b"\2" * 32, "south": b"\3" * 32} | members, receiver)


def buffers(sizes):
    shape, n_masks, n_out = sizes
    mask_rows(np.zeros(shape, dtype=np.int64), bytes(n_masks), 0, bytearray(n_out))


def read(message):
    """Read a message as what its header says; what has none as a query."""
    text = bytes(message[:200]) if isinstance(message, bytes) else b""
    kind = Answer if b"skprivate-answer" in text else SiteCard if b"skprivate-site" in text else Query
    kind.from_bytes(message)


def send(parameters):
    Query(**{"query_id": ID, "X": np.ones((1, 2)), **parameters}).to_bytes()


HOLES = np.array([[1.0, np.nan, 1.0]])
DATES = np.array([["2020-01-01", "NaT"]], dtype="datetime64[ns]")
CELLS = np.array([[None, None]], dtype=object)
CELLS[0, 0] = DATES[0, 0]

TABLE_OF_REFUSALS = [
    *rows("swapping", swapping,
        ({"p_lower": 0}, "p_lower"),
        ({"p_lower": 2.0}, "p_lower"),
        ({"p_upper": "8"}, "p_upper"),
        ({"p_lower": 8}, "p_lower must be below p_upper, got 8 and 8"),
        ({"order": "best"}, "order"),
        ({"active_rule": "both"}, "active_rule"),
        ({"party_sizes": [1, 2]}, "party_sizes.* shape"),
        ({"party_sizes": np.zeros(20)}, "party_sizes.* greater than 0"),
        ({"party_sizes": np.full(20, np.nan)}, "party_sizes.* finite"),
        ({"party_sizes": np.full(20, 1e308)}, "party_sizes.* sum"),
        ({"party_sizes": [SECRET] * 20}, "party_sizes.* numbers", TypeError),
        ({"random_state": "dice"}, "random_state"),
    ),
    *rows("summing", summing,
        ({"active_rule": "receiver"}, "active_rule"),
        ({"party_sizes": [1, 2]}, "party_sizes"),
    ),
    *(row for call in (swapping, summing) for row in rows("target", partial(call, {}),
        ([SECRET] * 3, "y must hold numbers"),
        ([1.0, np.nan, 2.0], "y contains NaN"),
        ([[1.0, 2.0]] * 3, "y should be a 1d array"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
    )),
    *rows("missing answer", lambda aggregator: aggregator.fit(HOLES),
        *((BSTDAggregator(1, 2, active_rule=rule), "NaN") for rule in ("box", "receiver", None)),
        (SecureSumAggregator(active_rule="box"), "NaN"),
    ),
    *rows("infinite answer", lambda aggregator: aggregator.fit([[1.0, np.inf, 1.0]]),
        (BSTDAggregator(1, 2), "infinity"),
        (SecureSumAggregator(), "infinity"),
    ),
    *rows("answers", ask_aggregator,
        ((BSTDAggregator(1, 2), np.ones((3, 4))), "expecting 3 features"),
        ((SecureSumAggregator(party_sizes=[1, 2, 3]), np.ones((3, 4))), "expecting 3 features"),
        ((SecureSumAggregator(), [[1.0, LARGE, 1.0]]), r"below 2\^100"),
    ),
    *rows("transform", lambda answers: BSTDAggregator(1, 2).fit(np.ones((3, 3))).transform(answers),
        (np.ones((3, 4)), "expecting 3 features"),
    ),
    *rows("columns of a kernel", lambda kind: kind(X, Y, [1]).averages(np.zeros((1, 3)), UNIT),
        *((kind, "^$") for kind in MODELS.values()),
    ),
    *rows("local average", local_average,
        *(({"bandwidth": value}, "bandwidth") for value in (0, np.nan, np.inf, "auto")),
        *(({"n_neighbors": value}, "n_neighbors") for value in (0, 2.5, "auto")),
        ({"kernel": "cosine"}, "kernel"),
        ({"refine_to": 0}, "refine_to"),
        ({"refine_to": 47}, r"refine_to must be at least[^\d]*$"),
        ({"n_jobs": 1.5}, "n_jobs"),
        ({"bounds": (1, 0)}, "bounds|above|below"),
        ({"bounds": ([0, 0, 0], [1, 1, 1])}, "bounds"),
    ),
    *rows("rows of a local average", fit_local_average,
        (([[np.nan, 1.0]], [1.0]), "NaN"),
        (([[0.0, 1.0]], [np.nan]), "NaN"),
        (([[SECRET]], [1.0]), "X holds text"),
    ),
    *rows("query of a local average", ask_local_average,
        (np.zeros((2, 3)), "features"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros(2), "2D"),
        ([[np.nan, 1.0]], "NaN"),
    ),
    *rows("before fit", lambda call: call(), *((call, "not fitted") for call in (
        partial(LocalAverageRegressor().predict, X),
        partial(CollaborativeRegressor().observe, X),
        partial(CollaborativeSite, "a", LinearRegression(), 40),
    )), error=NotFittedError),
    *rows("parameters of parts", fit,
        (CollaborativeLARRegressor(p_lower=0, bounds=(0, 1)), "The 'p_lower' parameter"),
        (CollaborativeLARRegressor(active_rule="boxes", bounds=(0, 1)), "The 'active_rule' parameter"),
        (CollaborativeLARRegressor(kernel="round", bounds=(0, 1)), "The 'kernel' parameter"),
        (CollaborativeLARRegressor(bandwidth=0, bounds=(0, 1)), "The 'bandwidth' parameter"),
        (CollaborativeLARRegressor(depth=1.5, bounds=(0, 1)), "The 'depth' parameter"),
        (CollaborativeRegressor(aggregator=BSTDAggregator(p_lower=1.5)), "The 'p_lower' parameter"),
        (CollaborativeRegressor(KNeighborsRegressor(-3)), "The 'n_neighbors' parameter"),
        (CollaborativeRegressor({0: LINEAR}), "no model for site 1"),
    ),
    *rows("parameters of parts", partial(fit, y=LABELS),
        (CollaborativeClassifier({0: LOGISTIC}), "no model for site 1"),
    ),
    *rows("parts", fit,
        (CollaborativeRegressor("tree"), "estimator must be .* with fit and predict; got str"),
        (CollaborativeRegressor({0: StandardScaler()}), "estimator must be .*; got StandardScaler"),
        (CollaborativeRegressor(KNeighborsRegressor), "not a class.*; got KNeighborsRegressor"),
        (CollaborativeRegressor(LOGISTIC), "estimator must be a regressor"),
        (CollaborativeRegressor(query_perturber=LINEAR), "query_perturber must be .* with fit and transform"),
        (CollaborativeRegressor(aggregator=TQMATransformer()), "aggregator must be .* with fit and predict"),
        *((CollaborativeClassifier(model), r"estimator must be .* with fit and predict_proba") for model in (
            LocalAverageRegressor(), LinearSVC(), {0: "tree"}
        )),
        error=TypeError,
    ),
    *rows("sites", lambda sites: fit(CollaborativeRegressor(), sites=sites),
        ([0, 1], "shape"),
        (np.arange(48.0), "strings or integers", TypeError),
        ([None] * 48, "strings or integers", TypeError),
        (["a"] * 24 + [1] * 24, "one type", TypeError),
    ),
    *rows("target of a platform", lambda y: fit(CollaborativeRegressor(LINEAR, on_site_error="drop"), y=y),
        (np.where(SITES == 3, np.nan, Y), "Input y contains NaN"),
    ),
    *rows("queries", lambda queries: platform().predict(queries),
        (X[:, :1], "1 features"),
        (X[:0], "0 sample"),
        ([[SECRET, 1.0]], "could not convert"),
    ),
    *rows("masked query", lambda queries: platform().ask(queries),
        (np.ma.array([[0.5, 0.5]], mask=[[True, False]]), "masked array"),
    ),
    *rows("text", lambda method: method([[SECRET, 1.0]]), *(
        (lambda asked, name=name: getattr(platform(), name)(asked), "could not convert")
        for name in ("observe", "site_responses", "ask")
    )),
    *rows("unknown site", lambda name: platform().site(name), (99, "no site 99")),
    *rows("observe", lambda aggregator: CollaborativeRegressor(LINEAR, None, aggregator).fit(
        X, Y, sites=SITES).observe(X), (SecureSumAggregator(), "opens no answer"), error=TypeError),
    *rows("dates", lambda asked: CollaborativeRegressor(LINEAR).fit(FRAME, Y, sites=SITES).ask(asked),
        (pd.DataFrame({"age": pd.Timestamp("2020-01-01"), "dose": X[:, 0]}), "holds dates", TypeError),
        (FRAME[:0], "0 sample"),
    ),
    *rows("from_sites", from_sites,
        ([], "at least one, and each must have its own name"),
        ([("a", LINEAR, 10), ("a", LINEAR, 20)], "at least one, and each must have its own name"),
        ([("a", LINEAR, 10), ("b", LinearRegression().fit(X[:, :1], Y), 10)], "same number of features"),
        ([3], "not int", TypeError),
        ([("a", LOGISTIC, 10)], "classes"),
    ),
    *rows("from_sites of a classifier", partial(from_sites, kind=CollaborativeClassifier),
        ([("a", LINEAR, 10)], "classes"),
        ([("a", LOGISTIC, 10), ("b", LOGISTIC, 10, ["high", "low", "x"])], "the same classes"),
    ),
    *rows("perturber", lambda perturber: from_sites([("a", LINEAR, 10)], query_perturber=perturber),
        (TQMATransformer(), "declared bounds"),
        (TQMATransformer(4, (0, 1), [0]).fit(np.zeros((1, 1))), "fitted to 1 columns, the sites to 2"),
        (TQMATransformer(4, (0, 1), [2]).fit(np.zeros((1, 3))), "fitted to 3 columns, the sites to 2"),
    ),
    *rows("site", site,
        ({"n_samples": 0}, "n_samples"),
        ({"n_samples": 1.5}, "n_samples", TypeError),
        ({"name": ""}, "needs a name"),
        ({"name": "\ud800"}, "lone surrogates"),
        ({"columns": ["age"]}, "as many as the columns"),
        ({"columns": ["age", "age"]}, "all different"),
        ({"columns": ["age", "\ud800"]}, "surrogates"),
        ({"columns": "ab"}, "a list of names", TypeError),
        ({"columns": ["age", 1]}, "a list of names", TypeError),
        ({"estimator": LinearRegression().fit(FRAME, Y), "columns": ["dose", "age"]},
         "not those that the model was fitted to: column 0 is 'dose'"),
    ),
    *rows("classes of a site", lambda classes: CollaborativeSite("a", LOGISTIC, 48, classes).respond(X),
        (["high", "x"], "not among those of the collaboration"),
    ),
    *rows("answer of a site", odd_site,
        (OddRegressor(np.zeros(3)), "another number of values"),
        (OddRegressor(np.array([0.0, np.nan])), "not finite"),
        (OddClassifier(np.full((2, 3), 1 / 3)), "another number of values"),
        (OddClassifier(np.array([[0.5, 0.5], [np.nan, 1.0]])), "not finite"),
    ),
    *rows("private key", SiteKey.from_bytes,
        *((key, r"a private key is 32 bytes") for key in (bytes(31), "x" * 32, None)),
    ),
    *rows("public key", lambda public: SiteKey.generate().agree(public, b"purpose"),
        *((public, "not usable") for public in (bytes(31), "text" * 8, None)),
        error=ConsentError,
    ),
    *rows("members", protocol,
        ({"north": None}, "32 bytes"),
        ({"north": "x" * 32}, "32 bytes"),
        ({"": bytes(32)}, "not empty", TypeError),
        ({3: bytes(32)}, "strings", TypeError),
        ({"nor\ud800th": bytes(32)}, "lone surrogates"),
        ({"west": b"\2" * 32}, "a key of its own"),
        ({"west": b"\1" * 32}, "a key of its own"),
        # The highest bit of a key is not read: it is the same key.
        ({"west": b"\2" * 31 + b"\x82"}, "a key of its own"),
    ),
    *(row for kind in (MaskedSum, ConsentBox) for row in (
        *rows("nobody", lambda members, kind=kind: kind(members, b"\1" * 32),
            *((members, "at least one") for members in ({}, None, ["north"])),
        ),
        *rows("twice", kind.simulate, (["a", "b", "a"], "a name of its own")),
    )),
    *rows("masked numbers", mask,
        ([2.0**100], r"^values must be finite and below 2\^100"),
        ([-LARGE], r"below 2\^100"),
        ([np.nan], "^values must be finite"),
        ([1.0, 2.0], "as many as the query has rows"),
        ([[1.0]], "one-dimensional"),
        (1.0, "one-dimensional"),
        ([SECRET], "real numbers", TypeError),
    ),
    *rows("masked sizes", partial(mask, [1.0]),
        (np.inf, "^sizes must be finite"),
        (-1, "negative"),
        ([1, 2], "one per query"),
        (SECRET, "real numbers", TypeError),
    ),
    *rows("sealed numbers", seal,
        ([[SECRET]], "real numbers", TypeError),
        ([1j], "real numbers", TypeError),
        (None, "real numbers", TypeError),
        ([[1.0]], "one-dimensional"),
    ),
    *rows("buffers", buffers,
        *((sizes, "^$") for sizes in (
            ((2, 16), 127, 128), ((2, 16), 192, 128), ((2, 16), 0, 64), ((2, 8), 0, 128), ((0, 16), 0, 0)
        )),
    ),
    *rows("no query", send,
        ({"X": np.array([[np.nan, 1.0]])}, "finite"),
        ({"X": np.array([[float("inf")]], dtype=object)}, "infinite"),
        ({"X": np.array([["\ud800"]], dtype=object)}, "surrogate"),
        ({"names": ("a", "a")}, "all different"),
        ({"names": ("a",)}, "as many as"),
        ({"names": ("a", "\udc00")}, "surrogate"),
        ({"X": np.ones((0, 2))}, "at least one row"),
        ({"X": np.ones((1, 0))}, "at least one row"),
        ({"X": np.array([[1j]], dtype=object)}, "numbers, strings and booleans", TypeError),
        # In nanoseconds numpy's tolist and item give whole numbers, and None for NaT.
        ({"X": DATES}, "numbers, strings and booleans", TypeError),
        ({"X": DATES - DATES}, "numbers, strings and booleans", TypeError),
        ({"X": CELLS}, "numbers, strings and booleans", TypeError),
    ),
    *rows("rows to ask", make_query,
        (np.ma.array([[1.0, 2.0]], mask=[[True, False]]), "a query must not be a masked array"),
        ([1.0], "two-dimensional"),
    ),
    *rows("query", read,
        (forged(QUERY, shape=[4]), "two positive whole numbers"),
        (forged(QUERY, shape=[0, 2], body=b""), "two positive whole numbers"),
        (forged(QUERY, shape=[2, True]), "another kind"),
        (forged(QUERY, shape=[3, 2]), "do not fill"),
        (forged(QUERY, shape=[1, 2**62], body=b""), "do not fill"),
        (forged(QUERY, names=["a"]), "as many as the columns"),
        (forged(QUERY, names=["a", "a"]), "all different"),
        (forged(QUERY, names=3), "another kind"),
        (forged(QUERY, names=["a", "b\ud800"]), "surrogate"),
        (forged(QUERY, id="no hexadecimal number, but 32 ch"), "damaged"),
        (forged(QUERY, id=None), "bytes in lower-case"),
        (forged(QUERY, id="0A" * 16), "bytes in lower-case"),
        (forged(QUERY, roster="00"), "bytes in lower-case"),
        (forged(QUERY, body=numbers(1, np.nan, 2, 3)), "finite"),
        (forged(QUERY, body=numbers(1, 2, 3, 4) + b"\0"), "no sequence of numbers"),
        (forged(QUERY, more=1), "not a skprivate-query"),
        *((forged(message, version=1), "version 1, and .* reads 3") for message in READERS),
        *((message[:-1], "not the one that was sent|cut short") for message in (QUERY, ANSWER)),
        *((message[:-1], "cut short") for message in (TABLE, CARD)),
        *((message + b"\0", "not the one that was sent") for message in READERS),
        # An allocation of so many bytes, if it were taken for a number of them.
        (2**50, "not bytes"),
        (None, "not bytes"),
        (b"\x02\0\0\0\xff\xff", "not JSON"),
        error=ConsentError,
    ),
    *rows("table", read,
        (forged(TABLE, table=[["x", None], [{"a": 1}, True]]), "another kind"),
        (forged(TABLE, table=[["x", None]] * 3), "cells do not fill"),
        (forged(TABLE, table=[["x"], ["y"]]), "cells do not fill"),
        (forged(TABLE, shape=[2**40, 2**40]), "cells do not fill"),
        (forged(TABLE, body=numbers(1)), "followed by numbers"),
        (forged(TABLE, table=[["\udfff", None], ["y", True]]), "surrogate"),
        (forged(TABLE, table=[["x", 2**1024], ["y", True]]), "beyond what a double holds"),
        (headed(header(TABLE).replace(b"true", b"1e999")), "The message is"),
        (headed(header(TABLE).replace(b"true", b"1.50")), "not in the one form"),
        (headed(header(TABLE).replace(b"true", b"9" * 5000)), "The message is"),
        (headed(header(TABLE).replace(b'{"format"', b'{"names":["a","b"],"format"')), "The message is"),
        (headed(header(TABLE) + b" "), "not in the one form"),
        (headed(b"[" * 100_000), "The message is"),
        (headed(header(TABLE).replace(b"true", b"[" * 900 + b"]" * 900)), "The message is"),
        error=ConsentError,
    ),
    *rows("answer", read,
        *((forged(ANSWER, n_samples=value), "positive whole numbers") for value in (0, 2**60, True)),
        (forged(ANSWER, site=""), "a site has a name"),
        (forged(ANSWER, asked="00"), "bytes in lower-case"),
        (forged(ANSWER, shape=[10**30, 1]), "do not fill"),
        (forged(ANSWER, body=numbers(1, np.inf)), "infinite"),
        error=ConsentError,
    ),
    *rows("card", read,
        (forged(CARD, n_samples=0), "positive whole numbers"),
        (forged(CARD, n_features=2**50), "positive whole numbers"),
        (forged(CARD, refined_to=-1), "positive whole numbers"),
        (forged(CARD, site=None), "a site has a name"),
        (forged(CARD, classes=["high", "high"]), "all different"),
        (forged(CARD, classes=[1, True]), "all different"),
        (forged(CARD, classes=[1, "1"]), "all text or all numbers"),
        (forged(CARD, classes=[]), "at least one"),
        (forged(CARD, classes=[["high"]]), "another kind"),
        (forged(CARD, columns=["age"]), "as many as"),
        (forged(CARD, columns="as"), "another kind"),
        (forged(CARD, body=numbers(1)), "no values"),
        error=ConsentError,
    ),
    *rows("message of another kind", Query.from_bytes, (ANSWER, "not a skprivate-query"), error=ConsentError),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "match"), TABLE_OF_REFUSALS)
def test_refusals(call, error, match):
    with np.errstate(over="ignore"), pytest.raises(error, match=match) as caught:
        call()
    assert "Marple" not in str(caught.value)
    assert "23456" not in str(caught.value)
