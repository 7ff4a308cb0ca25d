# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks are where their command, the documentation and comments say; none of them is run."""

import ast
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from benchmarks.__main__ import HOME, catalogue, chosen
from benchmarks._tables import Table
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
