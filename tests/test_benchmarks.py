# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks are where the documentation says, each runs in a small size, and their judges are right."""

import ast
import importlib
import re
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks import __main__ as command
from benchmarks.__main__ import HOME, catalogue, chosen, run_all
from benchmarks._peers.linear import NoisyGradientDescent, ObjectivePerturbation, UnitBall
from benchmarks._peers.lpdt import LPDT, MaxEdgePartition, laplace_sums, response_sums
from benchmarks._tables import Table
from benchmarks._utility.comparison import print_differences
from benchmarks._utility.data import SETTINGS, differs, make_split
from benchmarks._utility.method import Prediction, leaf_coverage
from benchmarks._utility.methods import OURS
from benchmarks._utility.scores import score
from benchmarks._utility.sources import load
from benchmarks.figures.life_data._observed import COEF, ERRORS, INTERCEPT, SCALE, WAYS, observe
from benchmarks.mutation.mutants import draw_mutants

ROOT = HOME.parent
FOUND = catalogue()
MOST_FILES = 14
PATH = re.compile(r"benchmarks/[\w/]+\.py")
COMMAND = re.compile(r"python -m benchmarks((?: +[\w/]+)+)|make bench BENCH=([\w/]+)")


def texts():
    """Yield everything that may name a benchmark."""
    yield from (ROOT / "README.md", ROOT / "Makefile")
    folders = (ROOT / "doc", ROOT / "skprivate", ROOT / "tests", HOME)
    files = chain.from_iterable(folder.rglob("*") for folder in folders)
    yield from (path for path in files if path.suffix in (".py", ".pyx", ".rst", ".inc", ".md"))


def names():
    """Yield the file and name of every benchmark that is named."""
    for path in texts():
        if path != Path(__file__):
            for named in COMMAND.findall(path.read_text(encoding="utf-8")):
                yield from ((path.name, name) for name in " ".join(named).split() if name != "NAME")


def test_every_named_benchmark_exists():
    named = list(names())
    assert len(named) > 20
    missing = [f"{path}: {name}" for path, name in named if not chosen(name, list(FOUND))]
    assert not missing


def test_every_named_file_exists():
    named = {name for path in texts() for name in PATH.findall(path.read_text(encoding="utf-8"))}
    assert not [name for name in named if not (ROOT / name).exists()]


def test_a_name_stands_for_one_benchmark():
    counts = Counter(path.rpartition("/")[2] for path in FOUND)
    assert max(counts.values()) == 1


@pytest.mark.parametrize("path", FOUND)
def test_a_benchmark_says_what_it_measures_and_runs(path):
    body = ast.parse((HOME / f"{path}.py").read_text(encoding="utf-8")).body
    assert FOUND[path].endswith(".")
    (run,) = (node for node in body if isinstance(node, ast.FunctionDef) and node.name == "run")
    assert "small" in [argument.arg for argument in run.args.args + run.args.kwonlyargs]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", FOUND)
def test_a_benchmark_runs_in_a_small_size(path, capsys):
    run = importlib.import_module(f"benchmarks.{path.replace('/', '.')}").run
    try:
        run(small=True)
    except FileNotFoundError as error:
        if "SKPRIVATE_DATA" not in str(error):
            raise
        pytest.skip(f"data missing: {error}")
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_goal_of_speed_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "speed", "--small"])
    command.main()
    out = capsys.readouterr().out
    left_out = "censored life models" if "lifelines is not installed" in out else "nothing"
    assert out.endswith(f"Not measured: {left_out}\n")


def test_a_benchmark_that_fails_stops_no_other(capsys):
    def fails():
        raise KeyError("no such row")

    def asks_for_data():
        raise FileNotFoundError("set SKPRIVATE_DATA")

    problems = run_all({"first": fails, "second": asks_for_data, "third": lambda: print("ran")}, {})
    assert problems == {"failed": ["first"], "data missing": ["second"]}
    out = capsys.readouterr().out
    assert "KeyError: 'no such row'" in out
    assert out.endswith("== third\nran\n")


