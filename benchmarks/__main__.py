# SPDX-License-Identifier: BSD-3-Clause
"""Run benchmarks: ``python -m benchmarks NAME ...``; without a name, list them with one line each.

A name is a module (``censored`` or ``figures/life_data/censored``), a folder (``speed``) or ``all``.
"""

import argparse
import ast
import importlib
from pathlib import Path

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


def main() -> None:
    """List the benchmarks, or run those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark, a folder of them, or all")
    names, found = parser.parse_args().names, catalogue()
    if not names:
        print("python -m benchmarks NAME ... runs benchmarks, folders of them, or all:")
        show(found)
    paths = {name: chosen(name, list(found)) for name in names}
    for name in names:
        if not paths[name]:
            parser.error(f"there is no benchmark {name!r}; without a name, the command lists them")
    for path in dict.fromkeys(path for name in names for path in paths[name]):
        print(f"\n== {path}", flush=True)
        importlib.import_module(f"benchmarks.{path.replace('/', '.')}").run()


if __name__ == "__main__":
    main()
