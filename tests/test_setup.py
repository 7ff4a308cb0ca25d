# SPDX-License-Identifier: BSD-3-Clause
"""Flags follow the compiler, and the version has one home."""

import runpy
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import skprivate

ROOT = Path(__file__).parents[1]


@pytest.fixture
def setup():
    pytest.importorskip("Cython")
    return runpy.run_path(str(ROOT / "setup.py"))


@pytest.mark.parametrize("name", ["skprivate.noise._stream_kernels", "skprivate._cyutility"])
def test_no_compiler_contracts_products(setup, monkeypatch, name):
    monkeypatch.delenv("CC", raising=False)
    for family in ("unix", "mingw32", "cygwin"):
        assert "-ffp-contract=off" in setup["compile_flags"](family, name)
    # cl.exe warns of each flag that it does not know.
    assert all(flag.startswith("/") for flag in setup["compile_flags"]("msvc", name))
    assert not any("clang" in flag for flag in setup["compile_flags"]("msvc", name))
    # clang-cl ignores the flag without this prefix, and contracts under /fp:precise.
    monkeypatch.setenv("CC", "clang-cl")
    assert setup["compile_flags"]("msvc", name)[-1] == "/clang:-ffp-contract=off"


def test_only_linkers_that_can_are_told_to_drop_symbols(setup, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert setup["link_flags"]("unix") == ["-Wl,-s"]
    assert setup["link_flags"]("msvc") == []
    monkeypatch.setattr("sys.platform", "darwin")
    assert setup["link_flags"]("unix") == []


def test_the_version_is_typed_once():
    assert "version" not in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert version("skprivate") == skprivate.__version__
