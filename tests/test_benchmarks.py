# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks are where the documentation says; none is run, but the judge of trees is tried by itself."""

import ast
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import HOME, catalogue, chosen
from benchmarks._tables import Table
from benchmarks._tree_utility.comparison import print_comparison
from benchmarks._tree_utility.data import SETTINGS, load, make_split
from benchmarks._tree_utility.methods import BASE, Prediction
from benchmarks._tree_utility.scores import Records, score
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
    assert "run" in [node.name for node in body if isinstance(node, ast.FunctionDef)]


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
    assert sizes == {"500": n_public, "50": 50, "0": 0, "500 permuted": n_public}
    first, permuted = found["500"], found["500 permuted"]
    assert np.array_equal(first.X, permuted.X)
    assert np.array_equal(first.y[~first.is_public], permuted.y[~first.is_public])
    assert np.any(first.y != permuted.y)
    assert np.array_equal(np.sort(first.y), np.sort(permuted.y))


def records(path, **changes):
    """Write two splits of a tree and of the base rate."""
    found = Records(path)
    scores = {"accuracy": 0.8, "auc": 0.9, "log_loss": 0.5, "sure": 0.0, "sure_wrong": 0.0, "warned": 0.0}
    for split in range(2):
        place = {"data": "cancer", "public": "500", "split": split}
        tree = {"method": "central, cart", "epsilon": 1.0, **scores, **changes}
        tree["accuracy"] += split / 1000
        found.add([place | scores | {"method": BASE, "epsilon": 0.0, "log_loss": 0.6}, place | tree])
    return Records(path)


def test_an_interrupted_comparison_goes_on(tmp_path):
    found = records(tmp_path / "a.jsonl")
    assert found.missing("cancer", "500", 0, "central, cart", (0.5, 1.0)).epsilons == (0.5,)
    assert found.missing("cancer", "500", 2, "central, cart", (0.5, 1.0)).epsilons == (0.5, 1.0)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({}, None),
        ({"accuracy": 0.785}, "(a) accuracy"),
        ({"accuracy": 0.792}, None),
        ({"auc": 0.89}, "(a) AUC"),
        ({"log_loss": 0.61}, "(b) log loss"),
        ({"sure": 0.1}, "(b) %"),
    ],
)
def test_a_comparison_begins_with_what_got_worse(tmp_path, capsys, change, finding):
    print_comparison(records(tmp_path / "old.jsonl"), records(tmp_path / "new.jsonl", **change))
    lines = capsys.readouterr().out.splitlines()
    found = [line for line in lines if line.startswith("(") and not line.endswith(": none")]
    assert [line[: len(finding or "")] for line in found] == ([finding] if finding else [])