def test_a_folder_is_chosen_as_a_whole():
    assert chosen("speed", list(FOUND)) == [path for path in FOUND if path.startswith("speed/")]
    assert chosen("figures/trees/", list(FOUND)) == [path for path in FOUND if "/trees/" in path]
    assert chosen("all", list(FOUND)) == list(FOUND)
    assert chosen("spee", list(FOUND)) == []


def test_folders_are_small():
    files = (path.parent for path in HOME.rglob("*.py") if path.name != "__init__.py")
    assert max(Counter(files).values()) <= MOST_FILES


def test_a_table_aligns_headings_numbers_and_gaps(capsys):
    table = Table(("method", "<8"), ("error", ">7.2f"), indent=2)
    table.row("ours", 1.234)
    table.row("theirs", None)
    assert capsys.readouterr().out == "  method     error\n  ours        1.23\n  theirs         -\n"
    with pytest.raises(ValueError, match="no alignment"):
        Table(("method", "8"))


def test_mutants_change_one_place_each(tmp_path):
    source = "def share(count, total):\n    if not total:\n        return None\n    return count / total\n"
    (tmp_path / "shares.py").write_text(source, encoding="utf-8")
    mutants = draw_mutants(tmp_path, 10, seed=0)
    assert {str(mutant) for mutant in mutants} <= {
        "shares.py:2: not total -> (total)",
        "shares.py:4: count / total -> (count * total)",
        "shares.py:4: return count / total -> return None",
    }
    assert len(mutants) == 2, "one of a line"
    for mutant in mutants:
        ast.parse(mutant.source)
        changed = [a != b for a, b in zip(source.splitlines(), mutant.source.splitlines(), strict=True)]
        assert sum(changed) == 1
    assert mutants == draw_mutants(tmp_path, 10, seed=0)


def test_log_loss_counts_rows_whose_label_was_ruled_out():
    proba = np.array([[1.0, 0.0], [0.5, 0.5], [np.nan, np.nan], [0.25, 0.75]])
    found = score(Prediction(1.0, proba, np.array([0, 0, 0, 1])), np.array([1, 0, 1, 1]))
    assert found["log_loss"] == pytest.approx(-np.log([1e-15, 0.5, 1e-15, 0.75]).mean())
    assert (found["sure"], found["sure_wrong"], found["accuracy"]) == (0.25, 0.5, 0.5)


def test_numbers_have_scores_of_their_own():
    y = np.array([0.0, 2.0, 4.0])
    found = score(Prediction(1.0, None, np.array([0.0, 2.0, 1.0]), seconds=3.0), y)
    expected = {"r2": 1 - 3 / (8 / 3), "rmse": np.sqrt(3), "seconds": 3.0, "warned": 0.0}
    assert found == pytest.approx(expected)


def test_rows_of_linear_peers_have_norm_one():
    X = np.array([[-5.0, 20.0, 1.0, 0.0], [0.0, 3.0, 0.0, 1.0]])
    into = UnitBall((np.array([0.0, 2.0, 0.0, 0.0]), np.array([1.0, 10.0, 1.0, 1.0])), ((2, 3),), (1,))
    rows = into(X)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1])
    # Outside the bounds: their ends. Levels stay 0 and 1, and a constant follows.
    assert rows[0] == pytest.approx(np.array([-1, 1, 1, 0, 1]) / 2)
    assert rows[1] / rows[1, -1] == pytest.approx([-1, 2 * np.log(1 + 99 / 8) / np.log(100) - 1, 0, 1, 1])


