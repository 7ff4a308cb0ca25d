# SPDX-License-Identifier: BSD-3-Clause
"""Figures and tables of the papers: small runs of their commands, and what those compute by themselves."""

import os
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import _document as document
from benchmarks.reproduction import games_figures, lls_figures, lpct_figures
from benchmarks.reproduction.collaborative import (
    collaborative_figure_7,
    collaborative_figure_9,
    collaborative_figures_5_6_10,
    collaborative_table_4,
    collaborative_table_5,
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


#: A folder of data, as SKPRIVATE_DATA names one.
FOLDER = Path(os.environ.get("SKPRIVATE_DATA", "no folder"))


def needs(name):
    return pytest.mark.skipif(not (FOLDER / name).is_dir(), reason=f"SKPRIVATE_DATA has no folder {name}")


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


@pytest.mark.slow
@pytest.mark.parametrize("module", DRAWN, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_picture_is_saved_where_it_shall_be(module, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    run(module, capsys, save=tmp_path / "new", small=True)
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


@pytest.mark.slow
def test_noise_costs_accuracy_where_a_swap_costs_none(capsys):
    lines = run(collaborative_table_4, capsys)
    # Linkage, the paper's in brackets left out, MSE, MSE under attack.
    original, swapped, noisy = (numbers(lines, name) for name in ("original", "BSTD(3, 8)", "DP 1.0"))
    assert swapped[1] == pytest.approx(original[1], rel=1e-3)
    assert swapped[2] > 2 * original[2]
    assert swapped[0] < 2 < 8 < noisy[0]
    assert noisy[1] > 50 * original[1]
    assert noisy[2] < noisy[1]


@pytest.mark.slow
def test_no_window_changes_the_error_and_every_one_the_linkage(capsys):
    lines = run(collaborative_figure_9, capsys)
    start = next(i for i, line in enumerate(lines) if line[:1] == ["(b)"])
    errors, linkage = numbers(lines[start:], "MSE"), numbers(lines[start:], "RL")
    assert np.ptp(errors) == 0
    assert linkage[1] < 1 < linkage[0]
    assert linkage[-1] > linkage[1]


@pytest.mark.slow
def test_noise_is_behind_the_platform_in_error_or_risk(capsys):
    lines = run(collaborative_figure_7, capsys)
    platforms = {name: numbers(lines, name) for name in ("TB", "TN", "NB", "NN")}
    assert all(row[0] > platforms["TB"][0] for name, row in platforms.items() if name != "TB")
    assert platforms["TN"][2] > 5 * platforms["TB"][2]
    assert sum(line[-1] == "none" for line in lines) == 2


@pytest.mark.slow
def test_coarsening_and_swapping_change_little_for_trees_too(capsys):
    lines = run(collaborative_figures_5_6_10, capsys)
    for name in ("local averages", "regression trees"):
        none, tqma, change, both, same, orientation, linkage = numbers(lines, name)
        assert tqma == both
        assert change == same == pytest.approx(100 * (tqma / none - 1), abs=0.05)
        assert change < 5
        assert orientation < 10
        assert linkage < 2


@pytest.mark.slow
@needs("warfarin")
def test_noise_on_both_sides_hides_less_than_the_platform(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    lines = run(collaborative_table_5, capsys, save=tmp_path, small=True)
    # CO, RL, RMSE of the low and of the high group.
    platform, noisy = (numbers(lines, name) for name in ("TB", "NN"))
    assert platform[1] < 5 < 15 < noisy[1]
    assert noisy[0] <= collaborative_table_5.CO
    assert [path.name for path in tmp_path.iterdir()] == ["collaborative_table_5.png"]


@pytest.mark.slow
def test_figures_of_games_are_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    drawn = {}
    monkeypatch.setitem(games_figures.SIZES, True, games_figures.Sizes(3, 4, 1, 10))
    monkeypatch.setattr(games_figures, "write", lambda figure, folder, name: drawn.update({name: figure}))
    games_figures.run(save=tmp_path, small=True)
    counts = {name: [len(panel.lines) for panel in figure.axes] for name, figure in drawn.items()}
    # Five noises and a gain of 1; bounds and attacks.
    assert counts == {"games_figure_1": [6] * 4, "games_figure_2": [7], "games_figure_3": [7]}
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    # Gains after passes, then the standard error: the printed sign learns the opposite of r.
    assert numbers(lines, "corrected, no noise")[-2] > 1.5
    assert numbers(lines, "printed, no noise")[-2] < 0.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_standardised_rows_come_near_the_papers_errors():
    setting = lls_figures.Setting("sev", 25, 10_000, 0.3)
    errors = {name: np.median(rows) for name, rows in lls_figures.errors_of(setting, 0).items()}
    assert errors["no noise"] < errors["X, y standardised"] < errors["as printed"] / 2
    assert errors["ours, Gaussian"] < errors["as printed"] / 2


@pytest.mark.slow
@needs("turbofan")
def test_figures_of_lifetimes_are_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    lines = run(lls_figures, capsys, save=tmp_path, small=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lls_figure_7.png", "lls_figures.png"]
    titles = [" ".join(line[:2]) for line in lines if line[0] == "Figure"]
    assert titles == [f"Figure {number}:" for number in (1, 2, 3, 4, 5, 6, 8, 9, 7)]


@pytest.mark.slow
def test_trees_of_the_paper_use_the_rows_that_their_names_say():
    """Differences of three percent points and more, over five seeds: each about four standard errors."""
    few, many = (lpct_figures.study(n, 50, 0.5, 8.0, 5) for n in (1000, 16_000))
    assert many["LPCT-P"] > few["LPCT-P"] + 0.03
    assert many["LPCT"] >= many["LPCT-P"] - 0.01
    assert few["ours"] > few["LPCT-P"]
    # Public rows alone, whatever the noise of private ones.
    noisy, exact = (lpct_figures.study(4000, 50, 0.5, epsilon, 2)["LPCT-Q"] for epsilon in (0.5, 1000.0))
    assert noisy == exact


@pytest.mark.slow
def test_an_assumed_range_costs_accuracy():
    (title, (_, _, series)), _ = lpct_figures.figure_8(lpct_figures.Sizes(), 2).items()
    assert title.startswith("Figure 8 (b)")
    assert np.all(np.array(series["known"]) > np.array(series["assumed, mean of ends"]))


@pytest.mark.slow
def test_figures_of_trees_are_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(lpct_figures, "FIGURES", (lpct_figures.figure_9,))
    lines = run(lpct_figures, capsys, save=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lpct_figure_3.png", "lpct_figures.png"]
    # The last budget is none: a random partition is nearly as good.
    plain, drawn = (numbers(lines, name) for name in ("LPCT", "LPCT-R"))
    assert plain[-1] > 0.7
    assert drawn[-1] > 0.7


@pytest.mark.slow
def test_tables_are_written_with_command_and_time(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "DOC", tmp_path)
    monkeypatch.setattr(document, "PAGES", {"short": ("reproduction/games_as_printed",)})
    monkeypatch.setattr(sys, "argv", ["document", "short"])
    document.main()
    text = (tmp_path / "short_tables.inc").read_text(encoding="utf-8")
    assert "``python -m benchmarks reproduction/games_as_printed``" in text
    assert "seconds of processor time" in text
    assert "Lemma 5 (1)" in text


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


def test_no_repetition_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "lpct_figures", "--seeds", "0"])
    with pytest.raises(SystemExit):
        command.main()
    assert "--seeds must be at least 1" in capsys.readouterr().err


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
