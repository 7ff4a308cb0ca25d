# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions of tables that stay where they are: the bits of one table, one charge before rows are read."""

import numpy as np
import pandas as pd
import pytest

from skprivate import PrivacyLedger, private_describe
from skprivate.domain import TableDomain
from skprivate.exceptions import BudgetExceededError
from skprivate.rounds import TableSource
from skprivate.rounds._plans.descriptions import DescriptionPlan, Tree, plan_tables
from skprivate.rounds._task import plan_from_dict

DOMAIN = TableDomain({"days": (0, 100), "died": bool, "sex": ["f", "m"]})
RNG = np.random.default_rng(0)
ROWS = pd.DataFrame({"days": RNG.uniform(0, 120, 2000), "died": RNG.uniform(size=2000) < 0.6})
ROWS["sex"] = RNG.choice(["f", "m", "?"], size=2000)
PARTS = [ROWS[:900], ROWS[900:901], ROWS[901:]]
OPTIONS = {"columns": ["sex", "died"], "crosstabs": [("sex", "died"), (("days", [30.0, 60.0]), "sex")]}
OPTIONS["survival"] = "days", "died", "sex"


@pytest.mark.parametrize(
    "budget",
    [{}, {"delta": 1e-6}, {"relation": "add-remove"}, {"happened": False, "n_bins": 7}],
    ids=lambda budget: " ".join(budget) or "laplace",
)
def test_the_bits_of_one_table(budget):
    one = private_describe(ROWS, DOMAIN, 1.0, random_state=1, **OPTIONS, **budget)
    for tables in (PARTS, PARTS[::-1], [lambda: ROWS]):
        assert private_describe(TableSource(tables), DOMAIN, 1.0, random_state=1, **OPTIONS, **budget) == one


def test_numbers_are_rounded_where_they_are():
    found = private_describe(TableSource(PARTS), DOMAIN, 1e4, random_state=0).columns["days"].mean
    # 2,000 coins on a grid of a hundredth of the range, or finer: a deviation of 0.02, six of them.
    assert found.value == pytest.approx(ROWS["days"].clip(0, 100).mean(), abs=0.12)


def test_it_is_charged_before_rows_are_read(tmp_path):
    read = []

    def table():
        read.append(1)
        if len(read) > 1:
            raise OSError("gone")
        return ROWS

    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=1)
    with pytest.raises(OSError, match="gone"):
        private_describe(TableSource(table), DOMAIN, 1.0, ledger=ledger)
    assert len(ledger.entries()) == 1
    with pytest.raises(BudgetExceededError):
        private_describe(TableSource(PARTS), DOMAIN, 1.0, ledger=ledger)


def test_what_a_source_cannot_be():
    for source, options in (
        (TableSource(PARTS, target="died"), {}),
        (TableSource(PARTS), {"groups": ROWS["sex"]}),
        (ROWS, {"checkpoint": "file"}),
    ):
        with pytest.raises(ValueError, match=r"described by the columns of the domain|for a TableSource"):
            private_describe(source, DOMAIN, 1.0, **options)
    with pytest.raises(ValueError, match="each of these columns once: sex"):
        private_describe(TableSource(ROWS[["days", "died"]]), DOMAIN, 1.0)


def test_a_plan_is_read_back_and_others_are_refused():
    tree = Tree(5, 2)
    sides = OPTIONS["crosstabs"], OPTIONS["survival"]
    tables = plan_tables(DOMAIN, ["days"], *sides, tree, 4)
    content = DescriptionPlan.of(tables, tree, 4, 1, tables.tables[-1].coding).to_dict()
    plan = plan_from_dict(content)
    assert plan.to_dict() == content
    counts, n_rows = plan.table_sums(ROWS, DOMAIN)
    plan.check_sums(counts, n_rows)
    for bad in (np.append(counts[:-1], counts[-1] + 1), -counts):
        with pytest.raises(ValueError, match="impossible for this number of rows"):
            plan.check_sums(bad, n_rows)
    with pytest.raises(ValueError, match="not one of this domain"):
        plan_from_dict(content | {"n_times": 5}).table_sums(ROWS, DOMAIN)
    for field in ({"sizes": [0]}, {"branches": 1}, {"sizes": [2**23]}, {"survival": 3}):
        with pytest.raises(ValueError, match=r"a plan"):
            plan_from_dict(content | field)
