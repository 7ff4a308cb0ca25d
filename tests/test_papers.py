# SPDX-License-Identifier: BSD-3-Clause
"""Figures and tables of the papers: small runs of their commands, and what those compute by themselves."""

import re
import sys
from functools import cache

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks.reproduction.collaborative import (
    collaborative_figure_7,
    collaborative_figure_9,
    collaborative_figures_5_6_10,
    collaborative_table_4,
)
from benchmarks.reproduction.collaborative._noise import laplace, multiplicative, shares_of, synthesis
from skprivate.collaborative import BSTDAggregator, CollaborativeRegressor, LocalAverageRegressor
from skprivate.datasets import make_parties

from .test_benchmarks import ROOT

DRAWN = (
    collaborative_figure_7,
    collaborative_figure_9,
    collaborative_figures_5_6_10,
    collaborative_table_4,
)
#: Every item of the papers, by the title of its section.
ITEMS = {
    "Collaborative prediction": {"Figure": range(1, 11), "Table": range(1, 6)},
    "Games": {"Figure": range(1, 4)},
    "Log-location-scale regression": {"Figure": range(1, 10)},
    "Locally private trees": {"Figure": range(1, 11), "Table": range(1, 4)},
}


@cache
def platform():
    X, y, _ = make_parties(600, 10, random_state=0)
    local = LocalAverageRegressor("gaussian", bounds=(0, 1))
    swap = BSTDAggregator(2, 8, active_rule="box", random_state=1)
    # Of one size: nothing to warn of.
    return CollaborativeRegressor(local, aggregator=swap).fit(X, y, np.arange(600) % 10)


def run(module, capsys, **options):
    """Run a command on one seed, and return its numbers by the beginning of their line."""
    module.run(seeds=1, **options)
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def numbers(lines, start):
    """Return the numbers of the first line that begins with these words and has any."""
    words = start.split()
    rows = (line[len(words) :] for line in lines if line[: len(words)] == words)
    found = ([float(value) for value in row if re.fullmatch(r"[-+.e]*\d[-+\d.e]*", value)] for row in rows)
    return next(filter(None, found))


@pytest.mark.parametrize("module", DRAWN, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_picture_is_saved_where_it_shall_be(module, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    run(module, capsys, save=tmp_path / "new")
    (picture,) = (tmp_path / "new").iterdir()
    assert picture.name == f"{module.__name__.rpartition('.')[2]}.png"
    assert picture.stat().st_size > 10_000


def test_the_synthesis_of_shares_is_the_platforms():
    X = np.random.default_rng(2).uniform(size=(50, 5))
    found = synthesis(shares_of(platform(), X), platform().site_sizes_)
    assert found == pytest.approx(platform().predict(X), abs=1e-12)


def test_noise_on_shares_has_the_scale_that_is_asked_for():
    """A ratio of two standard deviations of 60,000 draws off by 4 % has a probability below 1e-8."""
    shares = np.tile([0.5, 1.0, 2.0], (20_000, 1))
    rng = np.random.default_rng(3)
    added = laplace(4.0)(shares, rng) - shares
    # The largest share of the query is 2.
    assert added.std() == pytest.approx(np.sqrt(2) * 2 / 4, rel=0.04)
    multiplied = multiplicative(9.0)(shares, rng) / shares
    assert multiplied.std() == pytest.approx(3 * shares.std(), rel=0.04)
    assert multiplied.mean() == pytest.approx(1, abs=6 * multiplied.std() / np.sqrt(60_000))


def test_noise_costs_accuracy_where_a_swap_costs_none(capsys):
    lines = run(collaborative_table_4, capsys)
    # Linkage, the paper's in brackets left out, MSE, MSE under attack.
    original, swapped, noisy = (numbers(lines, name) for name in ("original", "BSTD(3, 8)", "DP 1.0"))
    assert swapped[1] == pytest.approx(original[1], rel=1e-3)
    assert swapped[2] > 2 * original[2]
    assert swapped[0] < 2 < 8 < noisy[0]
    assert noisy[1] > 50 * original[1]
    assert noisy[2] < noisy[1]


def test_no_window_changes_the_error_and_every_one_the_linkage(capsys):
    lines = run(collaborative_figure_9, capsys)
    start = next(i for i, line in enumerate(lines) if line[:1] == ["(b)"])
    errors, linkage = numbers(lines[start:], "MSE"), numbers(lines[start:], "RL")
    assert np.ptp(errors) == 0
    assert linkage[1] < 1 < linkage[0]
    assert linkage[-1] > linkage[1]


def test_noise_is_behind_the_platform_in_error_or_risk(capsys):
    lines = run(collaborative_figure_7, capsys)
    platforms = {name: numbers(lines, name) for name in ("TB", "TN", "NB", "NN")}
    assert all(row[0] > platforms["TB"][0] for name, row in platforms.items() if name != "TB")
    assert platforms["TN"][2] > 5 * platforms["TB"][2]
    assert sum(line[-1] == "none" for line in lines) == 2


def test_coarsening_and_swapping_change_little_for_trees_too(capsys):
    lines = run(collaborative_figures_5_6_10, capsys)
    for name in ("local averages", "regression trees"):
        none, tqma, change, both, same, orientation, linkage = numbers(lines, name)
        assert tqma == both
        assert change == same == pytest.approx(100 * (tqma / none - 1), abs=0.05)
        assert change < 5
        assert orientation < 10
        assert linkage < 2


def test_missing_data_are_said_and_the_rest_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SKPRIVATE_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["benchmarks", "collaborative_table_5", "games_as_printed"])
    with pytest.raises(SystemExit) as stopped:
        command.main()
    out, err = capsys.readouterr()
    assert stopped.value.code == 1
    assert "NOT RUN, data missing" in out
    assert "warfarin.csv" in out
    assert "data missing: reproduction/collaborative/collaborative_table_5" in err
    assert "Lemma 5 (1)" in out


def test_an_option_that_nobody_takes_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "games_as_printed", "--seeds", "2"])
    with pytest.raises(SystemExit):
        command.main()
    assert "none of these benchmarks takes --seeds" in capsys.readouterr().err


def items_of(text):
    """Return every (kind, number) that the first cells of a section's rows name."""
    found = set()
    for cell in re.findall(r"^   \* - (.*)", text, re.MULTILINE):
        kind = re.match(r"(Figure|Table)", cell)
        if kind:
            spans = re.findall(r"(\d+)(?: to (\d+))?", cell)
            found |= {(kind[1], n) for a, b in spans for n in range(int(a), int(b or a) + 1)}
    return found


@pytest.mark.parametrize("section", ITEMS)
def test_every_item_of_a_paper_has_a_row(section):
    page = (ROOT / "doc" / "papers.rst").read_text(encoding="utf-8")
    text = page.split(f"\n{section}\n---", 1)[1].split("\n---", 1)[0]
    expected = {(kind, n) for kind, each in ITEMS[section].items() for n in each}
    assert items_of(text) == expected
