# SPDX-License-Identifier: BSD-3-Clause
"""How far a reader has to walk: lines of a room, files that a fit enters, classes that an estimator inherits.

A limit goes down when code gets shorter; whoever raises one says why in the commit.
"""

import ast
import functools
import importlib
import inspect
import re
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import skprivate

ROOT = Path(__file__).parent.parent
TOP = Path(skprivate.__file__).parent
FILES = sorted(path for path in TOP.rglob("*") if path.suffix in {".py", ".pyx"})
MODULES = [path for path in FILES if path.name != "__init__.py"]

MOST_MODULES = 261
MOST_LINES_OF_A_MODULE = 520
MOST_FILES_OF_A_FIT = 25
MOST_FILES_OF_A_PREDICTION = 12
MOST_CLASSES = 4
MOST_LINES_BESIDE = {"tests": 45_489, "benchmarks": 9_657}
MOST_LINES = {
    "linear_model": 6170,
    "audit": 4410,
    "accounting": 4195,
    "rounds": 5299,
    "tree": 3541,
    "evaluation": 3238,
    "games": 3770,
    "collaborative": 3770,
    "collection": 2035,
    "domain": 1668,
    "ensemble": 1951,
    "partition": 1522,
    "utils": 1317,
    "model_selection": 1258,
    "base": 1195,
    "randomizers": 1094,
    "inspection": 1045,
    "preprocessing": 687,
    "noise": 808,
    "label_privacy": 744,
    "datasets": 558,
    "_demo": 452,
    "metrics": 412,
    "files at the top": 247,
}


@functools.cache
def code_lines(path):
    """Count the lines of a file that are neither blank, nor comments, nor docstrings."""
    text = path.read_text(encoding="utf-8")
    docstrings = set()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and ast.get_docstring(node) is not None
            ):
                docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return sum(
        number not in docstrings and bool(line.strip()) and not line.strip().startswith("#")
        for number, line in enumerate(text.split("\n"), 1)
    )


def lines_by_room():
    found = Counter()
    for path in FILES:
        room = path.relative_to(TOP).parts[0]
        found[room if path.parent != TOP else "files at the top"] += code_lines(path)
    return found


def test_no_room_grows():
    found = lines_by_room()
    assert {room: n for room, n in found.items() if n > MOST_LINES.get(room, 0)} == {}


@pytest.mark.parametrize(("folder", "most"), MOST_LINES_BESIDE.items())
def test_tests_and_benchmarks_grow_for_a_reason(folder, most):
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".js")]
    assert sum(map(code_lines, files)) <= most


def test_a_module_can_be_read_at_one_sitting():
    assert [path.name for path in MODULES if code_lines(path) > MOST_LINES_OF_A_MODULE] == []


def test_modules_are_few():
    assert len(MODULES) <= MOST_MODULES


def test_lines_are_counted(tmp_path):
    path = tmp_path / "module.py"
    path.write_text('"""Of two\n\nlines."""\n\n# why\nX = """text\n"""\n\n\ndef f():\n    """One."""\n')
    assert code_lines(path) == 3


def own_classes(cls):
    return [one for one in cls.__mro__ if one.__module__.partition(".")[0] == "skprivate"]


def public_estimators():
    rooms = ("tree", "ensemble", "linear_model", "label_privacy", "collaborative", "games", "preprocessing")
    for room in (*rooms, "model_selection"):
        module = importlib.import_module(f"skprivate.{room}")
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found) and issubclass(found, BaseEstimator):
                yield found


@pytest.mark.parametrize("cls", list(public_estimators()), ids=lambda cls: cls.__name__)
def test_an_estimator_inherits_few_classes(cls):
    assert len(own_classes(cls)) <= MOST_CLASSES, own_classes(cls)


def files_entered(call):
    """Return the files of the package, a function of which a warm call enters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
        found = set()

        def note(frame, event, _):
            if event == "call":
                found.add(frame.f_code.co_filename)

        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
    return sorted(Path(name).relative_to(TOP).as_posix() for name in found if name.startswith(str(TOP)))


DECLARED = {"bounds": (0, 1), "classes": [0, 1]}
TIMES = {"bounds_X": (0, 1), "bounds_y": (0.1, 20)}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.random((3000, 4))
    lifetime = np.exp(1 + X @ [0.5, 0.2, -0.3, 0.1] + 0.3 * np.log(random.exponential(size=3000)))
    lives = np.zeros(3000, dtype=[("event", bool), ("time", float)])
    lives["event"], lives["time"] = lifetime < 5, np.minimum(lifetime, 5)
    return {
        "X": X,
        "label": (X[:, 0] > 0.5).astype(int),
        "public": np.arange(3000) < 100,
        "time": lifetime,
        "lives": lives,
    }


FITS = {
    "local tree": lambda rows: skprivate.LocallyPrivateTreeClassifier(1.0, **DECLARED).fit(
        rows["X"], rows["label"], is_public=rows["public"]
    ),
    "central tree": lambda rows: skprivate.DPTreeClassifier(1.0, **DECLARED).fit(rows["X"], rows["label"]),
    "boosting": lambda rows: skprivate.DPBoostingClassifier(1.0, **DECLARED).fit(rows["X"], rows["label"]),
    "logistic": lambda rows: skprivate.DPLogisticRegression(1.0, **DECLARED).fit(rows["X"], rows["label"]),
    "moments": lambda rows: skprivate.DPSEVRegressor(1.0, **TIMES).fit(rows["X"], rows["time"]),
    "censored": lambda rows: skprivate.DPSEVRegressor(1.0, **TIMES).fit(rows["X"], rows["lives"]),
    "game": lambda rows: skprivate.PrivateNashSolver(max_iter=20).fit(
        skprivate.QuadraticAggregativeGame(P=1.0, Q=0.5, r=-4 * rows["X"][:50, 0], r_bounds=(-4, 0))
    ),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=list(FITS))
def test_a_fit_is_read_in_few_files(rows, fit):
    found = files_entered(lambda: fit(rows))
    assert len(found) <= MOST_FILES_OF_A_FIT, found


def test_a_prediction_is_read_in_few_files(rows):
    platform = skprivate.CollaborativeLARRegressor(bounds=(0, 1))
    platform.fit(rows["X"], rows["time"], sites=np.arange(3000) % 10)
    found = files_entered(lambda: platform.predict(rows["X"][:5]))
    assert len(found) <= MOST_FILES_OF_A_PREDICTION, found


def test_the_drawing_names_files_that_exist():
    page = (TOP.parent / "doc" / "architecture.rst").read_text(encoding="utf-8")
    named = set(re.findall(r"``(\w+/[\w/]*\.pyx?)``", page))
    rooms = {path.name for path in TOP.iterdir() if path.is_dir()}
    named = {name for name in named if name.partition("/")[0] in rooms}
    assert len(named) > 20
    assert [name for name in sorted(named) if not (TOP / name).is_file()] == []
