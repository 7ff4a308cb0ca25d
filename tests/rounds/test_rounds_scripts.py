# SPDX-License-Identifier: BSD-3-Clause
"""The documentation's scripts that fit to rows elsewhere run where their packages are installed."""

import contextlib
import runpy
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from skprivate import DPTreeClassifier
from skprivate.rounds import TableSource, fit_rounds

SCRIPTS = sorted((Path(__file__).parents[2] / "doc/sources").glob("from_*.py"))
PACKAGES = {"spark": "pyspark", "parquet": "pyarrow"}
FEATURES = ["load", "speed"]
N_FILES, N_ROWS = 4, 5000


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """All rows as one frame; in the working folder they are files."""
    rng = np.random.default_rng(0)
    (tmp_path / "rows").mkdir()
    for number in range(N_FILES):
        load, speed = rng.uniform(0, 10, N_ROWS), rng.uniform(size=N_ROWS)
        hours = np.exp(7 - 0.2 * load + 0.5 * speed) * rng.weibull(2.0, N_ROWS)
        # Another order than the features': columns are taken by name.
        table = pa.table({"hours": hours, "speed": speed, "old": hours < 500, "load": load})
        pq.write_table(table, tmp_path / f"rows/{number}.parquet")
    monkeypatch.chdir(tmp_path)
    # Spark's workers would be the system's Python.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    return ds.dataset("rows").to_table().to_pandas()


@pytest.fixture
def engines():
    """Stop what a script has started."""
    yield
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()
    if "pyspark" in sys.modules:
        from pyspark.sql import SparkSession

        with contextlib.suppress(AttributeError):
            SparkSession.getActiveSession().stop()


def assert_same(model, other, rows):
    X = rows[FEATURES]
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    else:
        np.testing.assert_array_equal(model.coef_, other.coef_)
    assert model.privacy_spent_ == other.privacy_spent_


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # what other packages warn of is theirs
def test_script(path, rows, engines):
    name = path.stem.removeprefix("from_")
    pytest.importorskip(PACKAGES.get(name, name))
    # Workers are sent the script's functions as those of __main__.
    script = runpy.run_path(str(path), run_name="__main__")
    model, source = script["model"], script["source"]
    assert model.privacy_spent_.private
    assert model.privacy_spent_.unprotected["rows"] == N_FILES * N_ROWS
    # Ten standard errors of noise and rows at this seed of the rows.
    np.testing.assert_allclose(model.coef_, [-0.2, 0.5], atol=0.25)
    seeded = type(model)(**{**model.get_params(), "random_state": 0})
    elsewhere = fit_rounds(clone(seeded), source)
    assert_same(elsewhere, seeded.fit(rows[FEATURES], rows["hours"]), rows)
    if source.hook is not None:
        tree = DPTreeClassifier(1.0, bounds=[(0, 0), (10, 1)], classes=[False, True], random_state=0)
        elsewhere = fit_rounds(clone(tree), TableSource(script["rows"], target="old", features=FEATURES))
        assert_same(elsewhere, tree.fit(rows[FEATURES], rows["old"]), rows)


def test_every_kind_of_table_has_its_script():
    kinds = ("dask", "duckdb", "parquet", "polars", "ray", "spark")
    assert [path.stem for path in SCRIPTS] == [f"from_{kind}" for kind in kinds]
