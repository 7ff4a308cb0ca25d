# SPDX-License-Identifier: BSD-3-Clause
"""Comparison of two files of records, as two checkouts write them: findings, then both side by side."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._tables import Table, across
from .methods import METHODS
from .report import (
    SCORES,
    epsilons,
    error_of,
    gap_to_base,
    is_above,
    methods_at,
    places,
    print_errors,
)
from .scores import Cell, Records, differences

# A new checkout may lose so much accuracy.
MOST_ACCURACY_LOST = 0.01
KINDS = ("central", "local", "label")

#: A finding about a cell in a few characters, or None.
Finding = Callable[[Cell], str | None]


def print_comparison(old: Records, new: Records) -> None:
    """Print the findings about the second file, then both side by side.

    What reads no private row, and peers, may be in the first file alone.
    """
    new.borrow(old, ("public", "base rate", "peer"))
    change = partial(_change, old, new)
    print("Differences are in points, a hundred times the score, by epsilon, with paired standard errors.")
    _print_findings(new, "(a) accuracy below the old by more than .01", partial(_lost_accuracy, change))
    _print_findings(new, "(a) AUC below the old by more than 2 s.e.", partial(_lost_area, change))
    _print_findings(new, "(b) log loss above the base rate's by more than 2 s.e.", partial(_above_base, new))
    _print_findings(new, "(b) % of rows with a probability of exactly 0 or 1", partial(_certain, new))
    _print_beaten(new)
    print_errors(old, new)
    print("\nOld, new, and new - old in points with its standard error")
    for name, setting in places(new):
        for score, title in SCORES.items():
            _print_pairs(old, new, name, setting, score, title)


def _trees_at(records: Records, name: str, setting: str) -> list[str]:
    return [method for method in methods_at(records, name, setting) if METHODS[method].kind in KINDS]


def _print_findings(new: Records, title: str, finding: Finding) -> None:
    """Print one line for each tree with a finding."""
    lines = []
    for name, setting in places(new):
        for method in _trees_at(new, name, setting):
            cells = [(name, setting, method, e) for e in epsilons(new) if e]
            found = [f"{cell[3]:g}: {text}" for cell in cells if (text := finding(cell))]
            if found:
                lines.append(f"{name}, {setting} public, {method}: {'; '.join(found)}")
    _print_lines(title, lines)


def _print_lines(title: str, lines: Iterable[str]) -> None:
    found = list(lines)
    print(f"\n{title}: {len(found) or 'none'}", *found, sep="\n  ")


def _before(cell: Cell) -> Cell:
    """Return the cell of the method that a new one is compared with."""
    name, setting, method, epsilon = cell
    return (name, setting, METHODS[method].like or method, epsilon)


def _change(old: Records, new: Records, cell: Cell, score: str) -> NDArray[np.float64]:
    """Return new minus old by split."""
    return differences(new.at(cell), old.at(_before(cell)), score)


def _points(found: NDArray[np.float64]) -> str:
    return f"{100 * found.mean():+.1f} ±{100 * error_of(found):.1f}"


def _lost_accuracy(change: Callable[[Cell, str], NDArray[np.float64]], cell: Cell) -> str | None:
    found = change(cell, "accuracy")
    if not len(found) or found.mean() >= -MOST_ACCURACY_LOST:
        return None
    return _points(found) + ("" if is_above(-found) else " (within 2 s.e.)")


def _lost_area(change: Callable[[Cell, str], NDArray[np.float64]], cell: Cell) -> str | None:
    found = change(cell, "auc")
    return _points(found) if is_above(-found) else None


def _above_base(new: Records, cell: Cell) -> str | None:
    gap = gap_to_base(new, cell)
    return _points(gap) if is_above(gap) else None


def _certain(new: Records, cell: Cell) -> str | None:
    shares = new.values(cell, "sure")
    return f"{100 * shares.mean():.1f}" if shares.any() else None


class Contest(NamedTuple):
    """A place and a score by which the best of our trees and the best of others are compared."""

    name: str
    setting: str
    score: str
    sign: float

    def best(self, records: Records, epsilon: float, kinds: tuple[str, ...]) -> Cell | None:
        """Return the cell with the best mean among methods of some kinds, at an epsilon or without noise."""
        names = [m for m in methods_at(records, self.name, self.setting) if METHODS[m].kind in kinds]
        cells = [(self.name, self.setting, m, e) for m in names for e in (0.0, epsilon)]
        cells = [cell for cell in cells if records.at(cell)]
        return max(cells, key=lambda cell: self.sign * records.values(cell, self.score).mean(), default=None)


def _print_beaten(new: Records) -> None:
    """Print where the best of our trees of a kind is behind the best of the others.

    The best are chosen on the test rows, on both sides. Peers are compared with central trees only.
    """
    lines: list[str] = []
    for name, setting in places(new):
        for score, sign in (("accuracy", 1.0), ("log_loss", -1.0)):
            for kind in KINDS:
                lines += _beaten(new, Contest(name, setting, score, sign), kind)
    _print_lines("(c) the best model of public rows or peer wins by more than 2 s.e.", lines)


def _beaten(new: Records, contest: Contest, kind: str) -> Iterator[str]:
    others = ("public", "peer") if kind == "central" else ("public",)
    found = []
    for epsilon in filter(None, epsilons(new)):
        ours, theirs = (contest.best(new, epsilon, kinds) for kinds in ((kind,), others))
        if ours is None or theirs is None:
            continue
        lead = contest.sign * differences(new.at(theirs), new.at(ours), contest.score)
        if is_above(lead):
            shared = new.at(ours).keys() & new.at(theirs).keys()
            means = [np.mean([new.at(cell)[k][contest.score] for k in shared]) for cell in (theirs, ours)]
            names = theirs[2].removesuffix(", public rows"), ours[2].removeprefix(f"{kind}, ")
            found.append(f"{epsilon:g}: {names[0]} {means[0]:.3f}, {names[1]} {means[1]:.3f}")
    if found:
        yield f"{contest.name}, {contest.setting} public, {SCORES[contest.score]}, {kind}: {'; '.join(found)}"


def _print_pairs(old: Records, new: Records, name: str, setting: str, score: str, title: str) -> None:
    print(f"\n{name}, {setting} public rows: {title}")
    shown = [e for e in epsilons(new) if e]
    table = Table(("epsilon", "<28"), *across(shown, ">23"), indent=2)
    for method in _trees_at(new, name, setting):
        table.row(method, *(_pair(old, new, (name, setting, method, e), score) for e in shown))


def _pair(old: Records, new: Records, cell: Cell, score: str) -> str | None:
    found = _change(old, new, cell, score)
    if not len(found):
        return None
    shared = new.at(cell).keys() & old.at(_before(cell)).keys()
    before, after = (
        np.mean([one[k][score] for k in shared]) for one in (old.at(_before(cell)), new.at(cell))
    )
    return f"{before:.3f} {after:.3f} {_points(found)}"
