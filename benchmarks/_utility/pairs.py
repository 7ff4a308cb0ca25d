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
    print(f"\nBehind a private peer by more than 2 s.e.: {len(lines) or 'nowhere'}", *lines, sep="\n  ")


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
    """Yield a line for each of our curator's models, peer and score with a peer's clear lead."""
    for name, setting in places(records):
        found = methods_at(records, name, setting)
        for ours in (m for m in found if m in OURS and METHODS[m].kind == "central"):
            for peer in (m for m in found if METHODS[m].kind == "peer"):
                for score, title in SCORES.items():
                    cells = {
                        e: _difference(records, (name, setting, ours, e), peer, score)
                        for e in epsilons(records)
                        if e
                    }
                    worse = [f"{e:g}: {text[:-1]}" for e, text in cells.items() if text and text[-1] == "!"]
                    if worse:
                        yield f"{name}, {setting} public, {title}, {ours} - {peer}: {'; '.join(worse)}"
