# SPDX-License-Identifier: BSD-3-Clause
"""The loader: finds its file, keeps the rows with a dose, tells missing values, imputes where asked."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from skprivate.datasets import _warfarin, fetch_warfarin
from skprivate.preprocessing import TQMATransformer
from tests.marks import needs_data

TABLE = """\
PharmGKB Subject ID,Race,Age,Height (cm),Weight (kg),Medications,Amiodarone (Cordarone),\
Carbamazepine (Tegretol),Phenytoin (Dilantin),Rifampin or Rifampicin,Therapeutic Dose of Warfarin
P1,White,60 - 69,180.0,80.0,"aspirin, none else",0,0,0,0,35.00
P2,Asian,90+,NA,50.5,,1,0,NA,1,21
P3,Black or African American,NA,,NA,,NA,0,,0,7.5
P4,Unknown,10 - 19,160,60,,1,0,0,0,70
P5,White,10 - 19,999,999,,1,1,1,1,315.00
P6,White,20 - 29,170,70,,0,0,0,0,NA
,,,,,,,,,,
"""
COMPLETE = [65, 180, 80, 0, 0, 1, 0, 0, 0]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a file of seven rows, four of them used."""
    (tmp_path / "warfarin").mkdir()
    path = tmp_path / "warfarin" / "warfarin.csv"
    path.write_text(TABLE, "utf-8-sig")
    monkeypatch.setattr(_warfarin, "_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    return tmp_path


def test_rows_become_numbers(home):
    bunch = fetch_warfarin(data_home=home, impute=False)
    nan = np.nan
    expected = [
        COMPLETE,
        [95, nan, 50.5, 1, 0, 0, 0, 1, 1],
        [nan, nan, nan, 0, 1, 0, 0, nan, nan],
        [15, 160, 60, 0, 0, 0, 1, 1, 0],
    ]
    np.testing.assert_array_equal(bunch.data, expected)
    assert bunch.target.tolist() == [35, 21, 7.5, 70]
    classes = ["race=Asian", "race=Black", "race=White", "race=Unknown"]
    assert bunch.feature_names[3:] == [*classes, "amiodarone", "enzyme inducer"]
    assert bunch.quasi_identifiers == bunch.feature_names[:3] == ["age", "height", "weight"]
    assert "Missing values are NaN" in bunch.DESCR


def test_missing_values_become_medians_and_the_description_says_so(home):
    bunch = fetch_warfarin(data_home=home)
    medians = [65, 170, 60, 0, 0, 0, 0, 1, 0]
    assert bunch.data[2].tolist() == [65, 170, 60, 0, 1, 0, 0, 1, 0]
    assert bunch.data[1, 1] == medians[1]
    assert bunch.data[0].tolist() == COMPLETE
    assert "function of other people's rows" in bunch.DESCR


def test_ranges_are_not_read_from_the_rows(home):
    bunch = fetch_warfarin(data_home=home)
    lower, upper = bunch.bounds
    assert lower.tolist() == [10, 120, 30, 0, 0, 0, 0, 0, 0]
    assert upper.tolist() == [100, 220, 250, 1, 1, 1, 1, 1, 1]
    assert bunch.target_range == (0.0, 250.0)


def test_frames_hold_the_same_and_names_are_understood(home):
    bunch = fetch_warfarin(data_home=home)
    X, y = fetch_warfarin(data_home=home, return_X_y=True, as_frame=True)
    pd.testing.assert_frame_equal(X, pd.DataFrame(bunch.data, columns=bunch.feature_names))
    pd.testing.assert_series_equal(y, pd.Series(bunch.target, name="dose"))
    tqma = TQMATransformer(bounds=bunch.bounds, quasi_identifiers=bunch.quasi_identifiers).fit(X)
    assert list(tqma.disclosure_risk_.bound) == ["age", "height", "weight"]
    X, y = fetch_warfarin(data_home=home, return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)


@pytest.mark.slow
@needs_data("warfarin")
def test_the_published_file():
    bunch = fetch_warfarin(impute=False)
    assert bunch.data.shape == (5527, 9)
    # As the description says.
    missing = np.isnan(bunch.data).sum(axis=0)
    assert missing.tolist() == [39, 1081, 272, 0, 0, 0, 0, 1503, 3098]
    np.testing.assert_array_equal(bunch.data[:, 3:7].sum(axis=1), 1)
    assert bunch.data[:, 3:7].sum(axis=0).tolist() == [1619, 462, 2968, 478]
    assert (bunch.target.min(), bunch.target.max()) == (2.1, 230)
    assert np.unique(bunch.data[:, 0])[:9].tolist() == list(range(15, 96, 10))
    filled = fetch_warfarin().data
    assert np.isfinite(filled).all()
    assert (filled >= bunch.bounds[0]).all()
    assert (filled <= bunch.bounds[1]).all()
    np.testing.assert_array_equal(filled[~np.isnan(bunch.data)], bunch.data[~np.isnan(bunch.data)])
    assert np.nanmedian(bunch.data, axis=0)[1:3].tolist() == [167.89, 75.0]
