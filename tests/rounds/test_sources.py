# SPDX-License-Identifier: BSD-3-Clause
"""Files of a Dataset of pyarrow, and frames of dask, as tables of a source: the bits of ``fit``."""

import os
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

from skprivate import DPBoostingClassifier, DPTreeClassifier, PrivacyLedger
from skprivate.rounds import TableSource, fit_rounds
from skprivate.rounds._sources import DaskPartitions
from skprivate.rounds._tables import TableColumns

N_ROWS, N_PARTS = 600, 5
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


def test_columns_in_the_names_of_folders_count(rows, expected, tmp_path):
    for ill, group in rows.groupby("ill"):
        (tmp_path / f"ill={int(ill)}").mkdir()
        group.drop(columns="ill").to_parquet(tmp_path / f"ill={int(ill)}/0.parquet", index=False)
    model = fit_rounds(tree(), source_of(ds.dataset(tmp_path, partitioning="hive")))
    np.testing.assert_array_equal(model.predict_proba(rows[FEATURES]), expected)


# What dask and its packages warn of is theirs.
THEIRS = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def dask():
    pytest.importorskip("dask.dataframe")
    return pytest.importorskip("dask")


@THEIRS
@pytest.mark.parametrize("n_parts", [1, N_PARTS])
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_a_dask_frame_is_fitted_as_by_fit(dask, rows, expected, n_parts, scheduler):
    with dask.config.set(scheduler=scheduler):
        model = fit_rounds(tree(), source_of(dask.dataframe.from_pandas(rows, npartitions=n_parts)))
    np.testing.assert_array_equal(model.predict_proba(rows[FEATURES]), expected)


@THEIRS
def test_partitions_of_dask_are_computed_in_the_first_rounds(dask, rows):
    calls = []
    frame = dask.dataframe.from_map(lambda part: calls.append(part) or rows[part::2], range(2), meta=rows[:0])
    bounds = {"age": (18, 90), "dose": (0, 5)}
    model = DPBoostingClassifier(4, delta=1e-6, bounds=bounds, classes=[False, True], random_state=0)
    expected = model.fit(rows[FEATURES], rows["ill"]).predict_proba(rows[FEATURES])
    with dask.config.set(scheduler="synchronous"):
        found = fit_rounds(model, source_of(frame, n_rows=N_ROWS)).predict_proba(rows[FEATURES])
    np.testing.assert_array_equal(found, expected)
    # Counts of the labels, of cells, the first residuals, and the mean prediction.
    assert len(calls) <= 2 * 4


@THEIRS
def test_partitions_are_numbered_and_have_the_columns_that_are_read(dask, rows):
    frame = dask.dataframe.from_pandas(rows, npartitions=N_PARTS)
    describe = lambda table, number: f"{number}: {len(table)} {' '.join(table.columns)}".encode()  # noqa: E731
    parts = DaskPartitions(frame, TableColumns(("age",), "ill")).map_partitions(describe)
    assert list(parts) == [f"{number}: {N_ROWS // N_PARTS} age ill".encode() for number in range(N_PARTS)]


@THEIRS
def test_other_objects_of_dask_are_refused(dask, rows):
    for other in (dask.delayed(rows), dask.dataframe.from_pandas(rows["age"], npartitions=2)):
        with pytest.raises(TypeError, match="a source takes a DataFrame, not"):
            source_of(other)


@pytest.fixture(scope="module")
def cluster(dask):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def raise_error():
    raise OSError("the disk is away")


@THEIRS
@pytest.mark.process
@pytest.mark.parametrize(
    ("fail", "n_rows"),
    [(raise_error, None), (lambda: os._exit(1), N_ROWS)],
    ids=["an error while tables are looked at", "the death of a worker in a round"],
)
def test_a_task_that_fails_is_run_again_and_counted_once(
    dask, cluster, rows, expected, tmp_path, fail, n_rows
):
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    marker = str(tmp_path / "failed")

    def read(number):
        if number == 1 and not os.path.exists(marker):
            open(marker, "x").close()
            fail()
        return rows[number::N_PARTS]

    frame = dask.dataframe.from_map(read, range(N_PARTS), meta=rows[:0])
    with dask.annotate(retries=1):
        model = fit_rounds(tree(ledger=ledger), source_of(frame, n_rows=n_rows))
    assert os.path.exists(marker)
    np.testing.assert_array_equal(model.predict_proba(rows[FEATURES]), expected)
    assert ledger.spent() == (1, 0)
