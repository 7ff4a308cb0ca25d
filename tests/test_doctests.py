# SPDX-License-Identifier: BSD-3-Clause
"""Every example in a docstring, in the README and in the documentation runs."""

import ast
import doctest
import functools
import importlib
import inspect
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import skprivate
from tests.marks import slow

pytestmark = pytest.mark.usefixtures("short_searches")
ROOT = Path(__file__).parent.parent
TOP = Path(skprivate.__file__).parent
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(skprivate.__path__, "skprivate.")
    if not module.name.endswith(("__main__", "_kernels", "_cyutility"))
)
# Written by hand: the gallery and the generated pages repeat what runs elsewhere.
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "doc").glob("*.rst")),
    *sorted((ROOT / "doc/proofs").glob("*.rst")),
]
# Rooms whose names are public; what starts with an underscore, and utils, is for us.
# An example's classes are those of its reader: none of the package says that it defines them.
OF_A_READER = {"__name__": "__main__"}
PACKAGES = ["skprivate", *(name for name in MODULES if "._" not in name and name != "skprivate.utils")]


class Finder(doctest.DocTestFinder):
    """Finds a class where it is written: public classes report the room that users import them from."""

    def _from_module(self, module, thing):
        if not inspect.isclass(thing) or not thing.__module__.startswith("skprivate"):
            return super()._from_module(module, thing)
        return thing.__qualname__.partition(".")[0] in classes_in(Path(module.__file__))


@functools.cache
def classes_in(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module, runner = importlib.import_module(name), doctest.DocTestRunner(optionflags=OPTIONS)
    for test in Finder().find(module, module.__name__, extraglobs=OF_A_READER):
        runner.run(test)
    assert runner.failures == 0


def test_every_example_is_run():
    written = {path: len(re.findall(r"^ *>>> ", path.read_text(), re.M)) for path in TOP.rglob("*.py")}
    found = dict.fromkeys(written, 0)
    for name in MODULES:
        module = importlib.import_module(name)
        for test in Finder().find(module, name):
            found[Path(module.__file__)] += len(test.examples)
    assert found == written


@pytest.mark.parametrize(
    "path",
    [slow(path) if path.stem in ("auditing", "life_data") else path for path in PAGES],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_pages(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The README's fence closes a block; doctest would read it as expected output.
    text = path.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, OF_A_READER, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test)
    assert runner.failures == 0


def test_walk_through(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))
    study = runpy.run_path(str(ROOT / "examples/plot_walkthrough.py"))
    assert study["result"].auc.lower < study["result"].auc.value < study["result"].auc.upper
    assert study["page"].count("A. Statistician") >= len(study["ledger"].refusals()) == 1
    assert [study[name].privacy_spent_.private for name in ("model", "lazy", "seeded")] == [
        True,
        False,
        False,
    ]
    assert [step.estimator for step in study["report"].uncovered] == ["StandardScaler"]


def test_every_public_class_and_function_has_an_example():
    bare = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            public = inspect.isclass(thing) or inspect.isfunction(thing)
            exempt = inspect.isclass(thing) and (issubclass(thing, Exception) or inspect.isabstract(thing))
            if public and not exempt and ">>>" not in (inspect.getdoc(thing) or ""):
                bare.append(f"{package}.{name}")
    assert not bare
