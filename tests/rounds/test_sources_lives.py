# SPDX-License-Identifier: BSD-3-Clause
"""Sources whose rows are lifetimes of every kind of observation: what `fit` reads, they read."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate import DPLogLocationScaleRegressor, PrivacyLedger, TableDomain, config_context, life_data
from skprivate.base import PublicShape
from skprivate.domain._life_data import EventCoding
from skprivate.rounds import TableSource, fit_rounds
from skprivate.rounds._schema import RowSchema
from skprivate.rounds._tables import TableColumns

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")

N = 600
FORMS = {
    "entries": {"target": "life", "event": "seen", "entry": "bought"},
    "ends": {"lower": "last", "upper": "first"},
    "ends and entries": {"lower": "last", "upper": "first", "entry": "bought"},
}


def make_rows():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"load": rng.normal(size=N), "heat": rng.normal(size=N)})
    life = np.exp(1 + 0.3 * rows["load"] + 0.3 * np.log(rng.exponential(size=N)))
    rows["bought"] = np.where(rng.random(N) < 0.5, 0.0, 0.5 * life * rng.random(N))
    rows["seen"] = rng.random(N) < 0.7
    rows["life"] = life * np.where(rows["seen"], 1.0, rng.uniform(0.6, 1.0, N))
    kind = rng.integers(0, 4, N)
    rows["last"] = np.select([kind == 0, kind == 1, kind == 2], [life, 0.8 * life, 0.0], 0.9 * life)
    rows["first"] = np.select([kind == 0, kind == 1, kind == 2], [life, np.inf, 1.2 * life], 1.3 * life)
    rows["person"] = [f"person {code}" for code in rng.integers(0, 150, N)]
    return rows


ROWS = make_rows()


def model(**changed):
    given = {
        "epsilon": 4.0,
        "bounds_X": (-3, 3),
        "bounds_y": (0.1, 50.0),
        "observations": ["exact", "right", "left", "interval", "entry"],
        "random_state": 3,
        **changed,
    }
    return DPLogLocationScaleRegressor(**given)


def target(form, rows=ROWS):
    options = dict(FORMS[form])
    if "target" in options:
        options["time"] = options.pop("target")
    return life_data(rows, **options)


def source(tables, form, **more):
    return TableSource(tables, features=["load", "heat"], **FORMS[form], **more)


def assert_same(fitted, reference):
    for name in ("coef_", "intercept_", "scale_", "coef_interval_"):
        np.testing.assert_array_equal(getattr(fitted, name), getattr(reference, name))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_are_fitted_as_arrays_are(form, table):
    reference = model().fit(ROWS[["load", "heat"]], target(form))
    parts = [table({name: part[name].to_numpy() for name in ROWS}) for part in (ROWS[400:], ROWS[:400])]
    assert_same(fit_rounds(model(), source(parts, form)), reference)
    if table is pd.DataFrame:
        assert_same(fit_rounds(model(), source(parts, form, n_rows=N)), reference)
        tuples = [(part[["load", "heat"]], target(form, part)) for part in parts]
        assert_same(fit_rounds(model(), TableSource(tuples)), reference)


def test_persons_and_declared_columns():
    domain = TableDomain({"load": (-3, 3), "heat": (-3, 3)})
    changed = {"bounds_X": None, "domain": domain, "max_rows_per_group": 2}
    X = ROWS[["load", "heat"]]
    reference = model(**changed).fit(X, target("ends and entries"), groups=ROWS["person"])
    assert_same(fit_rounds(model(**changed), source(ROWS, "ends and entries", groups="person")), reference)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("form", "kinds", "message"),
    [
        ("ends", None, "lower and upper: declare"),
        ("ends and entries", ["exact", "right", "left", "interval"], "declare 'entry'"),
        ("entries", None, "declare 'entry'"),
        ("entries", ["exact", "right"], "declare 'entry'"),
    ],
)
def test_what_fields_need_is_declared_before_anything_is_charged(form, kinds, message, strict, tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=100)
    X, y = ROWS[["load", "heat"]], target(form)
    with config_context(strict=strict, allow_seeds=True):
        for fit in (
            lambda: model(observations=kinds, ledger=ledger).fit(X, y),
            lambda: fit_rounds(model(observations=kinds, ledger=ledger), source(ROWS, form)),
            lambda: fit_rounds(model(observations=kinds, ledger=ledger), [(X, y)]),
        ):
            with pytest.raises(ValueError, match=message):
                fit()
    assert ledger.spent() == (0, 0)
    assert ledger.n_failures == 0


def test_an_undeclared_kind_is_an_error_before_the_charge_and_none_in_strict_mode(tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=100)
    X, y = ROWS[["load", "heat"]], target("ends")
    unlike = model(observations=["exact", "right", "left"], ledger=ledger)
    with pytest.raises(ValueError, match="interval-censored rows, which observations does not declare"):
        unlike.fit(X, y)
    assert ledger.spent() == (0, 0)
    with config_context(strict=True, allow_seeds=True):
        unlike.fit(X, y)
        again = model(observations=["exact", "right", "left"])
        assert_same(fit_rounds(again, source(ROWS, "ends")), unlike)
        odd = ROWS.copy()
        odd.loc[:2, "last"], odd.loc[:2, "first"] = [np.nan, 9, -1], [np.nan, 4, 0]
        y = odd[["last", "first"]].rename(columns={"last": "lower", "first": "upper"})
        assert_same(fit_rounds(again, source(odd, "ends")), unlike.fit(X, y))


def test_a_table_of_another_form_is_refused():
    X = ROWS[["load", "heat"]]
    with pytest.raises(ValueError, match="differ in their columns"):
        fit_rounds(model(), [(X, target("ends")), (X, target("entries"))])


def test_schemas_of_other_kinds_are_written():
    columns = TableColumns(("a",), lower="l", upper="u", entry="v")
    kinds = ("exact", "interval", "entry")
    new = RowSchema(columns=columns, n_features=1, bounds_y=(1.0, 9.0), structured=True, kinds=kinds)
    written = json.loads(json.dumps(new.to_dict()))
    restored = RowSchema.from_dict(written)
    assert (restored.columns, restored.kinds, restored.to_dict()) == (columns, kinds, written)
    for kinds in (["interval", "exact"], ["right", "exact"], ["sometimes"], []):
        with pytest.raises(ValueError, match="observation"):
            RowSchema.from_dict({**written, "observations": kinds})


@pytest.mark.parametrize("strict", [False, True])
def test_no_batch_brings_fields_that_are_not_declared(strict):
    schema = RowSchema(
        columns=TableColumns(),
        n_features=2,
        bounds_y=(0.1, 50.0),
        log_target=True,
        structured=True,
        strict=strict,
    )
    X, y = ROWS[["load", "heat"]].to_numpy(), target("entries")
    rows, _ = next(schema.read((X, y[["event", "time"]])))
    assert rows.entry is None
    with pytest.raises(ValueError, match="declare 'entry'"):
        next(schema.read((X, y)))


def test_a_search_is_told_what_fields_need_before_it_charges():
    shape = PublicShape(n_features=2, n_rows=N, structured=True, no_targets=target("entries")[:0])
    model().check_public(shape)
    with pytest.raises(ValueError, match="declare 'entry'"):
        model(observations=None).check_public(shape)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_declared_codes_are_read_where_the_tables_are(table, strict):
    rows = {"load": ROWS["load"].to_numpy(), "life": ROWS["life"].to_numpy()}
    rows["status"] = np.where(ROWS["seen"], 2, 1)
    with config_context(strict=strict, allow_seeds=True):
        source = TableSource(table(rows), target="life", event="status", happened=2)
        coded = fit_rounds(model(observations=None), source)
        y = life_data(rows, time="life", event="status", happened=2)
        plain = model(observations=None).fit(rows["load"][:, None], y)
    np.testing.assert_array_equal(coded.coef_, plain.coef_)


BESIDE = {"life": np.full(41, 2.0), "load": np.full(41, 2.0)}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize(
    "table",
    [
        lambda seen: pd.DataFrame({"seen": pd.array(seen, dtype="boolean"), **BESIDE}),
        lambda seen: pd.DataFrame({"seen": pd.Categorical(seen, categories=[False, True]), **BESIDE}),
        lambda seen: pl.DataFrame({"seen": pl.Series(seen, dtype=pl.Boolean), **BESIDE}),
        lambda seen: pa.table({"seen": pa.array(seen, pa.bool_()), **BESIDE}),
    ],
)
def test_no_missing_event_changes_what_is_said_of_the_type(table, missing, declared):
    rows = table([None if missing else True, *[True, False] * 20])
    columns = {"target": "life", "event": "seen", "happened": "yes", "features": ["load"]}
    tables = TableSource(rows, **columns, n_rows=41 if declared else None)
    fresh = DPLogLocationScaleRegressor(bounds_X=(0, 3), bounds_y=(1, 3))
    with config_context(strict=True), pytest.raises(TypeError, match="holds numbers, and happened is text"):
        fit_rounds(fresh, tables)


def test_declared_codes_travel_with_the_schema():
    columns = TableColumns(("load",), "life", "status", coding=EventCoding.of([2, 3], 1))
    schema = RowSchema(columns=columns, n_features=1)
    assert RowSchema.from_dict(json.loads(json.dumps(schema.to_dict()))).to_dict() == schema.to_dict()
