# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a ledger adds up what the ledger holds."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.dates import ConciseDateFormatter

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


def heights(area):
    """Largest height that an area reaches."""
    return area.get_paths()[0].vertices[:, 1].max()


@pytest.mark.parametrize("against", ["time", "fits"])
def test_areas_stand_on_each_other(ledger, axes, against):
    display = BudgetDisplay.from_ledger(ledger, against=against, ax=axes)
    assert display.totals() == {"no label": 0.5, "main": 1.5}
    assert [heights(area) for area in display.areas_] == [0.5, 2.0]
    assert display.ceiling_line_.get_ydata()[0] == 4
    assert axes.get_ylim()[1] > 4
    assert isinstance(axes.xaxis.get_major_formatter(), ConciseDateFormatter) == (against == "time")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "no label: 0.5",
        "main: 1.5",
        "ceiling 4",
        "remaining 2",
    ]


def test_steps_are_where_the_charges_are(ledger, axes):
    display = BudgetDisplay.from_ledger(ledger, against="fits", by="estimator", ax=axes)
    corners = display.areas_[1].get_paths()[0].vertices
    # Estimator A has 0.5, 0.75, 0.75, 1 after its charges; B starts with the third one.
    assert {(2.0, 1.75), (3.0, 1.75), (3.0, 2.0), (4.0, 2.0)} <= {tuple(corner) for corner in corners}
    assert display.totals() == {"A": 1.0, "B": 1.0}


def test_one_bar_an_entry(ledger, axes):
    display = BudgetDisplay.from_ledger(ledger, by="entry", ax=axes, alpha=0.5)
    assert (display.areas_, display.totals()) == ([], {"A": 1.0, "B": 1.0})
    drawn = [bar for container in display.bars_ for bar in container]
    drawn.sort(key=lambda bar: bar.get_x())
    assert [bar.get_x() + bar.get_width() / 2 for bar in drawn] == pytest.approx([1, 2, 3, 4])
    assert [(bar.get_y(), bar.get_height()) for bar in drawn] == [
        (0, 0.5),
        (0.5, 0.25),
        (0.75, 1),
        (1.75, 0.25),
    ]
    assert sum(bar.get_height() for bar in drawn) == float(ledger.spent()[0])
    # A colour for each estimator, and a hatch for the entry that is not private.
    colours = [bar.get_facecolor() for bar in drawn]
    assert colours[0] == colours[1] == colours[3] != colours[2]
    assert [bool(bar.get_hatch()) for bar in drawn] == [False, False, False, True]
    assert drawn[0].get_alpha() == 0.5
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1\n", "2\nmain", "3\nmain", "4\nmain"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        *("A: 1", "B: 1", "NOT PRIVATE", "ceiling 4", "remaining 2")
    ]


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


def test_a_total_over_several_relations_is_called_one(ledger, axes):
    ledger.charge(spend(Fraction(1, 4), relation="local"), "A")
    display = BudgetDisplay.from_ledger(ledger, ax=axes)
    assert display.n_kinds == 2
    assert axes.get_title().endswith("\nrelations or units differ: see compose")
