# SPDX-License-Identifier: BSD-3-Clause
"""Times of ours beside those of others, one line each, and the goals that are set for some of them."""

from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

from .._tables import Table
from .._timing import Clock, Comparison, Task, compare

#: What was measured, by the work that a goal is set for.
Measured = dict[str, list[Comparison]]


class Goal(NamedTuple):
    """The largest ratio of our time to the one beside it, and times of a quiet machine that it is made of."""

    work: str
    beside: str
    ratio: float
    quiet: str = ""


#: The last eight are speeds that must not be lost.
GOALS = (
    Goal("LocallyPrivateTreeClassifier, 200 rows", "scikit-learn", 2.5 / 0.8, "2.5 ms beside 0.8"),
    Goal("DPTreeClassifier, 200 rows", "scikit-learn", 2.5 / 0.8, "2.5 ms beside 0.8"),
    Goal("LocallyPrivateTreeClassifier, 100,000 rows", "scikit-learn, depth 8", 12 / 720, "12 ms beside 720"),
    Goal("DPTreeClassifier, 100,000 rows", "scikit-learn, depth 8", 12 / 720, "12 ms beside 720"),
    Goal("LocallyPrivateTreeRegressor", "our tree of labels", 1.5),
    Goal("DPLogisticRegression, 50,000 rows", "LogisticRegression", 60 / 11, "60 ms beside 11"),
    Goal("DPBoostingClassifier, 50,000 rows", "HistGradientBoosting", 60 / 355, "60 ms beside 355"),
    Goal("LabelPrivateClassifier, 50,000 rows", "HistGradientBoosting", 700 / 337, "700 ms beside 337"),
    Goal("boosting over parquet", "reading once", 20 / 0.25, "10,000,000 rows: 20 s beside 0.25"),
    Goal("logistic regression over parquet", "reading once", 10 / 0.25, "10,000,000 rows: 10 s beside 0.25"),
    Goal("life models without censoring, 10 columns", "LinearRegression", 0.6),
    Goal("life models without censoring, 30 columns", "LinearRegression", 0.6),
    Goal("exact moments under L1 and L2 balls, 10 columns", "X.T @ X", 2),
    Goal("discrete Laplace noise", "NumPy's Laplace", 2.5),
    Goal("a round of a game, 100,000 players", "its noise", 1.2),
    Goal("import of a tree", "sklearn.tree", 1.1),
    Goal("rows to leaves", "scikit-learn", 1 / 6.7),
    Goal("growth, max-edge", "scikit-learn", 1 / 20),
    Goal("growth, cart", "scikit-learn", 1 / 7.7),
    Goal("histograms", "NumPy", 1 / 3),
    Goal("local averages", "scikit-learn, NumPy", 1 / 4),
    Goal("queries through a platform", "a loop over sites", 0.35),
    Goal("censored life models", "lifelines", 0.21),
    Goal("exact moments, cube", "X.T @ X", 1.6),
)


def print_goals(measured: Measured) -> None:
    """Print what was measured beside every goal; of several cases, the slowest is judged."""
    print("\nGoals for the ratio of our time to the one beside it, in this run")
    titles = ("work", "<48"), ("beside", "<22"), ("ms", ">10.4g"), ("beside, ms", ">10.4g")
    table = Table(*titles, ("ratio", ">14.3g"), ("", "<21"), ("on a quiet machine", "<18"))
    for goal in (goal for goal in GOALS if goal.work in measured):
        *_, most = found = sorted(measured[goal.work], key=lambda one: one.ratio)
        ratio = f"{found[0].ratio:.3g} to {most.ratio:.3g}" if len(found) > 1 else f"{most.ratio:.3g}"
        reached = f"goal {goal.ratio:.4g}: {'reached' if most.ratio <= goal.ratio else 'missed'}"
        table.row(goal.work, goal.beside, 1e3 * most.ours, 1e3 * most.theirs, ratio, reached, goal.quiet)
    print("Not measured:", "; ".join(goal.work for goal in GOALS if goal.work not in measured) or "nothing")


class SideBySide:
    """Tables of times beside those of others, which run in turns with ours in one process.

    Parameters
    ----------
    pairs : int
        Runs of either beside one that warms up; 0: that is all. Medians are printed, also of the ratios of
        neighbouring runs: below 1, ours is faster.
    unit : str
        Unit of the times that are printed.
    in_a_second : float
        How many of the units are a second.
    clock : callable
        What times are read from. By default that of this process, which other processes do not disturb:
        what is done by other processes, or by several threads, needs `time.perf_counter`.
    """

    def __init__(
        self, pairs: int, unit: str = "ms", in_a_second: float = 1e3, clock: Clock = process_time
    ) -> None:
        self.measured: Measured = {}
        self._pairs, self._unit, self._in_a_second, self._clock = pairs, unit, in_a_second, clock

    def heading(self, text: str) -> None:
        """Begin a table."""
        print(text)
        columns = (self._unit, ">10.4g"), (f"beside, {self._unit}", ">10.4g"), ("ratio", ">7.3g")
        self._table = Table(("", "<54"), ("beside", "<34"), *columns, ("", "<0"))

    def row(
        self, work: str, beside: str, ours: Task, theirs: Task, *, pairs: int | None = None, **how: Any
    ) -> Comparison:
        """Time two tasks in turns, and `show` the times."""
        found = compare(ours, theirs, self._pairs if pairs is None else pairs, self._clock)
        return self.show(work, beside, found, **how)

    def show(
        self, work: str, beside: str, found: Comparison, *, goal: str = "", note: str | Callable[[], str] = ""
    ) -> Comparison:
        """Print times, and a note, which may be made now; `goal` is a work of `GOALS`."""
        ours, theirs = (self._in_a_second * seconds for seconds in found[:2])
        self._table.row(work, beside, ours, theirs, found.ratio, note() if callable(note) else note)
        if goal:
            self.measured.setdefault(goal, []).append(found)
        return found
