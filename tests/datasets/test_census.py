# SPDX-License-Identifier: BSD-3-Clause
"""The loader: finds its file in both forms, refuses another, keeps complete rows, tells the owners."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skprivate.datasets import _census, fetch_census
from tests.marks import needs_data

ROWS = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, \
United-States, <=50K
54, ?, 1802, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander, Male, 0, 0, 60, South, >50K
40, Private, 1217, Assoc-voc, 11, Married-civ-spouse, Craft-repair, Husband, Black, Female, 0, 7, 41, ?, >50K
34, Private, 245487, 7th-8th, 4, Divorced, Transport-moving, Wife, Black, Female, 0, 5, 45, Mexico, >50K
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a file of four rows, two of them complete."""
    (tmp_path / "census").mkdir()
    (tmp_path / "census" / "adult.data").write_text(ROWS + "\n")
    monkeypatch.setattr(_census, "_SHA256", hashlib.sha256(f"{ROWS}\n".encode()).hexdigest())
    return tmp_path


def test_frames_hold_the_same(home):
    bunch = fetch_census(data_home=home)
    X, y, is_public = fetch_census(data_home=home, return_X_y=True, as_frame=True)
    pd.testing.assert_frame_equal(X, pd.DataFrame(bunch.data, columns=bunch.feature_names))
    assert y.tolist() == bunch.target.tolist()
    assert is_public.tolist() == bunch.is_public.tolist()


@pytest.mark.slow
@needs_data("census")
@pytest.mark.parametrize("end", [b"\n", b"\n\n"])
def test_the_published_file_with_and_without_the_empty_line_at_its_end(tmp_path, end):
    content = Path(os.environ["SKPRIVATE_DATA"], "census", "adult.data").read_bytes().rstrip()
    (tmp_path / "census").mkdir()
    (tmp_path / "census" / "adult.data").write_bytes(content + end)
    bunch = fetch_census(data_home=tmp_path)
    assert (int((~bunch.is_public).sum()), int(bunch.is_public.sum())) == (27_504, 2_658)
    assert bunch.target.mean() == pytest.approx(0.2489, abs=5e-5)
    # Every row has one level of each of the six columns: the documented levels are all there are.
    np.testing.assert_array_equal(bunch.data[:, 5:].sum(axis=1), 6)
    assert bunch.data[:, :5].min(axis=0).tolist() == [17, 1, 0, 0, 1]
    assert bunch.data[:, :5].max(axis=0).tolist() == [90, 16, 99_999, 4_356, 99]
