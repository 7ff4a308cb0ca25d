# SPDX-License-Identifier: BSD-3-Clause
"""Write the tables of quick figures into the documentation: ``python -m benchmarks._document``.

What is printed goes to doc/reproduction_tables.inc as it is, with the command, the time it took and versions.
"""

import contextlib
import importlib
import io
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import process_time

import skprivate

from ._timing import timed

PAGE = Path(__file__).parent.parent / "doc" / "reproduction_tables.inc"
TABLES = (
    "figures/epsilon_and_rows",
    "figures/life_data/turbofan",
    "reproduction/games_as_printed",
    "reproduction/lls_as_printed",
)
PACKAGES = ("numpy", "scipy", "scikit-learn")


def main() -> None:
    """Write the page."""
    parts = [_introduction()]
    for path in TABLES:
        printed, took = _captured(importlib.import_module(f"benchmarks.{path.replace('/', '.')}").run)
        parts.append(_section(f"python -m benchmarks {path}", printed, took))
        print(f"{path}: {took:.0f} s", flush=True)
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def _captured(run: Callable[[], None]) -> tuple[str, float]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        took, _ = timed(run, process_time)
    return printed.getvalue(), took


def _introduction() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        ".. Written by python -m benchmarks._document; do not edit.\n\n"
        f"The tables below are what ``python -m benchmarks._document`` prints, on {platform.system()} with\n"
        f"Python {platform.python_version()}, skprivate {skprivate.__version__},\n{packages}.\n"
    )


def _section(command: str, printed: str, took: float) -> str:
    body = "\n".join(f"   {line}".rstrip() for line in printed.rstrip().splitlines())
    title, cost = f"``{command}``", f"{took:.0f} seconds of processor time."
    return f"{title}\n{'-' * len(title)}\n\n{cost}\n\n.. code-block:: text\n\n{body}\n"


if __name__ == "__main__":
    main()
