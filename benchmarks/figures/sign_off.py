# SPDX-License-Identifier: BSD-3-Clause
"""Models as a committee sees them: figures that `private_evaluate` publishes, beside the exact ones.

``python -m benchmarks.figures.sign_off --help`` lists the options. Raw Adult, with 500 public rows and
without; and doses of warfarin from three sites. The training part of every split is fitted at an epsilon, and
the test part, a fifth, is evaluated at the same epsilon. These are other people's rows: nobody spends more
than one of the two; a ledger with one label for both parts adds them up to twice the epsilon.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utility.data import make_split
from .._utility.methods import METHODS, chosen_methods
from .._utility.sources import missing
from ._exact_and_published import CLIP, exact, publish
from ._kept_predictions import KeptPredictions, Place, Published, fill
from ._sign_off_tables import ADULT, WARFARIN, Evaluated, print_tables
from ._warfarin_sites import AT_SITES, DEALINGS, Sites3, doses

EPSILONS = (0.5, 1.0, 2.0)
N_SPLITS = 20
SETTINGS = ("0", "500")
TABLES = ("adult", "warfarin")


def run(arguments: Sequence[str] = ()) -> None:
    """Print all tables, or what the options ask for."""
    options = _options(arguments)
    kept = KeptPredictions(options.out)
    gone = missing(tuple(options.data))
    if gone:
        print("Left out, for their files are not here: " + ", ".join(gone))
    for data in (name for name in options.data if name not in gone):
        if not options.no_fits:
            _fit(kept, data, options)
        if not options.exact:
            _evaluate(kept, data, options)
    print_tables(kept, _evaluated(kept, options), options.epsilons)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.sign_off")
    add = parser.add_argument
    add("--data", nargs="+", choices=TABLES, default=TABLES)
    add("--methods", nargs="+", default=(), help="parts of names, such as 'boosting' or 'three sites'")
    add("--epsilons", nargs="+", type=float, default=EPSILONS, help="of the fit, and of the evaluation")
    add("--splits", type=int, default=N_SPLITS, help="number of splits (default: 20)")
    add("--out", type=Path, help="lines of JSON; what they hold is not done again")
    add("--exact", action="store_true", help="publish nothing")
    add("--no-fits", action="store_true", help="evaluate and print what the file holds")
    return parser.parse_args(arguments)


def _fit(kept: KeptPredictions, data: str, options: argparse.Namespace) -> None:
    """Fit every method to every split; methods come one after the other, the slow ones last."""
    wanted = [name for name in (ADULT if data == "adult" else WARFARIN) if _asked(name, options)]
    methods = chosen_methods(name for name in wanted if name in METHODS)
    for name in wanted:
        if name in AT_SITES:
            _fit_at_sites(kept, name, options)
        elif name in methods:
            for setting in (s for s in SETTINGS if methods[name].runs_at(s)):
                _fit_rows(kept, data, setting, name, options)


def _asked(name: str, options: argparse.Namespace) -> bool:
    return not options.methods or any(part in name for part in options.methods)


def _fit_rows(kept: KeptPredictions, data: str, setting: str, name: str, options: argparse.Namespace) -> None:
    method = METHODS[name]
    if setting != "0" and (data == "warfarin" or method.kind == "base rate"):
        return
    for number in range(options.splits):

        def predict(epsilons: tuple[float, ...], number: int = number) -> Iterator[tuple[float, Any]]:
            for one in method.predict(make_split(data, setting, number), epsilons):
                yield one.epsilon, one.labels if one.proba is None else np.asarray(one.proba)[:, 1]

        fill(kept, (data, setting, name, number), method.epsilons(options.epsilons), predict)


def _fit_at_sites(kept: KeptPredictions, name: str, options: argparse.Namespace) -> None:
    epsilons = options.epsilons if AT_SITES[name][1] else (0.0,)
    for dealing in DEALINGS:
        for number in range(options.splits):

            def predict(
                epsilons: tuple[float, ...], dealing: str = dealing, number: int = number
            ) -> Iterator[tuple[float, Any]]:
                rows = Sites3(make_split("warfarin", "0", number), dealing)
                yield from ((epsilon, doses(name, rows, epsilon)) for epsilon in epsilons)

            fill(kept, ("warfarin", dealing, name, number), epsilons, predict)


def _evaluate(kept: KeptPredictions, data: str, options: argparse.Namespace) -> None:
    """Publish figures of all test rows, and of a quarter of them, once for every prediction and epsilon."""
    for place in [p for p in kept if p[0] == data and p[4] < options.splits]:
        for where in _publications(place, options.epsilons):
            if where not in kept.published:
                y, rows, known = _tested(place, where.rows)
                kept.publish(where, publish(_values(kept, place), y, rows, where.epsilon, known))


def _publications(place: Place, epsilons: Sequence[float]) -> Iterator[Published]:
    """What draws no noise is evaluated at every epsilon, what does at its own."""
    for epsilon in (place[3],) if place[3] else epsilons:
        for rows in ("all", "a quarter"):
            yield Published(place, epsilon, rows)


def _tested(place: Place, rows: str) -> tuple[NDArray[Any], NDArray[np.int64], dict[str, Any]]:
    """Return the labels of the test rows, which of them are evaluated, and the range of a number."""
    y, target_range = _answers(place[0], place[4])
    order = np.random.default_rng([place[4], 13]).permutation(len(y))
    chosen = order if rows == "all" else order[: len(y) // 4]
    return y, chosen, {"bounds_y": target_range} if target_range else {}


def _values(kept: KeptPredictions, place: Place) -> NDArray[np.float64]:
    """Return predictions; numbers are moved into the public range of the target, everybody's."""
    values, (_, target_range) = kept.values(place), _answers(place[0], place[4])
    return values if target_range is None else np.clip(values, *target_range)


@cache
def _answers(data: str, number: int) -> tuple[NDArray[Any], Any]:
    """Return labels or numbers of the test rows of a split, and the public range of a number."""
    split = make_split(data, "0", number)
    return split.y_test, split.target_range


def _evaluated(kept: KeptPredictions, options: argparse.Namespace) -> list[Evaluated]:
    found = []
    for place in kept:
        if place[0] in options.data and place[4] < options.splits and _asked(place[2], options):
            y, target_range = _answers(place[0], place[4])
            values, of_labels = _values(kept, place), target_range is None
            found.append(Evaluated(place, exact(values, y, of_labels), exact(values, y, of_labels, CLIP)))
    return found


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
