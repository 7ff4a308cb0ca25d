# SPDX-License-Identifier: BSD-3-Clause
"""The documentation's scripts that feed a fit from elsewhere run where their packages are installed."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

from skprivate import DPLogLocationScaleRegressor

SCRIPTS = sorted((Path(__file__).parent.parent / "doc/feeding").glob("from_*.py"))
PACKAGES = {"spark": "pyspark"}
N_FILES, N_ROWS = 4, 5000


@pytest.fixture
def tables(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    (tmp_path / "rows").mkdir()
    for number in range(N_FILES):
        load, speed = rng.uniform(0, 10, N_ROWS), rng.uniform(size=N_ROWS)
        hours = np.exp(7 - 0.2 * load + 0.5 * speed) * rng.weibull(2.0, N_ROWS)
        # Another order than the bounds': columns are taken by name.
        table = pa.table({"hours": hours, "speed": speed, "load": load})
        pq.write_table(table, tmp_path / f"rows/{number}.parquet")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path, tables):
    name = path.stem.removeprefix("from_")
    pytest.importorskip(PACKAGES.get(name, name))
    with warnings.catch_warnings():
        # What other packages warn of is theirs.
        warnings.simplefilter("default")
        # Workers are sent the script's functions as those of __main__.
        model = runpy.run_path(str(path), run_name="__main__")["model"]
    assert isinstance(model, DPLogLocationScaleRegressor)
    assert model.privacy_spent_.private
    assert model.privacy_spent_.unprotected["rows"] == N_FILES * N_ROWS
    assert list(model.feature_names_in_) == ["load", "speed"]
    # Ten standard errors of noise and rows at this seed of the rows.
    np.testing.assert_allclose(model.coef_, [-0.2, 0.5], atol=0.25)


def test_every_kind_of_table_has_its_script():
    assert [path.stem for path in SCRIPTS] == [
        "from_dask",
        "from_duckdb",
        "from_polars",
        "from_ray",
        "from_spark",
    ]
