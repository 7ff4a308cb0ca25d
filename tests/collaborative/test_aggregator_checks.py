# SPDX-License-Identifier: BSD-3-Clause
"""What the aggregator of swapped answers takes: missing answers only where the rule says so."""

import numpy as np
import pytest
from sklearn.utils import get_tags

from skprivate.collaborative import BSTDAggregator


@pytest.mark.parametrize("rule", ["box", "support", "receiver", None])
def test_tags(rule):
    tags = get_tags(BSTDAggregator(active_rule=rule))
    assert not tags.target_tags.required
    assert tags.input_tags.allow_nan == (rule == "support")


def test_an_answer_is_missing_only_where_the_rule_is_support():
    X = np.ones((3, 10))
    X[1, 4] = np.nan
    assert BSTDAggregator(active_rule="support").fit(X).predict(X).tolist() == [1.0, 1.0, 1.0]
    for rule in ("box", "receiver", None):
        with pytest.raises(ValueError, match="contains NaN"):
            BSTDAggregator(active_rule=rule).fit(X)
