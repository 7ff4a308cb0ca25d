# SPDX-License-Identifier: BSD-3-Clause
"""The loader: finds its files, keeps the right engines and cycles, and scales by public rows only."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from skprivate.datasets import _turbofan, fetch_turbofan
from tests.marks import needs_data

LIFETIMES = {"train": [4, 6, 3, 5], "test": [5, 2, 4, 7, 5]}
REMAINING = [10, 20, 30, 40, 50]


def make_tables():
    """Engines, cycles, settings and sensors; sensor 1 is constant, as some are."""
    rng = np.random.default_rng(0)
    tables = {}
    for part, lengths in LIFETIMES.items():
        ids = np.repeat(np.arange(1, len(lengths) + 1), lengths)
        cycles = np.concatenate([np.arange(1, length + 1) for length in lengths])
        rest = rng.normal(size=(len(ids), 24)).round(4)
        rest[:, 3] = 518.67
        tables[part] = np.column_stack([ids, cycles, rest])
    return tables


def write(home, tables, monkeypatch):
    (home / "turbofan").mkdir(exist_ok=True)
    contents = {f"{part}_FD001.txt": table for part, table in tables.items()}
    contents["RUL_FD001.txt"] = np.array(REMAINING)[:, None]
    hashes = {}
    for name in _turbofan._SHA256:
        path = home / "turbofan" / name
        np.savetxt(path, contents[name], fmt="%g", newline="  \n")
        hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(_turbofan, "_SHA256", hashes)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with four training engines and five test engines."""
    write(tmp_path, make_tables(), monkeypatch)
    return tmp_path


def fetch(home, **options):
    return fetch_turbofan(
        data_home=home, **({"n_components": 2, "n_cycles": 4, "sensors": (4, 17)} | options)
    )


def test_the_private_engines_move_nothing_public(home, monkeypatch):
    before = fetch(home)
    tables = make_tables()
    tables["train"] = tables["train"][tables["train"][:, 0] != 1]
    tables["train"][:, 2:] *= 7.0
    write(home, tables, monkeypatch)
    after = fetch(home)
    assert after.data.shape == (2, 2)
    np.testing.assert_array_equal(after.test_data, before.test_data)
    np.testing.assert_array_equal(after.bounds_X, before.bounds_X)
    assert after.bounds_y == before.bounds_y


def test_frames_and_pairs_hold_the_same(home):
    bunch, frames = fetch(home), fetch(home, as_frame=True)
    pd.testing.assert_frame_equal(frames.data, pd.DataFrame(bunch.data, columns=["PC1", "PC2"]))
    pd.testing.assert_series_equal(frames.test_target, pd.Series(bunch.test_target, name="lifetime"))
    X, y = fetch(home, return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


BELOW = "n_components must be below"


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("n_components", {"n_components": 0}),
        *((BELOW, it) for it in ({"n_components": 4}, {"n_components": 3, "n_cycles": 1}, {"n_cycles": 500})),
        ("n_cycles", {"n_cycles": 0}),
        *(("sensors", {"sensors": it}) for it in ((), (4, 22), (4, 4))),
    ],
)
def test_bad_parameters(home, message, wrong):
    with pytest.raises(ValueError, match=message):
        fetch(home, **wrong)


@pytest.mark.slow
@needs_data("turbofan")
def test_the_published_files():
    data = fetch_turbofan()
    assert data.data.shape == (94, 3)
    assert data.test_data.shape == (37, 3)
    assert (data.target.min(), data.target.max()) == (150, 362)
    assert (data.test_target.min(), data.test_target.max()) == (166, 341)
    assert (np.abs(data.data) <= data.bounds_X[1]).all()
    np.testing.assert_allclose(data.bounds_X[1] / 3, [11.54, 4.46, 3.35], atol=0.01)
    model = LinearRegression().fit(data.data, np.log(data.target))
    errors = np.abs(np.exp(model.predict(data.test_data)) / data.test_target - 1)
    assert np.median(errors) == pytest.approx(0.0517, abs=5e-4)
