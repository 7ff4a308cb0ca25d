# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a ledger adds up what the ledger holds."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from matplotlib import pyplot

from skprivate import PrivacyLedger
from skprivate.inspection import BudgetDisplay
from tests.accounting.records import spend


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=4, delta=0.5)
    ledger.charge(spend(Fraction(1, 2)), "A")
    with ledger.label("main"):
        ledger.charge(spend(Fraction(1, 4), delta=0.125), "A")
        ledger.charge(spend(1), "B")
        ledger.charge(spend(Fraction(1, 4), claim="not-private", reasons=("seeded",)), "A")
    return ledger


def test_steps_are_where_the_charges_are(ledger, axes):
    display = BudgetDisplay.from_ledger(ledger, against="fits", by="estimator", ax=axes)
    corners = display.areas_[1].get_paths()[0].vertices
    # Estimator A has 0.5, 0.75, 0.75, 1 after its charges; B starts with the third one.
    assert {(2.0, 1.75), (3.0, 1.75), (3.0, 2.0), (4.0, 2.0)} <= {tuple(corner) for corner in corners}
    assert display.totals() == {"A": 1.0, "B": 1.0}


@pytest.mark.parametrize("by", ["entry", "label"])
def test_what_remains_ends_at_the_ceiling(ledger, axes, by):
    display = BudgetDisplay.from_ledger(ledger, by=by, ax=axes)
    corners = display.remaining_.get_bbox()
    assert (corners.y0, corners.y1) == (2, 4)
    full = BudgetDisplay(times=display.times, groups=display.groups, amounts=[1.0] * 4, ceiling=4.0, by=by)
    assert full.plot(axes).remaining_ is None


@pytest.mark.parametrize("by", ["entry", "estimator"])
@pytest.mark.parametrize("n_groups", [1, 25])
def test_the_legend_hides_nothing(axes, by, n_groups):
    times = [datetime(2026, 1, 1, tzinfo=UTC)] * n_groups
    groups = [f"Estimator{i}" for i in range(n_groups)]
    BudgetDisplay(times=times, groups=groups, amounts=[1.0] * n_groups, ceiling=n_groups, by=by).plot(axes)
    top = axes.transData.transform((0, n_groups))[1]
    assert axes.get_legend().get_window_extent().y0 > top


def test_groups_of_data_are_added_up(ledger, axes):
    for group in ("north", "south"):
        with ledger.data(group):
            ledger.charge(spend(Fraction(1, 2)), "C")
    display = BudgetDisplay.from_ledger(ledger, by="data", ax=axes)
    assert display.totals() == {"no group of data": 2.0, "north": 0.5, "south": 0.5}
    assert sum(display.totals().values()) == float(ledger.spent()[0])
    assert axes.get_title().endswith("adds up 2 groups of data, disjoint as declared")


def test_delta_and_entries_that_are_not_private(ledger, axes):
    display = BudgetDisplay.from_ledger(ledger, quantity="delta", ax=axes)
    assert display.totals() == {"no label": 0.0, "main": 0.125}
    assert display.ceiling_line_.get_ydata()[0] == 0.5
    assert axes.get_ylabel() == "delta spent"
    assert axes.get_title() == "4 entries, 1 of them NOT PRIVATE"


def test_no_ceiling_and_no_entry(tmp_path, axes):
    display = BudgetDisplay.from_ledger(PrivacyLedger(tmp_path / "a"), ax=axes)
    assert display.areas_ == []
    assert display.ceiling_line_ is None
    assert axes.get_title() == "0 entries"


def test_one_entry_can_be_seen_on_a_figure_of_its_own():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    display = BudgetDisplay(times=[start], groups=["a"], amounts=[1.0]).plot(alpha=0.5)
    x = display.areas_[0].get_paths()[0].vertices[:, 0]
    assert np.ptp(x) == pytest.approx(timedelta(seconds=1) / timedelta(days=1))
    assert display.figure_ is display.ax_.figure
    assert display.areas_[0].get_alpha() == 0.5
    pyplot.close(display.figure_)
