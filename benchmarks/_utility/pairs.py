# SPDX-License-Identifier: BSD-3-Clause
"""Paired differences of our models from all others, and where a private peer is ahead."""

from collections.abc import Iterator

from .._tables import Table, across
from .methods import METHODS, OURS
from .report import SCORES, epsilons, error_of, is_above, methods_at, places
from .scores import Cell, Records, differences

# Scores of which less is better.
LOSSES = ("log_loss", "rmse")


def print_differences(records: Records) -> None:
    """Print every table of differences, then where ours is behind a peer."""
    print("\nOurs - theirs by split, in points (hundredths), with standard errors; ! ours is worse")
    for name, setting in places(records):
        for ours in (m for m in methods_at(records, name, setting) if m in OURS):
            for score, title in SCORES.items():
                _print_block(records, (name, setting, ours), score, title)
    lines = list(_behind(records))
    print(
        f"\nThe best of ours is behind a private peer by more than 2 s.e.: {len(lines) or 'nowhere'}",
        *lines,
        sep="\n  ",
    )


def _theirs(records: Records, name: str, setting: str, ours: str) -> list[str]:
    """Return what a model is compared with: in label privacy, what protects no more than labels."""
    kinds = ("label", "public") if METHODS[ours].kind == "label" else ("central", "public", "ceiling", "peer")
    return [m for m in methods_at(records, name, setting) if METHODS[m].kind in kinds and m not in OURS]


def _difference(records: Records, ours: Cell, method: str, score: str) -> str | None:
    name, setting, _, epsilon = ours
    theirs = (name, setting, method, METHODS[method].epsilons((epsilon,))[0])
    found = differences(records.at(ours), records.at(theirs), score)
    if not len(found):
        return None
    worse = is_above(found if score in LOSSES else -found)
    return f"{100 * found.mean():+.1f} ±{100 * error_of(found):.1f}{'!' if worse else ' '}"


def _print_block(records: Records, place: tuple[str, str, str], score: str, title: str) -> None:
    shown = [e for e in epsilons(records) if e]
    rows = {
        method: [_difference(records, (*place, e), method, score) for e in shown]
        for method in _theirs(records, *place)
    }
    rows = {method: row for method, row in rows.items() if any(row)}
    if rows:
        name, setting, ours = place
        print(f"\n{name}, {setting} public rows: {ours}, {title}")
        table = Table(("minus", "<30"), *across(shown, ">13"), indent=2)
        for method, row in rows.items():
            table.row(method, *row)


def _behind(records: Records) -> Iterator[str]:
    """Yield a line for each peer and score where its lead over the best of our curator's models is clear.

    The best is that with the best mean on the test rows, which favours ours.
    """
    for name, setting in places(records):
        found = methods_at(records, name, setting)
        ours = [m for m in found if m in OURS and METHODS[m].kind == "central"]
        for peer in (m for m in found if METHODS[m].kind == "peer"):
            for score, title in SCORES.items():
                worse = []
                for epsilon in filter(None, epsilons(records)):
                    best = _best(records, [(name, setting, m, epsilon) for m in ours], score)
                    text = best and _difference(records, best, peer, score)
                    if best and text and text[-1] == "!":
                        worse.append(f"{epsilon:g}: {text[:-1]} ({best[2]})")
                if worse:
                    yield f"{name}, {setting} public, {title}, {peer}: {'; '.join(worse)}"


def _best(records: Records, cells: list[Cell], score: str) -> Cell | None:
    sign = 1 if score in LOSSES else -1
    scored = [cell for cell in cells if len(records.values(cell, score))]
    return min(scored, key=lambda cell: sign * records.values(cell, score).mean(), default=None)
