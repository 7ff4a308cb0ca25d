# SPDX-License-Identifier: BSD-3-Clause
"""Write the tables of quick figures into the documentation: ``python -m benchmarks._document [PAGE ...]``.

What is printed goes to doc/PAGE_tables.inc as it is, with the command, the time it took and versions.
"""

import contextlib
import importlib
import io
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from time import process_time

import skprivate

from ._timing import timed

DOC = Path(__file__).parent.parent / "doc"
PAGES = {
    "reproduction": (
        "figures/epsilon_and_rows",
        "figures/life_data/turbofan",
        "reproduction/games_as_printed",
        "reproduction/lls_as_printed",
    ),
    "papers": (
        "reproduction/collaborative_toy",
        "reproduction/query_perturbation",
        "reproduction/collaborative/collaborative_figures_5_6_10",
        "reproduction/collaborative/collaborative_table_4",
        "reproduction/collaborative/collaborative_figure_7",
        "reproduction/collaborative/collaborative_table_5",
        "reproduction/collaborative/collaborative_figure_9",
        "reproduction/games_figures",
        "reproduction/lls_figures",
        "reproduction/lpct_figures",
    ),
}
PACKAGES = ("numpy", "scipy", "scikit-learn")


def main() -> None:
    """Write the pages that are named, or all."""
    for page in sys.argv[1:] or PAGES:
        write_page(page)


def write_page(page: str) -> None:
    """Run the benchmarks of a page and write what they print."""
    parts = [_introduction(page)]
    for path in PAGES[page]:
        run = importlib.import_module(f"benchmarks.{path.replace('/', '.')}").run
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            took, _ = timed(run, process_time)
        parts.append(_section(f"python -m benchmarks {path}", printed.getvalue(), took))
        print(f"{path}: {took:.0f} s", flush=True)
    (DOC / f"{page}_tables.inc").write_text("\n".join(parts), encoding="utf-8")


def _introduction(page: str) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        ".. Written by python -m benchmarks._document; do not edit.\n\n"
        f"The tables below are what ``python -m benchmarks._document {page}`` prints,\n"
        f"on {platform.system()} with Python {platform.python_version()},\n"
        f"skprivate {skprivate.__version__}, {packages}.\n"
    )


def _section(command: str, printed: str, took: float) -> str:
    body = "\n".join(f"   {line}".rstrip() for line in printed.rstrip().splitlines())
    title, cost = f"``{command}``", f"{took:.0f} seconds of processor time."
    return f"{title}\n{'-' * len(title)}\n\n{cost}\n\n.. code-block:: text\n\n{body}\n"


if __name__ == "__main__":
    main()
