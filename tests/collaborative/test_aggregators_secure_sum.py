# SPDX-License-Identifier: BSD-3-Clause
"""SecureSumAggregator: the box rule's predictions, keys that stay, scikit-learn's checks."""

import copy
import pickle
import pickletools
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_html_repr

from skprivate import SecureSumAggregator
from skprivate.collaborative import _aggregators
from skprivate.exceptions import DisclosureWarning

RULES = ["box", "support", None]


def synthesis(responses, sizes, rule):
    """The mean over the active, in fractions."""
    sizes = [Fraction(float(size)) for size in sizes]
    n_rows = sum(sizes)
    predictions = []
    for row in responses:
        pairs = [(Fraction(value), size) for value, size in zip(row, sizes, strict=True) if value == value]
        if rule == "box":
            # The same comparison in floats as the rule's: a response on its very edge is not in these tests.
            pairs = [(value, size) for value, size in pairs if abs(value) * n_rows >= 1]
        weight = sum(size for _, size in pairs)
        predictions.append(float(sum(v * s for v, s in pairs) / weight) if weight else 0.0)
    return np.array(predictions)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "sizes", [None, np.arange(1, 21) * 37, np.random.default_rng(3).uniform(0.01, 5, 20)]
)
@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_predictions_are_the_rules_own(rule, sizes, unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 20)) * unit
    X[rng.uniform(size=X.shape) < 0.2] = np.nan if rule == "support" else 0.0
    X[0] = np.nan if rule == "support" else 0.0
    expected = synthesis(X, np.ones(20) if sizes is None else sizes, rule)
    predicted = SecureSumAggregator(party_sizes=sizes, active_rule=rule).fit(X).predict(X)
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9 * unit)
    # Far better than asked.
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-13 * unit)
    assert predicted[0] == 0.0


def test_the_unit_decides_who_is_active_under_the_box_rule_only():
    X = np.array([[0.4, 1.0, 1.6]])
    box = SecureSumAggregator(active_rule="box").fit(X)
    assert box.predict(X) == pytest.approx([1.0])
    assert box.predict(X / 2) == pytest.approx([0.65])
    assert box.predict(X / 1e4).tolist() == [0.0]
    for rule in (None, "support"):
        assert SecureSumAggregator(active_rule=rule).fit(X).predict(X / 1e4) == pytest.approx([1e-4])
    assert SecureSumAggregator().active_rule == "support"


def test_batch_and_rows_agree_bit_for_bit():
    X = np.random.default_rng(1).normal(size=(40, 7))
    aggregator = SecureSumAggregator(party_sizes=range(1, 8)).fit(X)
    rows = np.concatenate([aggregator.predict(row[np.newaxis]) for row in X])
    np.testing.assert_array_equal(aggregator.predict(X), rows)
    np.testing.assert_array_equal(aggregator._combine(X, warn=False), rows)
    np.testing.assert_array_equal(aggregator.predict(X[:, ::-1][:, ::-1]), rows)


def test_keys_are_in_no_repr_and_no_pickle():
    X = np.random.default_rng(2).normal(size=(5, 4))
    aggregator = SecureSumAggregator().fit(X)
    aggregator.predict(X)
    session = aggregator._session
    keys = [*session._keys.values(), session._platform_key]
    secrets = [
        *(key.to_bytes() for key in keys),
        *(secret for key in keys for secret in key._agreed.values()),
    ]
    assert len(secrets) > 20
    frozen = pickle.dumps(aggregator)
    assert not any(secret in frozen for secret in secrets)
    names = {arg for _, arg, _ in pickletools.genops(frozen) if isinstance(arg, str)}
    assert "_session" not in names
    shown = repr(aggregator) + str(vars(aggregator)) + estimator_html_repr(aggregator)
    assert not any(key.to_bytes().hex()[:8] in shown or repr(key.to_bytes()) in shown for key in keys)
    with pytest.raises(TypeError, match="holds keys"):
        pickle.dumps(session)


@pytest.mark.parametrize(
    "duplicate", [lambda fitted: pickle.loads(pickle.dumps(fitted)), copy.deepcopy, copy.copy]
)
def test_a_copy_makes_keys_of_its_own(duplicate):
    X = np.random.default_rng(2).normal(size=(5, 4))
    aggregator = SecureSumAggregator().fit(X)
    again = duplicate(aggregator)
    np.testing.assert_array_equal(again.predict(X), aggregator.predict(X))
    assert again._session is not aggregator._session
    mine, theirs = ({key.public for key in one._session._keys.values()} for one in (aggregator, again))
    assert not mine & theirs
    assert str(again.disclosure_risk_) == str(aggregator.disclosure_risk_)


def test_a_clone_and_a_new_fit_have_fresh_keys():
    X = np.ones((2, 3))
    aggregator = SecureSumAggregator().fit(X)
    first = aggregator._session
    assert not hasattr(clone(aggregator), "_session")
    assert aggregator.fit(X)._session is not first


def test_keys_are_made_anew_before_their_memory_grows(monkeypatch):
    monkeypatch.setattr(_aggregators, "_QUERIES_PER_SESSION", 3)
    X = np.ones((1, 3))
    aggregator = SecureSumAggregator().fit(X)
    sessions = []
    for _ in range(7):
        aggregator.predict(X)
        sessions.append(aggregator._session)
        assert all(len(key._memory.remembered) <= 6 for key in aggregator._session._keys.values())
    assert [sessions.index(session) for session in sessions] == [0, 0, 0, 3, 3, 3, 6]


def test_threads():
    X = np.random.default_rng(4).normal(size=(6, 5))
    aggregator = SecureSumAggregator().fit(X)
    expected = aggregator.predict(X)
    with ThreadPoolExecutor(4) as pool:
        for predicted in pool.map(aggregator.predict, [X] * 40):
            np.testing.assert_array_equal(predicted, expected)


def test_a_forked_process_makes_keys_of_its_own(monkeypatch):
    X = np.random.default_rng(4).normal(size=(6, 5))
    aggregator = SecureSumAggregator().fit(X)
    expected, session = aggregator.predict(X), aggregator._session
    monkeypatch.setattr(_aggregators.os, "getpid", lambda: -1)
    np.testing.assert_array_equal(aggregator.predict(X), expected)
    assert aggregator._session is not session


@pytest.mark.parametrize(("n_parties", "message"), [(1, "its answer"), (2, "the other's answer")])
def test_few_parties_are_warned_about_once_at_the_callers_line(n_parties, message):
    X = np.array([[1.0, 3.0]])[:, :n_parties]
    with pytest.warns(DisclosureWarning, match=message) as caught:
        aggregator = SecureSumAggregator().fit(X)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert aggregator.predict(X).tolist() == [np.mean(X)]
        assert pickle.loads(pickle.dumps(aggregator)).predict(X).tolist() == [np.mean(X)]


def test_the_risk_promises_nothing_for_one_party():
    with pytest.warns(DisclosureWarning):
        alone = SecureSumAggregator().fit([[1.0]]).disclosure_risk_
    assert not alone.bound
    assert "no bound is known" in str(alone)
    risk = SecureSumAggregator().fit(np.ones((1, 20))).disclosure_risk_
    assert dict(risk.bound) == {"each other party": 0.0}
    assert "up to 18 of the parties" in risk.attack
    assert "not differential privacy" in str(risk)
    assert "alone" in str(risk)
    assert pickle.loads(pickle.dumps(risk)) == risk