@pytest.mark.parametrize("kind", [NoisyGradientDescent, ObjectivePerturbation])
def test_linear_peers_find_the_rule_where_noise_is_small(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (X @ [1.0, -2.0, 0.5] > 0).astype(np.int64)
    assert np.mean(kind(4.0, random_state=1).fit(X, y).predict(X) == y) > 0.97


@pytest.mark.parametrize("rule", ["max-edge", "cart"])
@pytest.mark.parametrize("mechanism", ["laplace", "response"])
def test_lpdt_finds_the_steps_where_noise_is_small(rule, mechanism):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(5000, 3))
    y = 3.0 * (X[:, 0] >= 0) + (X[:, 2] >= 0)
    is_public = np.arange(len(X)) < 500
    # Public rows draw the cells; what is in these comes from private ones.
    given = np.where(is_public, 7 - y, y)
    bounds = np.full(3, -2.0), np.full(3, 2.0)
    model = LPDT(1e7, bounds=bounds, target_range=(-5, 5), max_depth=3, rule=rule, mechanism=mechanism)
    model.set_params(random_state=1).fit(X, given, is_public)
    assert model.score(X[~is_public], y[~is_public]) > 0.99
    assert model.set_params(least_share=1.0).fit(X, given, is_public).score(X, 7 - y) > 0.95


@pytest.mark.parametrize("draw", [laplace_sums, response_sums])
def test_noise_of_lpdt_is_that_of_its_reports(draw):
    """The ratio of two variances of 4,000 sums each is beyond a third with probability below 1e-12."""
    n, n_cells, budget = 1000, 4000, (1.0, 20.0)
    rng = np.random.default_rng(2)
    u = rng.uniform(-1, 1, size=n)
    found = np.array(draw(np.zeros(n, dtype=np.intp), u, n_cells, budget, rng))[:, 1:]
    one_by_one = np.zeros((2, n_cells))
    keep = 1 / (1 + np.exp(-budget[0] / 2))
    for value in u + rng.laplace(scale=2 / budget[1], size=n):
        if draw is laplace_sums:
            one_by_one += rng.laplace(scale=2 / np.array(budget)[:, np.newaxis], size=(2, n_cells))
        else:
            entry = (rng.uniform(size=n_cells) < 1 - keep) - (1 - keep)
            one_by_one += np.outer([1, value], entry / (2 * keep - 1))
    expected = one_by_one[:, 1:]
    assert found.var(axis=1) == pytest.approx(expected.var(axis=1), rel=1 / 3)
    assert np.abs(found.mean(axis=1)) == pytest.approx(np.zeros(2), abs=6 * expected.std() / np.sqrt(n_cells))


def test_max_edge_halves_every_column_before_one_twice():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(400, 2))
    partition = MaxEdgePartition(X, X[:, 1], 2)
    assert np.array_equal(partition.feature[:3], [1, 0, 0])
    assert np.array_equal(partition.threshold[:3], [0.5, 0.5, 0.5])
    quarters = np.unique(np.column_stack([X >= 0.5, partition.apply(X)]), axis=0)
    assert len(quarters) == 4


def test_coverage_of_leaf_intervals_allows_for_the_test_rows():
    """Of 2,000 intervals about .88 hold (20 rows a leaf); six standard deviations are .043."""
    rng = np.random.default_rng(4)
    leaves = np.repeat(np.arange(2000), 20)
    y = leaves + rng.normal(size=len(leaves))
    exact = np.repeat(np.arange(2000.0)[:, np.newaxis], 2, axis=1)

    def share(intervals):
        tree = SimpleNamespace(apply=lambda X: X, leaf_intervals=lambda confidence: intervals)
        return leaf_coverage(tree, leaves, y)

    assert share(exact) == pytest.approx(0.88, abs=0.043)
    assert share(exact + [-2, 2]) == 1
    assert share(exact + 2) == 0
    assert np.isnan(leaf_coverage(SimpleNamespace(), leaves, y))


@pytest.mark.parametrize("name", ["friedman50k", "steps20k", "tail20k", "holes20k"])
def test_declared_targets_hold_the_numbers(name):
    data = load(name)
    low, high = data.target_range
    assert np.mean((data.y < low) | (data.y > high)) < 0.001
    assert np.all(np.isfinite(data.X))


