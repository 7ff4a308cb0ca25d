# SPDX-License-Identifier: BSD-3-Clause
"""The loader: finds its file in both forms, refuses another, keeps complete rows, tells the owners."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skprivate.datasets import _census, fetch_census

DATA = os.environ.get("SKPRIVATE_DATA")
needs_data = pytest.mark.skipif(
    not (DATA and Path(DATA, "census").is_dir()), reason="SKPRIVATE_DATA names no folder with the file"
)
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


def test_a_missing_file_says_where_to_get_it_and_where_to_put_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"archive\.ics\.uci\.edu.*SKPRIVATE_DATA") as caught:
        fetch_census(data_home=tmp_path)
    assert str(tmp_path / "census" / "adult.data") in str(caught.value)


def test_another_content_is_refused(home, monkeypatch):
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"SHA-256.*5b00.* or df25"):
        fetch_census(data_home=home)


def test_rows_become_numbers_and_marks(home):
    bunch = fetch_census(data_home=home)
    assert bunch.data.shape == (2, 47)
    assert len(set(bunch.feature_names)) == 47
    # In the order of the documentation.
    assert bunch.feature_names[34:37] == [
        "relationship=Wife",
        "relationship=Own-child",
        "relationship=Husband",
    ]
    # What is not zero, by name.
    first, second = ({n: v for n, v in zip(bunch.feature_names, row, strict=True) if v} for row in bunch.data)
    marks = ["workclass=State-gov", "marital-status=Never-married", "occupation=Adm-clerical"]
    marks += ["relationship=Not-in-family", "race=White", "sex=Male"]
    numbers = {"age": 39, "education-num": 13, "capital-gain": 2174, "hours-per-week": 40}
    assert first == numbers | dict.fromkeys(marks, 1)
    marks = ["workclass=Private", "marital-status=Divorced", "occupation=Transport-moving"]
    marks += ["relationship=Wife", "race=Black", "sex=Female"]
    numbers = {"age": 34, "education-num": 4, "capital-loss": 5, "hours-per-week": 45}
    assert second == numbers | dict.fromkeys(marks, 1)
    assert bunch.target.tolist() == [0, 1]
    assert bunch.is_public.tolist() == [False, True]


def test_frames_hold_the_same(home):
    bunch = fetch_census(data_home=home)
    X, y, is_public = fetch_census(data_home=home, return_X_y=True, as_frame=True)
    pd.testing.assert_frame_equal(X, pd.DataFrame(bunch.data, columns=bunch.feature_names))
    assert y.tolist() == bunch.target.tolist()
    assert is_public.tolist() == bunch.is_public.tolist()


@needs_data
def test_the_published_file():
    bunch = fetch_census()
    assert int((~bunch.is_public).sum()) == 27_504
    assert int(bunch.is_public.sum()) == 2_658
    assert bunch.target.mean() == pytest.approx(0.2489, abs=5e-5)
    # Every row has one level of each of the six columns: the documented levels are all there are.
    np.testing.assert_array_equal(bunch.data[:, 5:].sum(axis=1), 6)
    assert bunch.data[:, :5].min(axis=0).tolist() == [17, 1, 0, 0, 1]
    assert bunch.data[:, :5].max(axis=0).tolist() == [90, 16, 99_999, 4_356, 99]


@needs_data
def test_the_published_file_with_the_empty_line_at_its_end(tmp_path):
    content = Path(DATA, "census", "adult.data").read_bytes().rstrip() + b"\n"
    (tmp_path / "census").mkdir()
    for end in (b"", b"\n"):
        (tmp_path / "census" / "adult.data").write_bytes(content + end)
        assert len(fetch_census(data_home=tmp_path).target) == 30_162
