# SPDX-License-Identifier: BSD-3-Clause
"""Plant small bugs and see whether tests find them: ``python -m benchmarks.mutation --marks "not slow"``."""

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from .mutants import Mutant, draw_mutants

ROOT = Path(__file__).parents[2]
# Several times what the slowest room takes on a busy machine: a mutant may never end.
_TIME_LIMIT = 1200
_WIDE = ("doctests", "frames", "skops", "scikit_learn_checks")


def main() -> None:
    """Run the tests of a mutant's room on every mutant; print those that survive."""
    options = _parser().parse_args()
    mutants = draw_mutants(ROOT / "skprivate", options.count, options.seed, options.rooms, options.each)
    tried, survivors = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        copy = _copy(Path(name), options.tests)
        for number, mutant in enumerate(mutants):
            start = time.perf_counter()
            killer = _killer(copy, mutant, options.marks)
            tried[mutant.room] += 1
            survivors[mutant.room] += not killer
            print(f"{number:3} {time.perf_counter() - start:5.0f} s  {mutant}", flush=True)
            print(f"      {killer or 'SURVIVES'}", flush=True)
    print(f"{survivors.total()} of {tried.total()} survive")
    for room, number in sorted(tried.items()):
        print(f"  {room}: {survivors[room]} of {number}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="number of mutants (default: 60)")
    parser.add_argument("--rooms", nargs="*", default=[], help="folders of skprivate (default: all)")
    parser.add_argument("--each", type=int, default=0, help="at least so many mutants of every room")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of the mutants (default: 0)")
    parser.add_argument("--marks", default="", help="pytest's -m: which tests run (default: all)")
    parser.add_argument("--tests", type=Path, default=ROOT, help="a checkout whose tests run (default: this)")
    return parser


def _copy(top: Path, checkout: Path) -> Path:
    """Copy the package with its extensions, and the tests of a checkout."""
    ignored = shutil.ignore_patterns("__pycache__", "*.c")
    shutil.copytree(ROOT / "skprivate", top / "skprivate", ignore=ignored)
    for folder in ("tests", "benchmarks", "examples", "doc"):
        leave = shutil.ignore_patterns("__pycache__", "_build", "auto_examples", "generated")
        shutil.copytree(checkout / folder, top / folder, ignore=leave)
    for file in ("pyproject.toml", "README.md", "setup.py", "Makefile", "LICENSE"):
        shutil.copy(checkout / file, top / file)
    return top


def _killer(copy: Path, mutant: Mutant, marks: str) -> str:
    """Return the first test that fails, "" if none does: those of the same file first, then of its room."""
    path = copy / "skprivate" / mutant.path
    original = path.read_text(encoding="utf-8")
    path.write_text(mutant.source, encoding="utf-8")
    try:
        for places in _tests_of(copy, mutant):
            killer = _first_failure(copy, places, marks)
            if killer:
                return killer
        return ""
    finally:
        path.write_text(original, encoding="utf-8")


def _tests_of(copy: Path, mutant: Mutant) -> list[list[str]]:
    """Return the tests of a mutant's module; of its room; those that run every estimator, on its room's.

    ``tests/room/[folder/]test_module[_aspect].py`` tests ``skprivate/room/[_folder/]_module.py``.
    """
    *folders, module = (part.removeprefix("_") for part in Path(mutant.path).with_suffix("").parts)
    own = sorted(copy.joinpath("tests", *folders).glob(f"test_{module}*.py"))
    room = copy.joinpath("tests", mutant.room)
    every = (copy / "tests" / f"test_{name}.py" for name in _WIDE)
    wide = [path for path in every if path.exists()]
    exported = getattr(importlib.import_module(f"skprivate.{mutant.room}"), "__all__", ())
    names = " or ".join(name for name in exported if name[0].isupper())
    runs = (own, [room] if room.exists() else [], [*wide, "-k", names] if wide and names else wide[:1])
    return [[str(one) for one in run] for run in runs if run]


def _first_failure(copy: Path, places: list[str], marks: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *places]
    try:
        done = subprocess.run(
            [*command, *(["-m", marks] if marks else [])],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {_TIME_LIMIT} s"
    if done.returncode in (0, 5):
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0][:150] if failed else f"pytest ends with {done.returncode}"


if __name__ == "__main__":
    main()