@pytest.mark.parametrize("name", ["cancer", "drift10k"])
def test_settings_share_private_test_rows(name):
    data, found = load(name), {setting: make_split(name, setting, 3) for setting in SETTINGS}
    n_private = np.sum(~data.is_public)
    for split in found.values():
        assert np.array_equal(split.X_test, found["0"].X_test)
        assert not set(map(bytes, split.X_test)) & set(map(bytes, split.X))
        assert set(map(bytes, split.X_test)) <= set(map(bytes, data.X[~data.is_public]))
        assert len(split.X_test) == n_private // 5
        assert len(set(map(bytes, split.X))) == len(split.X)
    sizes = {setting: int(split.is_public.sum()) for setting, split in found.items()}
    n_public = 500 if data.is_public.any() else n_private // 10
    assert sizes == {"all": n_public, "500": n_public, "50": 50, "0": 0, "500 permuted": n_public}
    assert [setting for setting in SETTINGS if not differs(name, setting)] == ["all"]
    first, permuted = found["500"], found["500 permuted"]
    assert np.array_equal(first.X, permuted.X)
    assert np.array_equal(first.y[~first.is_public], permuted.y[~first.is_public])
    assert np.any(first.y != permuted.y)
    assert np.array_equal(np.sort(first.y), np.sort(permuted.y))


@pytest.mark.parametrize(("log_loss", "behind"), [(0.4, False), (0.495, False), (0.52, True)])
def test_differences_end_with_what_is_behind_a_peer(capsys, log_loss, behind):
    found = []
    for split in range(2):
        place = {"data": "cancer", "public": "500", "split": split, "epsilon": 1.0, "accuracy": 0.8}
        noise = split / 1000
        found.append(place | {"method": OURS[0], "log_loss": log_loss + noise})
        found.append(place | {"method": "objective perturbation", "log_loss": 0.5 - noise})
    print_differences(pd.DataFrame(found))
    last = capsys.readouterr().out.rpartition("behind")[2].strip().splitlines()
    assert len(last) - 1 == behind
    assert ("nowhere" in last[0]) is not behind
    assert all("log loss, objective perturbation: 1: +2.1" in line for line in last[1:])


def log_likelihood(law, data, intercept):
    """Return the logarithm of every row's likelihood at the slopes and the scale that it was drawn with."""
    line = intercept + data.X @ COEF
    with np.errstate(divide="ignore"):
        low, high, entry = (
            (np.log(times) - line) / SCALE
            for times in (data.lower, data.upper, np.zeros(len(line)) if data.entry is None else data.entry)
        )
        seen = np.where(data.event, law.logpdf(low), np.log(law.sf(low) - law.sf(high)))
    return seen - law.logsf(entry)


@pytest.mark.parametrize("distribution", ERRORS)
@pytest.mark.parametrize("way", WAYS)
def test_observed_lifetimes_follow_their_model(way, distribution):
    data = observe(way, distribution, 20_000, seed=0)
    kinds = {
        "exact": data.event,
        "right": np.isinf(data.upper),
        "left": (data.lower == 0) & ~data.event,
        "interval": (data.lower > 0) & (data.lower < data.upper) & np.isfinite(data.upper),
        "entry": np.zeros(20_000) if data.entry is None else data.entry > 0,
    }
    assert {kind for kind, rows in kinds.items() if rows.any()} == set(data.kinds)
    law = {"sev": stats.gumbel_l, "logistic": stats.logistic, "normal": stats.norm}[ERRORS[distribution]]
    ends = (log_likelihood(law, data, INTERCEPT + step) for step in (1e-4, -1e-4))
    score = np.subtract(*ends)
    # Of mean 0 at the truth: 33 tests at 6 standard errors, false alarm 7e-8.
    assert abs(score.mean()) < 6 * score.std() / np.sqrt(len(score))
