# SPDX-License-Identifier: BSD-3-Clause
"""Run benchmarks: ``python -m benchmarks NAME ...``; without a name, list them with one line each.

A name is a module (``censored`` or ``figures/life_data/censored``), a folder (``speed``) or ``all``.
Benchmarks that repeat draws take ``--seeds``, those that draw pictures ``--save``.
"""

import argparse
import ast
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def taken(run: Callable[..., None], options: dict[str, Any]) -> dict[str, Any]:
    """Return those of the given options that a benchmark's `run` has a parameter for."""
    return {name: value for name, value in options.items() if name in inspect.signature(run).parameters}


def main() -> None:
    """List the benchmarks, or run those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark, a folder of them, or all")
    parser.add_argument("--seeds", type=int, metavar="N", help="repetitions; more than the quick default")
    parser.add_argument("--save", type=Path, metavar="DIR", help="folder for pictures (matplotlib)")
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
    missing = [path for path, run in runs.items() if not completed(path, run, options)]
    if missing:
        parser.exit(1, f"data missing: {', '.join(missing)}\n")


def completed(path: str, run: Callable[..., None], options: dict[str, Any]) -> bool:
    """Run a benchmark, and tell whether its data were there; without them it says where to get them."""
    print(f"\n== {path}", flush=True)
    try:
        run(**taken(run, options))
    except FileNotFoundError as error:
        if "SKPRIVATE_DATA" not in str(error):
            raise
        print(f"NOT RUN, data missing: {error}")
        return False
    return True


if __name__ == "__main__":
    main()
