# SPDX-License-Identifier: BSD-3-Clause
"""The score of record linkage against its definition, and what it is for swaps."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.metrics import _disclosure, record_linkage_score


def by_definition(responses, swapped):
    linked = []
    for a, b in zip(np.asarray(responses, float), np.asarray(swapped, float), strict=True):
        for i in range(len(a)):
            nearest = int(np.argmin(np.abs(b[i] - a)))
            others = [abs(b[i] - a[k]) for k in range(len(a)) if k != nearest]
            linked.append(abs(b[i] - a[i]) <= min(others, default=np.inf))
    return 100 * np.mean(linked)


# Few different values: ties of values and of distances.
small = st.integers(-3, 3).map(float)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 7).flatmap(
        lambda m: st.lists(st.tuples(*[st.tuples(small, small)] * m), min_size=1, max_size=6)
    )
)
def test_matches_the_definition(rows):
    table = np.array(rows)
    responses, swapped = table[..., 0], table[..., 1] / 2
    assert record_linkage_score(responses, swapped) == pytest.approx(by_definition(responses, swapped))


def test_matches_the_definition_on_continuous_values():
    rng = np.random.default_rng(0)
    for m in (1, 2, 3, 20):
        responses = rng.normal(size=(50, m))
        for swapped in (rng.permuted(responses, axis=1), responses + rng.normal(scale=0.1, size=(50, m))):
            score = record_linkage_score(responses, swapped)
            assert score == pytest.approx(by_definition(responses, swapped))


def test_untouched_responses_are_all_linked():
    responses = np.random.default_rng(0).normal(size=(10, 5))
    assert record_linkage_score(responses, responses) == 100.0
    assert record_linkage_score(np.ones((3, 4)), np.ones((3, 4))) == 100.0


def test_one_party_is_always_linked():
    assert record_linkage_score([[1.0], [2.0]], [[5.0], [-1e9]]) == 100.0


def test_neighbours_by_rank_are_linked_and_others_are_not():
    """Why a swap needs a lower bound of 2 ranks."""
    responses = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert record_linkage_score(responses, responses[:, [1, 0, 3, 2]]) == 100.0
    assert record_linkage_score(responses, responses[:, [2, 3, 0, 1]]) == 0.0


def test_chunks_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    responses, swapped = rng.normal(size=(2, 100, 7))
    whole = record_linkage_score(responses, swapped)
    for chunk in (1, 50):
        monkeypatch.setattr(_disclosure, "CHUNK", chunk)
        assert record_linkage_score(responses, swapped) == whole


def test_thousands_of_parties_need_no_square_of_memory():
    responses, swapped = np.random.default_rng(0).normal(size=(2, 400, 4000))
    tracemalloc.start()
    record_linkage_score(responses, swapped)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # One row's distances would take 128 MB.
    assert peak < 1e8


def test_bad_input():
    with pytest.raises(ValueError, match="same shape"):
        record_linkage_score(np.zeros((2, 3)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="NaN"):
        record_linkage_score([[np.nan, 1.0]], [[1.0, 1.0]])
    with pytest.raises(ValueError, match="text") as caught:
        record_linkage_score([["secret"]], [["other"]])
    assert "secret" not in str(caught.value)
