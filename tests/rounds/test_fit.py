# SPDX-License-Identifier: BSD-3-Clause
"""A fit to a source is that of `fit` to the same rows, bit for bit, whatever the tables and their order."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate import DPSEVRegressor, DPTreeClassifier, config_context
from skprivate.rounds import PartialSums, TableSource, fit_rounds
from tests.marks import slow_unless
from tests.rounds.examples import (
    CASES,
    LABELS,
    LIFE,
    NAMES,
    PUBLIC,
    ROWS,
    Engine,
    N,
    assert_same,
    fit_to,
    is_round,
    parts_of,
    private_rows,
    unfitted,
)

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
FORMS = {
    "pandas": lambda rows: rows,
    "polars": pl.from_pandas,
    "table": lambda rows: pa.Table.from_pandas(rows, preserve_index=False),
    "stream": lambda rows: lambda: pa.Table.from_pandas(rows, preserve_index=False).to_reader(37),
}


@pytest.mark.parametrize("name", slow_unless(("moments", "censored persons", "tree of persons"), CASES))
@settings(max_examples=6, deadline=None, derandomize=True)
@given(
    form=st.sampled_from([*FORMS]), cuts=st.lists(st.integers(0, N), max_size=5), order=st.integers(0, 1000)
)
def test_every_partition_in_every_order_gives_the_bits_of_fit(name, form, cuts, order):
    tables = [FORMS[form](part) for part in parts_of(name, cuts, order)]
    assert_same(fit_to(name, tables, n_jobs=1 + order % 2), name)


def test_files_give_the_bits_of_fit(tmp_path):
    for place, part in enumerate(parts_of("censored", [200, 450], 0)):
        part.to_parquet(tmp_path / f"{place}.parquet")
    assert_same(fit_to("censored", pyarrow.dataset.dataset(tmp_path)), "censored")


@pytest.mark.parametrize("name", ["moments", "censored", "public rows"])
def test_tasks_that_are_run_again_count_once(name):
    assert_same(fit_to(name, Engine(parts_of(name, [100, 200], 1))), name)


def test_partial_sums_merge_on_the_engine():
    class Merging(Engine):
        def map_partitions(self, function):
            answers = [function(table, place) for place, table in enumerate(self.tables)]
            if not is_round(function):
                return answers
            first, *rest = (PartialSums.from_bytes(answer) for answer in answers)
            for part in rest:
                first = first.merge(part)
            return [first.to_bytes()]

    assert_same(fit_to("censored", Merging(parts_of("censored", [100, 200], 1))), "censored")


def test_public_rows_in_another_order_and_as_arrays():
    source = TableSource([private_rows("public rows")], target="ill", features=NAMES)
    X, y = PUBLIC
    for public in ((X[NAMES[::-1]], y), (X.to_numpy(), y.to_numpy())):
        assert_same(fit_rounds(unfitted("public rows"), source, public=public), "public rows")


@pytest.mark.parametrize("n_rows", [None, N])
def test_tables_in_several_orders(n_rows):
    tables = [ROWS[:300], ROWS[300:][ROWS.columns[::-1]]]
    assert_same(fit_to("moments", tables, n_rows=n_rows), "moments")
    pairs = [(table[[name for name in table if name in NAMES]], table["life"]) for table in tables]
    source = TableSource(pairs, features=NAMES, n_rows=n_rows)
    assert_same(fit_rounds(unfitted("moments"), source), "moments")


def test_lists_with_odd_cells_in_strict_mode():
    X, y = ROWS[NAMES].to_numpy(), ROWS["life"].to_numpy()
    odd = X[100:].tolist()
    odd[3][1], odd[4][2] = None, "1.5"
    with config_context(strict=True, allow_seeds=True):
        want = DPSEVRegressor(2.0, **LIFE).fit(X[:100].tolist() + odd, y).coef_
        got = fit_rounds(DPSEVRegressor(2.0, **LIFE), [(X[:100], y[:100]), (odd, y[100:])]).coef_
    np.testing.assert_array_equal(got, want)


def test_targets_may_be_columns():
    X, y, labels = ROWS[NAMES].to_numpy(), ROWS["life"].to_numpy(), ROWS[["ill"]].to_numpy()
    got = fit_rounds(DPSEVRegressor(2.0, **LIFE), [(X, y[:, None])]).coef_
    np.testing.assert_array_equal(got, DPSEVRegressor(2.0, **LIFE).fit(X, y).coef_)
    tree = DPTreeClassifier(1.0, max_depth=2, **LABELS)
    got = fit_rounds(tree, [(X, labels)]).report_counts_.copy()
    np.testing.assert_array_equal(got, tree.fit(X, labels[:, 0]).report_counts_)


@pytest.mark.parametrize("name", ["persons", "moments", "tree of persons"])
def test_empty_tables_among_others(name):
    table = pa.Table.from_pandas(private_rows(name), preserve_index=False)
    assert_same(fit_to(name, [table.slice(0, 0), table, table.slice(0, 0)]), name)
