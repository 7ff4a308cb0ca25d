# SPDX-License-Identifier: BSD-3-Clause
"""Run benchmarks: ``python -m benchmarks NAME ...``; without a name, list them with one line each.

A name is a module (``censored`` or ``figures/life_data/censored``), a folder (``speed``) or ``all``.
Benchmarks that repeat draws take ``--seeds``, those that draw pictures ``--save``. ``--small`` takes the
smallest sizes that still run every line, as the tests do. Those of speed end with the table of goals.
"""

import argparse
import ast
import importlib
import inspect
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .speed._goals import Measured, print_goals

HOME = Path(__file__).parent
FOLDERS = ("speed", "figures", "reproduction")


def catalogue() -> dict[str, str]:
    """Return the first line of every benchmark by its path, such as ``speed/noise_draws``."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((HOME / folder).rglob("[!_]*.py"), key=lambda path: (path.parent, path.stem)):
            found[path.relative_to(HOME).with_suffix("").as_posix()] = first_line(path)
    return found


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring; nothing is imported."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def chosen(name: str, known: list[str]) -> list[str]:
    """Return the benchmarks that a name stands for: a module, a folder, or all."""
    if name == "all":
        return known
    name = name.strip("/")
    return [path for path in known if f"/{path}".endswith(f"/{name}") or path.startswith(f"{name}/")]


def show(found: dict[str, str]) -> None:
    """Print every folder with its benchmarks and their first lines."""
    folder = None
    for path, line in found.items():
        parent, _, name = path.rpartition("/")
        if parent != folder:
            folder = parent
            print(f"\n{folder}: {first_line(HOME / folder / '__init__.py')}")
        print(f"  {name:<24}{line}")


def taken(run: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return those of the given options that a benchmark's `run` has a parameter for."""
    return {name: value for name, value in options.items() if name in inspect.signature(run).parameters}


def main() -> None:
    """List the benchmarks, or run those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark, a folder of them, or all")
    parser.add_argument("--seeds", type=int, metavar="N", help="repetitions; more than the quick default")
    parser.add_argument("--save", type=Path, metavar="DIR", help="folder for pictures (matplotlib)")
    parser.add_argument("--small", action="store_true", default=None, help="the smallest sizes")
    given = vars(parser.parse_args())
    names, found = given.pop("names"), catalogue()
    options = {name: value for name, value in given.items() if value is not None}
    if options.get("seeds", 1) < 1:
        parser.error("--seeds must be at least 1")
    if not names:
        print("python -m benchmarks NAME ... runs benchmarks, folders of them, or all:")
        show(found)
    named = {name: chosen(name, list(found)) for name in names}
    for name in names:
        if not named[name]:
            parser.error(f"there is no benchmark {name!r}; without a name, the command lists them")
    paths = dict.fromkeys(path for name in names for path in named[name])
    runs = {path: importlib.import_module(f"benchmarks.{path.replace('/', '.')}").run for path in paths}
    for name in options:
        if runs and not any(taken(run, {name: None}) for run in runs.values()):
            parser.error(f"none of these benchmarks takes --{name}")
    if problems := run_all(runs, options):
        parser.exit(1, "".join(f"{problem}: {', '.join(paths)}\n" for problem, paths in problems.items()))


def run_all(runs: dict[str, Callable[..., Any]], options: dict[str, Any]) -> dict[str, list[str]]:
    """Run benchmarks, and return those that did not end, by what was wrong; one that fails stops no other."""
    measured: Measured = {}
    problems: dict[str, list[str]] = {}
    for path, run in runs.items():
        print(f"\n== {path}", flush=True)
        try:
            measured |= run(**taken(run, options)) or {}
        except Exception as error:
            is_missing = isinstance(error, FileNotFoundError) and "SKPRIVATE_DATA" in str(error)
            problems.setdefault("data missing" if is_missing else "failed", []).append(path)
            print(f"NOT RUN, data missing: {error}" if is_missing else traceback.format_exc(), flush=True)
    if measured:
        print_goals(measured)
    return problems


if __name__ == "__main__":
    main()
