# SPDX-License-Identifier: BSD-3-Clause
"""The command `skprivate` reaches both programs, and imports only what it runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skprivate
from skprivate import __main__ as demonstration
from skprivate._command import main

SCRIPT = shutil.which("skprivate", path=Path(sys.executable).parent)
HEAVY = ("sklearn", "scipy", "joblib", "pandas", "matplotlib")


def test_the_demonstration_gets_its_options(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(demonstration, "run", lambda *options: calls.append(options))
    picture = tmp_path / "picture.png"
    assert main(["demo", "--full", str(picture)]) == 0
    assert main(["demo"]) == 0
    assert calls == [(picture, True), (Path("skprivate_demo.png"), False)]


def test_a_collection_runs_and_hands_its_code_on(capsys, tmp_path):
    missing = tmp_path / "study.state"
    assert main(["collection", "curator", "show", str(missing)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {missing}: ")


@pytest.mark.parametrize("command", ["demo", "collection"])
def test_help_and_errors_name_what_was_typed(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: skprivate {command} ")
    assert "python -m" not in printed
    with pytest.raises(SystemExit) as left:
        main([command, "--nonsense"])
    assert left.value.code == 2
    assert f"skprivate {command}" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["--full"]])
def test_without_a_command_nothing_runs(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "demo|collection" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["--version"], f"skprivate {skprivate.__version__}"),
        (["--help"], "usage: skprivate "),
        (["collection", "client", "--help"], "usage: skprivate collection client "),
    ],
)
def test_the_installed_command_starts_light(arguments, first):
    environment = os.environ | {"PYTHONPROFILEIMPORTTIME": "1"}
    out = subprocess.run([SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout.startswith(first)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in out.stderr.splitlines()}
    assert "skprivate" in imported
    assert not imported & set(HEAVY)
