# SPDX-License-Identifier: BSD-3-Clause
"""The loader: finds its file, refuses another, drops copies."""

import numpy as np
import pytest

from skprivate.datasets import fetch_diabetes_outcome
from tests.marks import needs_data


@needs_data("diabetes")
def test_without_copies():
    bunch = fetch_diabetes_outcome()
    assert bunch.data.shape == (778, 8)
    assert int(bunch.is_public.sum()) == 200
    assert len(np.unique(np.column_stack([bunch.data, bunch.target]), axis=0)) == 778
    private = ~bunch.is_public
    assert 1 - bunch.target[private].mean() == pytest.approx(0.66, abs=0.02)
    assert bunch.feature_names[0] == "Pregnancies"
    assert bunch.feature_names[-1] == "Age"


@needs_data("diabetes")
def test_with_copies_and_frames():
    X, y, is_public = fetch_diabetes_outcome(deduplicate=False, return_X_y=True, as_frame=True)
    assert X.shape == (2768, 8)
    assert y.name == "Outcome"
    assert is_public[:200].all()
    assert not is_public[200:].any()
