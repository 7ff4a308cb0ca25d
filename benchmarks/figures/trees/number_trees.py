# SPDX-License-Identifier: BSD-3-Clause
"""R2 of private trees of numbers beside private peers, models of public rows alone, and no privacy.

``python -m benchmarks.figures.trees.number_trees --help`` lists the options, those of ``trees_utility``;
``--quick`` stands for two splits and two epsilons, without the largest table. Splits are the same for all
methods, and noise is drawn anew.
"""

from collections.abc import Sequence

from ..._tables import Table, across
from ..._utility.command import Comparison
from ..._utility.methods import NUMBERS
from ..._utility.report import epsilons, error_of, mean_text, places, print_errors
from ..._utility.scores import Cell, Records, differences

DATA = ("friedman50k", "warfarin", "steps20k", "tail20k", "holes20k")
SETTINGS = ("500", "0")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
N_SPLITS = 4
QUICK = ("--splits", "2", "--epsilons", "1", "4", "--data", *DATA[1:])
NOTE = (
    "friedman50k: ten columns, noise 1; warfarin: doses of 5,527 patients; steps20k: nine boxes in two of\n"
    "five columns; tail20k: a log-normal cost, bounds ten times too wide; holes20k: levels, missing cells.\n"
    "A fifth of the private rows are for tests. 500 rows are public (at most a tenth), or none.\n"
    "central: a trusted curator, one row replaced; local: rows leave as reports; label: only targets are\n"
    "private. * LPDT with the best of a grid of depths, mechanisms and thresholds, chosen on the test rows."
)
OURS = "regression tree"


def show(records: Records) -> None:
    """Print the tables of every data set and setting."""
    print(NOTE)
    for name, setting in places(records):
        print(f"\n{name}, {setting} public rows: mean and standard error of the splits")
        _print_scores(records, name, setting, "r2", "R2")
        _print_scores(records, name, setting, "coverage", "90 % intervals of leaves: share that hold")
        _print_strongest(records, name, setting)
    print_errors(records)


def _print_scores(records: Records, name: str, setting: str, score: str, title: str) -> None:
    shown = epsilons(records)
    rows = {
        (kind, method): [mean_text(records, (name, setting, method, e), score) for e in shown]
        for kind, methods in NUMBERS.items()
        for method in methods
    }
    rows = {names: row for names, row in rows.items() if any(row)}
    if rows:
        table = Table(("protected", "<11"), (title, "<40"), *across(shown, ">14"), indent=2)
        for names, row in rows.items():
            table.row(*names, *row)


def _print_strongest(records: Records, name: str, setting: str) -> None:
    """Print the best of the others by epsilon, and what the best of ours has more, in points of R2."""
    shown = [e for e in epsilons(records) if e]
    table = Table(("protected", "<11"), ("strongest", "<40"), *across(shown, ">32"), indent=2)
    for kind in ("central", "local", "label"):
        others = [m for m in NUMBERS[kind] if OURS not in m]
        ours = [m for m in NUMBERS[kind] if OURS in m]
        public = [m for m in NUMBERS["epsilon 0"] if "public" in m]
        for title, methods in (("of private peers", others), ("of public rows alone", public)):
            best = [_best(records, name, setting, methods, e) for e in shown]
            if any(best):
                table.row(kind, title, *(cell and _named(records, cell) for cell in best))
                own = [_best(records, name, setting, ours, e) for e in shown]
                if any(own):
                    table.row("", "ours - it, in points", *map(lambda a, b: _lead(records, a, b), own, best))


def _best(records: Records, name: str, setting: str, methods: Sequence[str], epsilon: float) -> Cell | None:
    """Return the cell with the best mean on the test rows at an epsilon, or without noise."""
    cells: list[Cell] = [(name, setting, method, e) for method in methods for e in (0.0, epsilon)]
    found = [cell for cell in cells if len(records.values(cell, "r2"))]
    return max(found, key=lambda cell: records.values(cell, "r2").mean(), default=None)


def _named(records: Records, cell: Cell) -> str:
    return f"{cell[2].partition(' (')[0]} {records.values(cell, 'r2').mean():.3f}"


def _lead(records: Records, ours: Cell | None, theirs: Cell | None) -> str | None:
    if ours is None or theirs is None:
        return None
    found = 100 * differences(records.at(ours), records.at(theirs), "r2")
    return f"{found.mean():+.1f} ±{error_of(found):.1f}"


def run(arguments: Sequence[str] = ()) -> None:
    """Print all tables, or what the options ask for."""
    rest = [one for one in arguments if one != "--quick"]
    methods = tuple(method for group in NUMBERS.values() for method in group)
    comparison = Comparison(
        "figures.trees.number_trees", DATA, methods, show, SETTINGS, epsilons=EPSILONS, n_splits=N_SPLITS
    )
    comparison.run([*QUICK, *rest] if "--quick" in arguments else rest)


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
