# SPDX-License-Identifier: BSD-3-Clause
"""Every example in a docstring, in the README and in the documentation runs."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import skprivate

ROOT = Path(__file__).parent.parent
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
PACKAGES = ["skprivate", *(name for name in MODULES if "._" not in name and name != "skprivate.utils")]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert failures == 0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The README's fence closes a block; doctest would read it as expected output.
    text = path.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test)
    assert runner.failures == 0


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
