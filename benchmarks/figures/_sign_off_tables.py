# SPDX-License-Identifier: BSD-3-Clause
"""Tables of exact and published figures, how far they are apart, and where others win."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from numpy.typing import NDArray

from .._tables import Table
from .._utility.methods import METHODS
from .._utility.report import error_of, is_above
from .._utility.scores import differences
from ._exact_and_published import LOSSES, OF_LABELS, OF_NUMBERS
from ._kept_predictions import KeptPredictions, Place, Published
from ._warfarin_sites import DEALINGS

TITLES = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "log_loss": "log loss",
    "calibration_slope": "calibration slope (1 is right)",
    "mae": "mean absolute error, mg/week",
    "rmse": "root mean squared error, mg/week",
}
OURS, NOT_PRIVATE, LABELS_ALONE = "private, ours", "not private", "label privacy"
# Of a slope, its distance from 1.
LESS_IS_BETTER = (*LOSSES, "calibration_slope")
#: By group, in the order of the tables; "label" and "local" say what is protected, and where.
ADULT_GROUPS = {
    OURS: (
        "boosting (delta 1e-6)",
        "boosting, pure epsilon",
        "boosting on the forest (delta 1e-6)",
        "logistic (delta 1e-6)",
        "logistic, pure epsilon",
        "central, cart, forest inside",
        "local, cart, forest inside",
        "label privacy",
    ),
    "private, of others": (
        "DP-EBM (delta 1e-6)",
        "noisy gradients (delta 1e-6)",
        "objective perturbation",
        "diffprivlib logistic",
    ),
    "public rows alone": ("boosting, public rows", "forest, public rows", "logistic, public rows"),
    NOT_PRIVATE: ("boosting, not private", "logistic, not private", "base rate, private rows"),
}
WARFARIN_GROUPS = {
    OURS: (
        "three sites, DP boosting, secure sum",
        "boosting (delta 1e-6)",
        "boosting, pure epsilon",
        "linear, normal law",
    ),
    "three sites, no epsilon": (
        "three sites, local averages, secure sum",
        "three sites, coarsened queries, swaps",
        "three sites, ridge, secure sum",
    ),
    "no sharing": (
        "fixed, 35 mg/week",
        "site 1 alone",
        "site 2 alone",
        "site 3 alone",
        "every patient's own site",
    ),
    "private, of others": ("DP-EBM (delta 1e-6)", "diffprivlib linear"),
    NOT_PRIVATE: (
        "pooled local averages, not private",
        "boosting, not private",
        "logistic, not private",
        "base rate, private rows",
    ),
}
#: Names that mean another thing here.
SHOWN = {
    "logistic, not private": "linear, not private",
    "label privacy": "label privacy (labels alone)",
    "central, cart, forest inside": "tree with the forest inside",
    "local, cart, forest inside": "the same, local",
}
ADULT, WARFARIN = (
    tuple(name for group in groups.values() for name in group) for groups in (ADULT_GROUPS, WARFARIN_GROUPS)
)

#: Data set, groups of methods, and figures.
TABLES = (("adult", ADULT_GROUPS, OF_LABELS), ("warfarin", WARFARIN_GROUPS, OF_NUMBERS))


@dataclass(frozen=True)
class Evaluated:
    """Exact figures of a model on the test rows of a split, and those of probabilities that are clipped."""

    place: Place
    exact: dict[str, float]
    clipped: dict[str, float]


#: Figures by split.
Splits = dict[int, dict[str, float]]


class Figures:
    """Exact and published figures by data set, setting and method."""

    def __init__(self, kept: KeptPredictions, found: Sequence[Evaluated]) -> None:
        self.kept = kept
        self.found = {one.place: one.exact for one in found}
        self.clipped = {one.place: one.clipped for one in found}
        self.n_splits = len({place[4] for place in self.found})

    def settings(self, data: str) -> list[str]:
        """Return the settings of a data set of which there is a method of ours."""
        wanted = ("0", "500") if data == "adult" else DEALINGS
        return [s for s in wanted if any(place[:2] == (data, s) for place in self.found)]

    def places(self, data: str, setting: str, method: str, epsilon: float) -> list[Place]:
        """Return the places of a method: without noise at epsilon 0, without public rows at "0"."""
        for at in (setting, "0"):
            for spent in (epsilon, 0.0):
                found = [p for p in self.found if p[:4] == (data, at, method, spent)]
                if found and self._belongs(at, setting, method):
                    return sorted(found)
        return []

    @staticmethod
    def _belongs(at: str, setting: str, method: str) -> bool:
        return (
            at == setting or setting in DEALINGS or METHODS[method].kind in ("peer", "ceiling", "base rate")
        )

    def exact(self, *cell: object) -> Splits:
        """Return exact figures by split."""
        return {place[4]: self.found[place] for place in self.places(*cell)}  # type: ignore[arg-type]

    def published(self, *cell: object) -> Splits:
        """Return published figures by split."""
        at = [Published(place, float(cell[3]), "all") for place in self.places(*cell)]  # type: ignore[arg-type]
        return {
            where.place[4]: {name: one[0] for name, one in self.kept.published[where].items()}
            for where in at
            if where in self.kept.published
        }


def print_tables(kept: KeptPredictions, found: Sequence[Evaluated], epsilons: Sequence[float]) -> None:
    """Print figures by setting, distances and coverage, and where others win."""
    figures = Figures(kept, found)
    print(
        "Exact figures take probabilities as they are; published ones take them for .001 at least and .999\n"
        "at most, and are compared with exact ones of such probabilities. Published means are those of one\n"
        "release a split, at the epsilon of the fit; what draws no noise is evaluated at each.\n"
        "In brackets: how many splits have the figure, where it is not all."
    )
    for data, groups, scores in TABLES:
        for setting in figures.settings(data):
            known = (
                f"{setting} public rows" if data == "adult" else f"patients dealt to three sites {setting}"
            )
            print(f"\n{data}, {known}: exact, with the standard error of splits, then as published")
            for score in scores:
                _print_score(figures, (data, setting), groups, score, epsilons)
        if figures.settings(data):
            _print_distances(figures, data, scores, epsilons)
    for data, groups, scores in TABLES:
        for setting in figures.settings(data):
            _print_best(figures, (data, setting), groups, scores, epsilons)
            lines = list(_losses(figures, (data, setting), groups, scores, epsilons))
            print(f"\n{data}, {setting}: ours is behind by more than 2 s.e.: {len(lines) or 'nowhere'}")
            for line in lines:
                print(fill(line, 110, initial_indent="  ", subsequent_indent="      "))
    if kept.errors:
        print("\nFailed:", *kept.errors, sep="\n  ")


def _print_best(
    figures: Figures,
    place: tuple[str, str],
    groups: dict[str, tuple[str, ...]],
    scores: Sequence[str],
    epsilons: Sequence[float],
) -> None:
    """Print the best of ours beside the best of every other group, of those that protect whole rows."""
    print(
        f"\n{place[0]}, {place[1]}: the best of ours less the best of others, both the best on the test rows"
    )
    for score in scores:
        table = Table((TITLES[score], "<28"), *((f"{e:g}", "<46") for e in epsilons), indent=2)
        for group, names in groups.items():
            cells = [_best(figures, place, names, score, epsilon) for epsilon in epsilons]
            ours = [_best(figures, place, groups[OURS], score, epsilon) for epsilon in epsilons]
            texts: list[str | None] = []
            for epsilon, one, our in zip(epsilons, cells, ours, strict=True):
                if one is None or our is None:
                    texts.append(None)
                    continue
                text = SHOWN.get(one, one)
                if group != OURS:
                    lead = _difference(figures, place, (our, one), score, epsilon)
                    text = f"{lead.mean():+.3f} ±{error_of(lead):.3f} {text}"
                texts.append(text)
            if any(texts):
                table.row(group, *texts)


def _best(
    figures: Figures, place: tuple[str, str], names: Sequence[str], score: str, epsilon: float
) -> str | None:
    """Return the method with the best mean; what protects labels alone is not compared."""
    means = {}
    for name in names:
        found = _values(_judged(figures.exact(*place, name, epsilon), score), score)
        if len(found) and name != LABELS_ALONE:
            means[name] = found.mean() if score in LESS_IS_BETTER else -found.mean()
    return min(means, key=means.__getitem__, default=None)


def _print_score(
    figures: Figures,
    place: tuple[str, str],
    groups: dict[str, tuple[str, ...]],
    score: str,
    epsilons: Sequence[float],
) -> None:
    headings = [text for e in epsilons for text in ((f"{e:g} exact", ">15"), ("published", ">10"))]
    print()
    table = Table((TITLES[score], "<42"), *headings, indent=2)
    digits = 2 if score in OF_NUMBERS or score == "calibration_slope" else 3
    for group, names in groups.items():
        rows = {}
        for name in names:
            cells: list[str | None] = []
            for epsilon in epsilons:
                cells += _cells(figures, (*place, name, epsilon), score, digits)
            if any(cells):
                rows[name] = cells
        if rows:
            print(f"  [{group}]")
        for name, cells in rows.items():
            table.row(SHOWN.get(name, name), *cells)


def _cells(figures: Figures, cell: tuple[str, str, str, float], score: str, digits: int) -> list[str | None]:
    """Return the exact mean with its standard error, and the published mean; in brackets: how many splits."""
    exact = _values(figures.exact(*cell), score)
    paid = _values(figures.published(*cell), score)
    fewer = f" ({len(exact)})" if len(exact) < figures.n_splits else ""
    first = f"{exact.mean():.{digits}f} ±{error_of(exact):.{digits}f}{fewer}" if len(exact) else None
    return [first, f"{paid.mean():.{digits}f}" if len(paid) else None]


def _values(splits: Splits, score: str) -> NDArray[np.float64]:
    found = np.array([one[score] for one in splits.values()], dtype=np.float64)
    return found[np.isfinite(found)]


def _print_distances(figures: Figures, data: str, scores: Sequence[str], epsilons: Sequence[float]) -> None:
    """Print how far published figures are from exact ones, and how often intervals hold these."""
    print(
        f"\n{data}: published less exact, all models and splits: mean, mean size (distance), half the\n"
        "width of intervals; same rows: intervals that hold the exact figure of the evaluated rows (noise\n"
        "alone); a quarter: those of a random quarter of the test rows that hold the figure of all of them."
    )
    columns = {"n": ">6", "mean": ">9", "distance": ">9.4f", "width": ">8.4f", "same rows, %": ">13.1f"}
    columns |= {"a quarter, %": ">13.1f", "not said, %": ">12.1f"}
    table = Table(("epsilon", "<8"), ("figure", "<32"), *columns.items(), indent=2)
    for epsilon in epsilons:
        for score in scores:
            whole, part = (_pairs(figures, data, score, epsilon, rows) for rows in ("all", "a quarter"))
            if len(whole):
                said = whole[np.isfinite(whole[:, 1])]
                off, width = said[:, 1] - said[:, 0], np.mean(said[:, 3] - said[:, 2]) / 2
                held = (_held(one[np.isfinite(one[:, 1])]) for one in (whole, part))
                unsaid = 100 * (1 - len(said) / len(whole))
                found = (len(said), f"{off.mean():+.4f}", np.abs(off).mean(), width, *held, unsaid)
                table.row(f"{epsilon:g}", TITLES[score], *found)


def _pairs(figures: Figures, data: str, score: str, epsilon: float, rows: str) -> NDArray[np.float64]:
    """Return a row for every model: the exact figure, the published one and the ends of its interval."""
    found = []
    for where, estimates in figures.kept.published.items():
        exact = figures.clipped.get(where.place)
        is_asked = (where.place[0], where.epsilon, where.rows) == (data, epsilon, rows)
        if is_asked and exact and np.isfinite(exact[score]):
            found.append((exact[score], *estimates[score]))
    return np.array(found, dtype=np.float64).reshape(-1, 4)


def _held(table: NDArray[np.float64]) -> float | None:
    return (
        100 * float(np.mean((table[:, 2] <= table[:, 0]) & (table[:, 0] <= table[:, 3])))
        if len(table)
        else None
    )


def _losses(
    figures: Figures,
    place: tuple[str, str],
    groups: dict[str, tuple[str, ...]],
    scores: Sequence[str],
    epsilons: Sequence[float],
) -> Iterator[str]:
    """Yield a line for every figure and model of ours that others beat clearly, "not private" left out."""
    others = [name for group, names in groups.items() if group not in (OURS, NOT_PRIVATE) for name in names]
    for score in scores:
        for ours in groups[OURS]:
            found = []
            for other in others:
                behind = [f"{e:g}" for e in epsilons if _is_behind(figures, place, (ours, other), score, e)]
                if behind:
                    found.append(f"{SHOWN.get(other, other)} ({' '.join(behind)})")
            if found:
                yield f"{score}: {SHOWN.get(ours, ours)} is behind {'; '.join(found)}"


def _is_behind(
    figures: Figures, place: tuple[str, str], pair: tuple[str, str], score: str, epsilon: float
) -> bool:
    lead = _difference(figures, place, pair, score, epsilon)
    return is_above(lead if score in LESS_IS_BETTER else -lead)


def _difference(
    figures: Figures, place: tuple[str, str], pair: tuple[str, str], score: str, epsilon: float
) -> NDArray[np.float64]:
    """Return the figure of the first less that of the second, by split."""
    first, second = (_judged(figures.exact(*place, name, epsilon), score) for name in pair)
    found = differences(first, second, score)
    return found[np.isfinite(found)]


def _judged(splits: Splits, score: str) -> Splits:
    """Return figures by split; of a slope its distance from 1."""
    if score != "calibration_slope":
        return splits
    return {split: {score: abs(one[score] - 1)} for split, one in splits.items()}
