# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons of methods: a row of scores for every fit, and tables of scores and of paired differences.

N_JOBS processes work at them. SKPRIVATE_BENCH_CACHE names a folder in which finished fits are kept, from
which an interrupted comparison goes on. Delete it when a method has changed.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import joblib
import pandas as pd

from .data import differs, make_split
from .methods import BASE, METHODS, OURS, chosen_methods
from .methods import NOTE as METHODS_NOTE
from .parallel import in_parallel
from .scores import error_of, is_above, mean_text, score
from .sources import NOTE, present

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
SCORES = {"accuracy": "accuracy", "auc": "AUC", "log_loss": "log loss", "r2": "R2", "rmse": "RMSE"}
# Scores of which less is better.
LOSSES = ("log_loss", "rmse")
SHOWN = {
    **SCORES,
    "coverage": "90 % intervals of leaves: share that hold",
    "seconds": "seconds of a fit",
    "sure": "share of rows with a probability of 0 or 1",
    "sure_wrong": "share of rows whose own label has probability 0",
    "warned": "share of fits that warned",
}
#: Kinds of methods with which one of ours is compared, by its kind: those that protect no more.
RIVALS = {
    "central": ("central", "public", "base rate", "ceiling", "peer"),
    "local": ("local", "public", "base rate", "ceiling", "peer"),
    "label": ("label", "public", "base rate"),
}
#: Rows of a table and methods in a small run: one method of each way, none that takes long.
FEW_ROWS = 600
FEW_METHODS = (
    *("boosting (delta 1e-6)", "logistic (delta 1e-6)", "central, max-edge", "central, one-hot"),
    *("local, codes", "label, cart", "central, regression tree", "local, regression tree"),
    *("label, regression tree", "base rate, public rows", BASE, "logistic, public rows"),
    *("logistic, not private", "noisy gradients (delta 1e-6)", "objective perturbation"),
    *("tree, public rows", "every patient's own site (at random)"),
    *(f"three sites, {name} (at random)" for name in ("ridge, secure sum", "coarsened queries, swaps")),
)

Evaluate = Callable[..., list[dict[str, Any]]]


def scores_of(data: str, setting: str, seed: int, method: str, *how: Any) -> list[dict[str, Any]]:
    """Return the scores of a method on a split at several epsilons; what failed, if it did."""
    epsilons, most_rows = how
    split = make_split(data, setting, seed, most_rows)
    place = {"data": data, "public": setting, "method": method, "split": seed}
    try:
        found = list(METHODS[method].predict(split, epsilons))
    except Exception as error:  # a benchmark of hours goes on, and its table says what failed
        return [{**place, "error": f"{type(error).__name__}: {error}"[:300]}]
    return [{**place, "epsilon": one.epsilon, **score(one, split.y_test)} for one in found]


def compare(
    data: Iterable[str],
    methods: Iterable[str],
    settings: Iterable[str],
    seeds: int,
    epsilons: tuple[float, ...] = EPSILONS,
    small: bool = False,
    evaluate: Evaluate = scores_of,
) -> pd.DataFrame:
    """Evaluate methods on splits; what needs no public rows shows with every number of these."""
    most_rows = FEW_ROWS if small else None
    if small:
        methods = (name for name in methods if name in FEW_METHODS)
        seeds, epsilons = 2, epsilons[-1:]
    known = chosen_methods(methods)
    tasks = [
        (name, setting, seed, method, known[method].epsilons(epsilons), most_rows)
        for name in present(data)
        for seed in range(seeds)
        for setting in settings
        if differs(name, setting)
        for method in known
        if known[method].runs_at(setting)
    ]
    kept = joblib.Memory(os.environ.get("SKPRIVATE_BENCH_CACHE"), verbose=0).cache(evaluate)
    found = pd.DataFrame(chain.from_iterable(in_parallel(kept, tasks)))
    is_shared = found.method.map(lambda name: METHODS[name].shows_elsewhere())
    elsewhere = found[(found.public == "0") & is_shared]
    others = [setting for setting in found.public.unique() if setting != "0"]
    return pd.concat([found, *(elsewhere.assign(public=setting) for setting in others)])


