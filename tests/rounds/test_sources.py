# SPDX-License-Identifier: BSD-3-Clause
"""Files of a pyarrow Dataset as tables of a source."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from skprivate import DPTreeClassifier
from skprivate.rounds import TableSource, fit_rounds
from skprivate.rounds._sources import DatasetFile
from skprivate.rounds._tables import TableColumns

N_ROWS, N_PARTS = 400, 4
FEATURES = ["age", "dose"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    age, dose = rng.uniform(18, 90, N_ROWS), rng.uniform(0, 5, N_ROWS)
    return pd.DataFrame({"dose": dose, "ill": age > 50, "ward": rng.integers(2, size=N_ROWS), "age": age})


def tree(**parameters):
    return DPTreeClassifier(
        Fraction(1),
        bounds={"age": (18, 90), "dose": (0, 5)},
        classes=[False, True],
        random_state=0,
        **parameters,
    )


@pytest.fixture(scope="module")
def expected(rows):
    return tree().fit(rows[FEATURES], rows["ill"]).predict_proba(rows[FEATURES])


def source_of(tables, **options):
    return TableSource(tables, target="ill", features=FEATURES, **options)


@pytest.fixture
def folder(rows, tmp_path):
    """Files of the rows, all of one size."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(N_PARTS):
        rows[number::N_PARTS].to_parquet(folder / f"{number}.parquet", index=False)
    return folder


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_dataset_is_fitted_as_by_fit(folder, rows, expected, n_jobs):
    model = fit_rounds(tree(), source_of(ds.dataset(folder), n_jobs=n_jobs))
    np.testing.assert_array_equal(model.predict_proba(rows[FEATURES]), expected)


def test_columns_in_the_names_of_folders_count(rows, expected, tmp_path):
    for ill, group in rows.groupby("ill"):
        (tmp_path / f"ill={int(ill)}").mkdir()
        group.drop(columns="ill").to_parquet(tmp_path / f"ill={int(ill)}/0.parquet", index=False)
    model = fit_rounds(tree(), source_of(ds.dataset(tmp_path, partitioning="hive")))
    np.testing.assert_array_equal(model.predict_proba(rows[FEATURES]), expected)


def test_a_file_is_read_by_the_columns_that_are_named(folder):
    dataset = ds.dataset(folder)
    fragment = next(dataset.get_fragments())
    for features, read in ((("age",), ["age", "ill"]), (None, ["dose", "ill", "ward", "age"])):
        table = DatasetFile(fragment, dataset.schema, TableColumns(features, "ill"))
        assert table.num_rows == N_ROWS // N_PARTS
        for _ in range(2):
            assert pa.table(table).column_names == read
