# SPDX-License-Identifier: BSD-3-Clause
"""Scores of disclosure: pairs within 2 mu, column by column, and records that distance links."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.metrics import _disclosure, correct_orientation_score, record_linkage_score


def plain_orientation(X, X_perturbed, mu):
    scores = []
    for true, sent in zip(X.T, X_perturbed.T, strict=True):
        pairs = [(v, w) for v, w in zip(true, sent, strict=True) if v == v and w == w]
        hits = sum(abs(v - w) <= 2 * mu for v, w in pairs)
        scores.append(100 * hits / len(pairs) if pairs else np.nan)
    return scores


def tables(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(200, 4))
    X_perturbed = X + rng.normal(scale=[0.001, 0.01, 0.1, 1.0], size=X.shape)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    X_perturbed[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X, X_perturbed


class TestCorrectOrientation:
    @pytest.mark.parametrize("mu", [1e-3, 0.05, 0])
    def test_matches_a_plain_loop(self, mu):
        scores = correct_orientation_score(*tables(), mu=mu)
        np.testing.assert_allclose(scores, plain_orientation(*tables(), mu), rtol=1e-14)

    def test_cells_of_a_sixteenth_on_uniform_values(self):
        """Proposition 1 with equality: mu 2^(k + 2) on the unit interval; a tolerance of 6 deviations."""
        v = np.random.default_rng(1).uniform(size=(100_000, 1))
        score = correct_orientation_score(v, (np.floor(16 * v) + 0.5) / 16)
        assert score[0] == pytest.approx(6.4, abs=6 * 100 * np.sqrt(0.064 * 0.936 / 1e5))

    def test_the_border_counts_and_every_column_may_have_a_radius(self):
        X = np.zeros((3, 1))
        assert correct_orientation_score(X, [[0.25], [0.5], [0.75]], mu=0.25)[0] == pytest.approx(200 / 3)
        scores = correct_orientation_score(np.zeros((1, 3)), np.ones((1, 3)), mu=[0.4, 0.5, 7])
        assert scores.tolist() == [0.0, 100.0, 100.0]

    def test_a_column_without_a_pair_has_no_score(self):
        scores = correct_orientation_score([[np.nan, 1.0], [2.0, 1.0]], [[1.0, 1.0], [np.nan, 9.0]])
        np.testing.assert_array_equal(scores, [np.nan, 50.0])

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames(self, frame):
        X, sent = (frame(dict(zip("abcd", table.T, strict=True))) for table in tables())
        expected = correct_orientation_score(*tables())
        np.testing.assert_array_equal(correct_orientation_score(X, sent), expected)
        with pytest.raises(ValueError, match="same rows and columns"):
            correct_orientation_score(X, sent[["b", "a", "c", "d"]])

    def test_one_column_may_be_a_vector(self):
        X, sent = np.array([0.1, 0.2, np.nan]), np.array([0.1, 0.3, 0.4])
        np.testing.assert_array_equal(correct_orientation_score(X, sent), [50.0])
        np.testing.assert_array_equal(correct_orientation_score(X, sent[:, None]), [50.0])


def linkage_by_definition(responses, swapped):
    linked = []
    for a, b in zip(np.asarray(responses, float), np.asarray(swapped, float), strict=True):
        for i in range(len(a)):
            nearest = int(np.argmin(np.abs(b[i] - a)))
            others = [abs(b[i] - a[k]) for k in range(len(a)) if k != nearest]
            linked.append(abs(b[i] - a[i]) <= min(others, default=np.inf))
    return 100 * np.mean(linked)


# Few different values: ties of values and of distances.
small = st.integers(-3, 3).map(float)


class TestRecordLinkage:
    @settings(max_examples=200, deadline=None)
    @given(
        st.integers(1, 7).flatmap(
            lambda m: st.lists(st.tuples(*[st.tuples(small, small)] * m), min_size=1, max_size=6)
        )
    )
    def test_matches_the_definition(self, rows):
        table = np.array(rows)
        responses, swapped = table[..., 0], table[..., 1] / 2
        expected = linkage_by_definition(responses, swapped)
        assert record_linkage_score(responses, swapped) == pytest.approx(expected)

    @pytest.mark.parametrize("chunk", [1, 50, _disclosure.CHUNK])
    def test_matches_the_definition_on_continuous_values_in_chunks(self, chunk, monkeypatch):
        monkeypatch.setattr(_disclosure, "CHUNK", chunk)
        rng = np.random.default_rng(0)
        for m in (1, 2, 3, 20):
            responses = rng.normal(size=(50, m))
            for swapped in (rng.permuted(responses, axis=1), responses + rng.normal(scale=0.1, size=(50, m))):
                expected = linkage_by_definition(responses, swapped)
                assert record_linkage_score(responses, swapped) == pytest.approx(expected)

    def test_neighbours_by_rank_are_linked_and_others_are_not(self):
        """Why a swap needs a lower bound of 2 ranks."""
        responses = np.array([[1.0, 2.0, 3.0, 4.0]])
        assert record_linkage_score(responses, responses[:, [1, 0, 3, 2]]) == 100.0
        assert record_linkage_score(responses, responses[:, [2, 3, 0, 1]]) == 0.0

    def test_thousands_of_parties_need_no_square_of_memory(self):
        responses, swapped = np.random.default_rng(0).normal(size=(2, 100, 4000))
        tracemalloc.start()
        record_linkage_score(responses, swapped)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # One row's distances would take 128 MB.
        assert peak < 1e8