def places(found: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of every data set with its setting, and its part of the table."""
    for (name, setting), part in found.groupby(["data", "public"], sort=False):
        yield f"{name}, {setting} public rows", part.dropna(axis=1, how="all")


def print_tables(found: pd.DataFrame) -> None:
    """Print the scores of every data set and setting, and what failed."""
    print(f"{NOTE}\n{METHODS_NOTE}")
    for name, part in places(found):
        print(f"\n{name}: mean and standard error of {part.split.nunique()} splits")
        for column, title in SHOWN.items():
            if column in part and part[column].any():
                show(title, part.dropna(subset=column), column)
    if "error" in found:
        failed = found.dropna(subset="error").drop_duplicates(["data", "method", "error"])
        print("\nFailed fits:")
        for one in failed.itertuples():
            print(f"  {one.method} on {one.data}, {one.public}: {one.error}")


def show(title: str, part: pd.DataFrame, column: str, text: Callable[[Any], str] = mean_text) -> None:
    """Print a column by method and epsilon; epsilon 0 reads no private row."""
    cells = part.pivot_table(column, "method", "epsilon", aggfunc=text, sort=False).sort_index(axis=1)
    print(f"  {title}", cells.fillna("-").to_string(index_names=False), sep="\n")


def print_differences(found: pd.DataFrame, ours: tuple[str, ...] = OURS) -> None:
    """Print ours less theirs by split, then where the best of ours is behind a private peer."""
    print("\nOurs - theirs by split, in points (hundredths), with standard errors; ! ours is worse")
    behind = []
    for name, part in places(found):
        for column in (column for column in SCORES if column in part):
            wide = part.dropna(subset=column).pivot(
                index="split", columns=["method", "epsilon"], values=column
            )
            for method in (m for m in ours if m in wide):
                _print_block(f"\n{name}: {method}, {SCORES[column]}, minus", wide, method, column)
            behind += _behind(f"{name}, {SCORES[column]}", wide, ours, column)
    print(f"\nThe best of ours is behind a private peer by more than 2 s.e.: {len(behind) or 'nowhere'}")
    print(*behind, sep="\n  ")


def _print_block(title: str, wide: pd.DataFrame, method: str, column: str) -> None:
    kinds = RIVALS[METHODS[method].kind]
    others = [m for m in dict.fromkeys(wide.columns.get_level_values(0)) if METHODS[m].kind in kinds]
    rows = {
        other: {f"{e:g}": _points(wide, (method, e), other, column) for e in wide[method]}
        for other in others
        if other != method
    }
    print(title, pd.DataFrame(rows).T.to_string(), sep="\n")


def _points(wide: pd.DataFrame, ours: tuple[str, float], other: str, column: str) -> str:
    theirs = (other, METHODS[other].epsilons((ours[1],))[0])
    lead = (wide[ours] - wide[theirs]).dropna() if theirs in wide else pd.Series()
    if lead.empty:
        return "-"
    worse = is_above(lead if column in LOSSES else -lead)
    return f"{100 * lead.mean():+.1f} ±{100 * error_of(lead):.1f}{'!' if worse else ' '}"


def _behind(title: str, wide: pd.DataFrame, ours: tuple[str, ...], column: str) -> Iterator[str]:
    """Yield a line for each peer whose lead over the best of our curator's models is clear.

    The best is that with the best mean on the test rows, which favours ours.
    """
    means = wide.mean() if column in LOSSES else -wide.mean()
    curators = [m for m in ours if m in wide and METHODS[m].kind == "central"]
    for peer in (m for m in dict.fromkeys(wide.columns.get_level_values(0)) if METHODS[m].kind == "peer"):
        worse = []
        for e in wide[peer]:
            rivals = means[[(m, e) for m in curators if (m, e) in wide]]
            best = rivals.idxmin() if len(rivals) else None
            text = _points(wide, best, peer, column) if best else ""
            if best and text.endswith("!"):
                worse.append(f"{e:g}: {text[:-1]} ({best[0]})")
        if worse:
            yield f"{title}, {peer}: {'; '.join(worse)}"
