# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a ledger adds up what the ledger holds."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.dates import ConciseDateFormatter
from matplotlib.figure import Figure

from skprivate import PrivacyLedger, PrivacySpent
from skprivate.inspection import BudgetDisplay

mpl.use("Agg")


def spent(epsilon, **changes):
    fields = {
        "mechanism": "discrete Laplace",
        "relation": "replace-one",
        "noise_scale": 4,
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
    }
    return PrivacySpent(epsilon=Fraction(epsilon), **(fields | changes))


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=4, delta=0.5)
    ledger.charge(spent("1/2"), "A")
    with ledger.label("main"):
        ledger.charge(spent("1/4", delta=0.125), "A")
        ledger.charge(spent("1"), "B")
        ledger.charge(spent("1/4", claim="not-private", reasons=("seeded",)), "A")
    return ledger


@pytest.fixture
def axes():
    return Figure().subplots()


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
    ]


def test_steps_are_where_the_charges_are(ledger, axes):
    display = BudgetDisplay.from_ledger(ledger, against="fits", by="estimator", ax=axes)
    corners = display.areas_[1].get_paths()[0].vertices
    # Estimator A has 0.5, 0.75, 0.75, 1 after its charges; B starts with the third one.
    assert {(2.0, 1.75), (3.0, 1.75), (3.0, 2.0), (4.0, 2.0)} <= {tuple(corner) for corner in corners}
    assert display.totals() == {"A": 1.0, "B": 1.0}


def test_delta(ledger, axes):
    display = BudgetDisplay.from_ledger(ledger, quantity="delta", ax=axes)
    assert display.totals() == {"no label": 0.0, "main": 0.125}
    assert display.ceiling_line_.get_ydata()[0] == 0.5
    assert axes.get_ylabel() == "delta spent"


def test_entries_that_are_not_private_are_named(ledger, axes):
    BudgetDisplay.from_ledger(ledger, ax=axes)
    assert axes.get_title() == "4 entries, 1 of them NOT PRIVATE"


def test_no_ceiling_and_no_entry(tmp_path, axes):
    display = BudgetDisplay.from_ledger(PrivacyLedger(tmp_path / "a"), ax=axes)
    assert display.areas_ == []
    assert display.ceiling_line_ is None
    assert axes.get_title() == "0 entries"


def test_one_entry_can_be_seen(axes):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    display = BudgetDisplay(times=[start], groups=["a"], amounts=[1.0]).plot(axes)
    x = display.areas_[0].get_paths()[0].vertices[:, 0]
    assert np.ptp(x) == pytest.approx(timedelta(seconds=1) / timedelta(days=1))


def test_new_figure(ledger):
    display = BudgetDisplay.from_ledger(ledger, alpha=0.5)
    assert display.figure_ is display.ax_.figure
    assert display.areas_[0].get_alpha() == 0.5
    pyplot.close(display.figure_)


@pytest.mark.parametrize(
    ("choice", "match"),
    [({"by": "mechanism"}, "by must be"), ({"quantity": "rho"}, "quantity"), ({"against": "x"}, "against")],
)
def test_bad_choice(ledger, choice, match):
    with pytest.raises(ValueError, match=match):
        BudgetDisplay.from_ledger(ledger, **choice)


def test_bad_ledger():
    with pytest.raises(TypeError, match="must be a PrivacyLedger, got str"):
        BudgetDisplay.from_ledger("study.ledger")


@pytest.mark.parametrize("name", ["BudgetDisplay", "PrivacyUtilityDisplay"])
def test_without_matplotlib_the_error_names_the_extra(name):
    calls = {
        "BudgetDisplay": "BudgetDisplay(times=[], groups=[], amounts=[]).plot()",
        "PrivacyUtilityDisplay": "PrivacyUtilityDisplay.from_estimator(None, [[0.0]], [0])",
    }
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        f"from skprivate.inspection import {name}\n"
        f"try:\n    {calls[name]}\n"
        "except ImportError as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == f"{name} needs matplotlib. Install it with: pip install 'skprivate[plot]'"


def test_a_total_over_several_relations_is_called_one(ledger, axes):
    ledger.charge(spent("1/4", relation="local"), "A")
    display = BudgetDisplay.from_ledger(ledger, ax=axes)
    assert display.n_kinds == 2
    assert axes.get_title().endswith("\nrelations or units differ: see compose")
