# SPDX-License-Identifier: BSD-3-Clause
"""SecureSumAggregator: the box rule's predictions, keys that stay, scikit-learn's checks."""

import pickle
import pickletools
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.utils import estimator_html_repr

from skprivate import SecureSumAggregator
from skprivate.collaborative import _aggregators
from skprivate.exceptions import DisclosureWarning


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
