# SPDX-License-Identifier: BSD-3-Clause
"""The loader: finds its file, refuses another, drops copies."""

import os
from pathlib import Path

import numpy as np
import pytest

from skprivate.datasets import fetch_diabetes_outcome
from skprivate.datasets._files import find_data_file

DATA = os.environ.get("SKPRIVATE_DATA")
needs_data = pytest.mark.skipif(
    not (DATA and Path(DATA, "diabetes").is_dir()), reason="SKPRIVATE_DATA names no folder with the file"
)
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_missing_file_says_where_to_get_it_and_where_to_put_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"kaggle.*SKPRIVATE_DATA") as caught:
        fetch_diabetes_outcome(data_home=tmp_path)
    assert str(tmp_path / "diabetes" / "Healthcare-Diabetes.csv") in str(caught.value)


def test_another_content_is_refused(tmp_path):
    (tmp_path / "diabetes").mkdir()
    (tmp_path / "diabetes" / "Healthcare-Diabetes.csv").write_text("Id,Outcome\n1,1\n")
    with pytest.raises(ValueError, match="SHA-256"):
        fetch_diabetes_outcome(data_home=tmp_path)


def test_the_folder_comes_from_the_argument_else_the_environment(tmp_path, monkeypatch):
    for home in ("argument", "environment"):
        (tmp_path / home / "x").mkdir(parents=True)
        (tmp_path / home / "x" / "empty").touch()
    monkeypatch.setenv("SKPRIVATE_DATA", str(tmp_path / "environment"))
    found = [
        find_data_file("x", "empty", EMPTY, data_home=home, source="")
        for home in (None, tmp_path / "argument")
    ]
    assert [path.parent.parent.name for path in found] == ["environment", "argument"]


@needs_data
def test_without_copies():
    bunch = fetch_diabetes_outcome()
    assert bunch.data.shape == (778, 8)
    assert int(bunch.is_public.sum()) == 200
    assert len(np.unique(np.column_stack([bunch.data, bunch.target]), axis=0)) == 778
    private = ~bunch.is_public
    assert 1 - bunch.target[private].mean() == pytest.approx(0.66, abs=0.02)
    assert bunch.feature_names[0] == "Pregnancies"
    assert bunch.feature_names[-1] == "Age"


@needs_data
def test_with_copies_and_frames():
    X, y, is_public = fetch_diabetes_outcome(deduplicate=False, return_X_y=True, as_frame=True)
    assert X.shape == (2768, 8)
    assert y.name == "Outcome"
    assert is_public[:200].all()
    assert not is_public[200:].any()
