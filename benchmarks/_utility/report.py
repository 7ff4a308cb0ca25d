# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the scores of one file of records, by method and epsilon."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .._tables import Table, across, mean_and_error, standard_error
from . import methods, sources
from .data import SETTINGS
from .methods import BASE, METHODS
from .scores import Cell, Records, differences

SCORES = {"accuracy": "accuracy", "auc": "AUC", "log_loss": "log loss", "r2": "R2", "rmse": "RMSE"}
# Standard errors of a paired difference beyond which it counts.
ERRORS = 2.0
# Differences of equal scores, in floating point, are no difference.
ROUNDING = 1e-9

CellText = Callable[[Cell], str | None]


def print_tables(records: Records) -> None:
    """Print the scores of every data set and setting."""
    print(f"{sources.NOTE}\n{methods.NOTE}")
    for name, setting in places(records):
        _print_place(records, name, setting)
    print_errors(records)


def places(records: Records) -> list[tuple[str, str]]:
    """Return the data sets and settings of which there are records, peers' alone left out."""
    found = [(name, setting) for name in sources.NAMES for setting in SETTINGS]
    return [place for place in found if records.at((*place, BASE, 0.0))]


def epsilons(records: Records) -> list[float]:
    """Return the epsilons of which there are records; 0 is that of the baselines."""
    return sorted({0.0, *records.names(3)})


def methods_at(records: Records, name: str, setting: str) -> list[str]:
    """Return the methods of which there are records."""
    return [m for m in METHODS if any(records.at((name, setting, m, e)) for e in epsilons(records))]


def _print_place(records: Records, name: str, setting: str) -> None:
    splits = len(records.at((name, setting, BASE, 0.0)))
    print(f"\n{name}, {setting} public rows: mean and standard error of {splits} splits")

    def show(title: str, text: CellText, without: Sequence[str] = ()) -> None:
        rows = {
            method: [text((name, setting, method, e)) for e in epsilons(records)]
            for method in methods_at(records, name, setting)
            if method not in without
        }
        _print_rows(title, epsilons(records), {m: row for m, row in rows.items() if any(row)})

    for score, title in SCORES.items():
        show(title, lambda cell, score=score: mean_text(records, cell, score))  # type: ignore[misc]
    show("seconds of a fit", lambda cell: mean_text(records, cell, "seconds"))
    show("log loss - base rate's (! worse by > 2 s.e.)", lambda cell: _gap(records, cell), (BASE,))
    show("own label at 0 / any at 0 or 1, % of rows", lambda cell: _certain(records, cell))
    show("fits that warned, %", lambda cell: _warned(records, cell))


def _print_rows(title: str, headings: list[float], rows: dict[str, list[str | None]]) -> None:
    if rows:
        table = Table((title, "<44"), *across(headings, ">14"), indent=2)
        for method, row in rows.items():
            table.row(method, *row)


def mean_text(records: Records, cell: Cell, score: str) -> str | None:
    """Return the mean of a score over splits and its standard error; None where there is none."""
    values = records.values(cell, score)
    if not len(values):
        return None
    return mean_and_error(values) if len(values) > 1 else f"{values[0]:.3f}"


def gap_to_base(records: Records, cell: Cell) -> NDArray[np.float64]:
    """Return log loss minus that of the base rate of the private training rows, by split."""
    return differences(records.at(cell), records.at((*cell[:2], BASE, 0.0)), "log_loss")


def _gap(records: Records, cell: Cell) -> str | None:
    gap = gap_to_base(records, cell)
    if not len(gap):
        return None
    return f"{gap.mean():+.3f} ±{error_of(gap):.3f}{'!' if is_above(gap) else ' '}"


def _certain(records: Records, cell: Cell) -> str | None:
    wrong, certain = (records.values(cell, score) for score in ("sure_wrong", "sure"))
    return f"{100 * wrong.mean():.2f} / {100 * certain.mean():.0f}" if wrong.any() or certain.any() else None


def _warned(records: Records, cell: Cell) -> str | None:
    warned = records.values(cell, "warned")
    return f"{100 * warned.mean():.0f}" if warned.any() else None


def error_of(found: NDArray[np.float64]) -> float:
    """Return the standard error of a mean of two or more values."""
    return float(standard_error(found)) if len(found) > 1 else np.nan


def is_above(found: NDArray[np.float64]) -> bool:
    """Whether the mean of paired differences is above 0 by more than two standard errors."""
    return len(found) > 1 and bool(found.mean() > ERRORS * error_of(found) + ROUNDING)


def print_errors(*files: Records) -> None:
    """Print what failed, once each."""
    failed = [
        f"{e['method']} on {e['data']}, {e['public']}: {e['error']}" for one in files for e in one.errors
    ]
    if failed:
        print("\nFailed fits:", *dict.fromkeys(failed), sep="\n  ")
