# SPDX-License-Identifier: BSD-3-Clause
"""Boosting of rows that stay where they are: bit for bit what `fit` makes of the same rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skprivate import DPBoostingClassifier, DPBoostingRegressor, TableDomain
from skprivate.domain import CategoricalColumn, NumberColumn
from skprivate.rounds import TableSource, fit_rounds

N = 900
NAMES = ["load", "heat", "age"]


def make_rows():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.uniform(-1, 1, size=(N, 3)), columns=NAMES)
    rows["cost"] = rows["load"] + rows["heat"] ** 2
    rows["ill"] = np.where(rows["load"] > 0, "yes", "no")
    rows["grade"] = np.array(["a", "b", "c"])[np.digitize(rows["heat"], [-0.3, 0.3])]
    rows["person"] = [f"person {code}" for code in rng.integers(0, 300, N)]
    return rows


ROWS = make_rows()
PUBLIC = np.arange(N) < 60
LABELS = {"epsilon": 2.0, "bounds": (-1, 1), "classes": ["no", "yes"], "random_state": 3}
NUMBERS = {"epsilon": 2.0, "bounds_X": (-1, 1), "bounds_y": (-2, 2), "random_state": 3}
CASES = {
    "labels": (DPBoostingClassifier(**LABELS), "ill"),
    "gaussian, add-remove": (DPBoostingClassifier(delta=1e-6, relation="add-remove", **LABELS), "ill"),
    "three classes": (
        DPBoostingClassifier(2.0, bounds=(-1, 1), classes=["a", "b", "c"], random_state=3, interactions=4),
        "grade",
    ),
    "persons": (DPBoostingClassifier(max_rows_per_group=2, **LABELS), "ill"),
    "public rows": (DPBoostingClassifier(2.0, random_state=3), "ill"),
    "numbers": (DPBoostingRegressor(delta=1e-6, **NUMBERS), "cost"),
    "monotone": (DPBoostingRegressor(monotonic_cst=[1, 0, 0], relation="add-remove", **NUMBERS), "cost"),
}


def fit_both(name):
    model, target = CASES[name]
    given, options, private = {}, {}, np.ones(N, dtype=bool)
    if name == "persons":
        given["groups"] = ROWS["person"]
        options = {"groups": "person", "groups_within_tables": True}
    public = None
    if name == "public rows":
        given["is_public"], private = PUBLIC, ~PUBLIC
        public = (ROWS[NAMES][PUBLIC], ROWS[target][PUBLIC])
    in_memory = clone(model).set_params(random_state=3).fit(ROWS[NAMES], ROWS[target], **given)
    rows = ROWS[private]
    if name == "persons":
        # A person's rows are in one table, in their order.
        tables = [part for _, part in rows.groupby(rows["person"].str[-1])]
    else:
        tables = [rows[start::4] for start in (2, 0, 3, 1)]
    source = TableSource(tables, target=target, features=NAMES, **options)
    return in_memory, fit_rounds(clone(model).set_params(random_state=3), source, public=public)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_source_is_fitted_bit_for_bit_as_rows_in_memory(name):
    in_memory, fitted = fit_both(name)
    predict = "predict_proba" if hasattr(fitted, "predict_proba") else "predict"
    np.testing.assert_array_equal(
        getattr(in_memory, predict)(ROWS[NAMES]), getattr(fitted, predict)(ROWS[NAMES])
    )
    for shape, other in zip(in_memory.shape_functions_, fitted.shape_functions_, strict=True):
        np.testing.assert_array_equal(shape.values, other.values)
        np.testing.assert_array_equal(shape.std, other.std)
        assert shape.name == other.name
    assert in_memory.privacy_spent_ == fitted.privacy_spent_


def test_declared_columns():
    domain = TableDomain(
        {"load": NumberColumn(-1, 1, missing="indicator"), "grade": CategoricalColumn(["a", "b", "c"])}
    )
    table = ROWS[["load", "grade"]].copy()
    table.loc[::7, "load"] = np.nan
    model = DPBoostingClassifier(2.0, domain=domain, classes=["no", "yes"], random_state=1)
    in_memory = clone(model).set_params(random_state=1).fit(table, ROWS["ill"])
    parts = [(table[start::3], ROWS["ill"][start::3]) for start in range(3)]
    fitted = fit_rounds(clone(model).set_params(random_state=1), TableSource(parts))
    np.testing.assert_array_equal(in_memory.predict_proba(table), fitted.predict_proba(table))
