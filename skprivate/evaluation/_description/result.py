# SPDX-License-Identifier: BSD-3-Clause
"""Estimates from the noisy counts of a description, and the result that holds them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..._typing import FloatArray
from ...accounting import PrivacySpent
from ...accounting._privacy_amounts import show
from ...accounting._statements.fields import FrozenMapping, escape_controls
from ...accounting._statements.html import label_fragment, label_of_spent, label_page
from ...utils._public_module import public_module
from .._counts import NoisyTables

# Estimates and intervals from noisy counts: the values that a test of noise and sampling leaves.

# The noise hides a value whose interval covers so much of what is possible: a convention.
_COVERED = 0.9
# Values of the mean, over its interval, at which the spread about it is bounded.
_N_MEANS = 17


@dataclass(frozen=True)
class Estimate:
    """A value of the population, and an interval that counts noise and sampling.

    Attributes
    ----------
    value : float
    lower, upper : float
        Ends of the interval.
    above_noise : bool
        False where the interval covers nine tenths of what is possible, or more: the noise hides the value.
    """

    value: float
    lower: float
    upper: float
    above_noise: bool = True

    @classmethod
    def between(cls, value: float, lower: float, upper: float, least: float, most: float) -> "Estimate":
        """Return an estimate whose value is put into its interval, of what lies between least and most."""
        value = min(max(value, lower), upper)
        above_noise = upper - lower < _COVERED * (most - least)
        return cls(float(value), float(lower), float(upper), bool(above_noise))


def noise_factor(confidence: float, mechanism: str) -> float:
    """Return how many standard deviations hold noise and sampling together with this probability.

    The sum of a normal error and of weighted Laplace noise is a normal mixture whose tails lie between those
    of the normal and of a single Laplace variable of the same variance; the larger of the two quantiles is
    taken.
    """
    normal = float(ndtri((1 + confidence) / 2))
    return normal if mechanism == "gaussian" else max(normal, math.log(1 / (1 - confidence)) / math.sqrt(2))


@dataclass(frozen=True, eq=False)
class TableCounts:
    """Noisy counts of one table, which add up to the number of rows.

    Attributes
    ----------
    cells : ndarray of float64 of shape (n_cells,)
        The counts, moved by one and the same amount so that their sum is the number of rows, public or
        estimated from all tables.
    std : float
        Standard deviation of the noise of a count.
    n_variance : float
        Variance of the number of rows; 0 where it is public.
    cluster : int
        Rows of one person that may count: so much larger the sampling variance is at most.
    mechanism : {"laplace", "gaussian"}
    confidence : float
    """

    cells: FloatArray
    std: float
    n_variance: float
    cluster: int
    mechanism: str
    confidence: float

    @property
    def factor(self) -> float:
        """Standard deviations in half an interval."""
        return noise_factor(self.confidence, self.mechanism)

    def noise(self, first: FloatArray, second: FloatArray) -> float:
        """Return the covariance that the noise gives two weighted sums of the counts."""
        means = first.mean(), second.mean()
        own = float((first - means[0]) @ (second - means[1]))
        return self.std**2 * own + float(means[0] * means[1]) * self.n_variance

    def ratio(
        self, top: FloatArray, bottom: FloatArray, most: float = 1.0, *, factor: float | None = None
    ) -> tuple[float, float, float]:
        """Return a ratio of two weighted sums, and the ends of its interval within [0, most].

        The interval holds every t for which ``top - t bottom`` is within `factor` standard deviations of 0,
        by noise and by sampling (Fieller); sampling is estimated from the counts, and from none of it.
        """
        known = (
            float(self.cells @ top**2),
            -2 * float(self.cells @ (top * bottom)),
            float(self.cells @ bottom**2),
        )
        sums, noise = self._sums(top, bottom)
        (low, high), (least, greatest) = (
            self._solve(*sums, noise, variance, most, factor) for variance in (known, (0.0, 0.0, 0.0))
        )
        return _quotient(*sums), min(low, least), max(high, greatest)

    def share(self, part: FloatArray, whole: FloatArray) -> Estimate:
        """Return the share of the cells of `part` in those of `whole` (both 0 and 1)."""
        (above, below), noise = self._sums(part, whole)
        rows = max(below, 0.0)
        # Binomial variance at the share that is tested (Wilson), and half a row for counts are whole.
        ends = [
            self._solve(above + shift, below, noise, (0.0, rows, -rows), 1.0) for shift in (-0.5, 0.0, 0.5)
        ]
        lower, upper = min(low for low, _ in ends), max(high for _, high in ends)
        return Estimate.between(_quotient(above, below), lower, upper, 0.0, 1.0)

    def _sums(
        self, top: FloatArray, bottom: FloatArray
    ) -> tuple[tuple[float, float], tuple[float, float, float]]:
        """Return two weighted sums A and B, and the noise variance of A - t B by powers of t."""
        noise = self.noise(top, top), -2 * self.noise(top, bottom), self.noise(bottom, bottom)
        return (float(self.cells @ top), float(self.cells @ bottom)), noise

    def _solve(
        self,
        above: float,
        below: float,
        noise: tuple[float, float, float],
        sampling: tuple[float, float, float],
        most: float,
        factor: float | None = None,
    ) -> tuple[float, float]:
        """Return the ends of {t: (A - t B)^2 <= factor^2 V(t)} within [0, most]; V is quadratic in t."""
        squared = (self.factor if factor is None else factor) ** 2
        constant, linear, square = (
            squared * (one + self.cluster * other) for one, other in zip(noise, sampling, strict=True)
        )
        a, b, c = below**2 - square, -2 * above * below - linear, above**2 - constant
        if below <= 0 or a <= 0:
            return 0.0, most
        root = math.sqrt(max(b * b - 4 * a * c, 0.0))
        low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
        return min(max(low, 0.0), most), min(max(high, 0.0), most)


def _quotient(above: float, below: float) -> float:
    return above / below if below > 0 else 0.0


def table_counts(released: NoisyTables, confidence: float) -> tuple[Estimate, list[TableCounts]]:
    """Return the number of rows, and the tables with counts that add up to it."""
    std, noise = released.noise.std, released.noise
    # Each table's sum estimates n, with a variance in proportion to its cells.
    precision = sum(1 / len(table) for table in released.tables)
    if released.n_rows is None:
        n, n_variance = sum(float(table.mean()) for table in released.tables) / precision, std**2 / precision
    else:
        n, n_variance = float(released.n_rows), 0.0
    reach = noise_factor(confidence, noise.name) * math.sqrt(n_variance)
    facts = std, n_variance, noise.rows_per_unit, noise.name, confidence
    tables = [TableCounts(table + (n - table.sum()) / len(table), *facts) for table in released.tables]
    n = max(n, 0.0)
    return Estimate(n, max(n - reach, 0.0), n + reach, above_noise=reach < n or not n_variance), tables


def mean_and_std(counts: TableCounts) -> tuple[Estimate, Estimate]:
    """Return mean and standard deviation of numbers that were rounded to a grid of [0, 1]."""
    points, known = _grid(counts)
    mean, lower, upper = counts.ratio(points, known)
    # Half of the error is for the mean, half for the spread about any mean that is left.
    factor = noise_factor((1 + counts.confidence) / 2, counts.mechanism)
    _, first, last = counts.ratio(points, known, factor=factor)
    spreads = [
        counts.ratio(((points - about) * known) ** 2, known, factor=factor)[1:]
        for about in np.linspace(first, last, _N_MEANS)
    ]
    # Rounding between points at a distance h adds between 0 and h^2 / 4, on average some h^2 / 6.
    rounding = 1.0 / (len(points) - 2) ** 2
    low = math.sqrt(max(min(low for low, _ in spreads) - rounding / 4, 0.0))
    high = math.sqrt(min(max(high for _, high in spreads), 0.25))
    about = min(max(mean, 0.0), 1.0)
    variance = counts.ratio(((points - about) * known) ** 2, known)[0] - rounding / 6
    return (
        Estimate.between(mean, lower, upper, 0.0, 1.0),
        Estimate.between(math.sqrt(max(variance, 0.0)), low, high, 0.0, 0.5),
    )


def quantile(counts: TableCounts, level: float) -> Estimate:
    """Return a quantile of numbers that were rounded to a grid of [0, 1].

    With G the distribution of the rounded numbers and F of the numbers, F(g_i) <= G(g_i) <= F(g_{i+1}-). So a
    quantile lies above g_i where G(g_i) < level, and not above g_{i+1} where G(g_i) >= level. Going inwards
    from either bound, points are passed as long as a test says so: the end is wrong only if the test at one
    fixed point is.
    """
    points, known = _grid(counts)
    last = len(points) - 2
    rows = max(float(counts.cells @ known), 0.0)
    sampled = counts.cluster * rows * level * (1 - level)
    weights = np.tril(np.ones((last, last + 2)))
    weights = (weights - level) * known
    distances = weights @ counts.cells
    noise = np.array([counts.noise(row, row) for row in weights])
    reach = counts.factor * np.sqrt(noise + sampled) + 0.5
    below, above = distances < -reach, distances > reach
    n_below = last if below.all() else int(np.argmin(below))
    inwards = above[: last - 1][::-1]
    n_above = last - 1 if inwards.all() else int(np.argmin(inwards))
    lower = points[n_below - 1] if n_below else 0.0
    upper = max(points[last - n_above], lower)
    return Estimate.between(_interpolate(counts, level), lower, upper, 0.0, 1.0)


def _grid(counts: TableCounts) -> tuple[FloatArray, FloatArray]:
    """Return the points of the grid, 0 for the cell of missing values, and 1 for cells that are points."""
    n_points = len(counts.cells) - 1
    points, known = np.zeros(n_points + 1), np.ones(n_points + 1)
    points[:-1], known[-1] = np.arange(n_points) / (n_points - 1), 0.0
    return points, known


def _interpolate(counts: TableCounts, level: float) -> float:
    """Return a quantile of the counts that are above 0, each spread evenly over the bin around its point."""
    cells = np.maximum(counts.cells[:-1], 0.0)
    n_points = len(cells)
    reached = np.append(0.0, np.cumsum(cells))
    if not reached[-1]:
        return 0.5
    ends = np.clip((np.arange(n_points + 1) - 0.5) / (n_points - 1), 0.0, 1.0)
    return float(np.interp(level * reached[-1], reached, ends))


def survival_curve(counts: TableCounts, cells: slice, n_bins: int) -> list[Estimate]:
    """Return the shares that survive the end of every interval, of the group with these cells.

    In an interval where d of R rows at risk have the event and c are censored, the hazard lies between d / R
    (censored at the end) and d / (R - c) (at the beginning). Each end of the curve's interval takes one of
    the two, and its error by noise and sampling from its linear terms. From the first
    interval on where the rows at risk are not above the noise, the lower end is 0 and the upper end stays.
    """
    group = counts.cells[cells]
    events, censored = group[:n_bins], group[n_bins : 2 * n_bins]
    at_risk = (events + censored)[::-1].cumsum()[::-1] + group[-1]
    found: list[Estimate] = []
    late_end, early_end = (_Product(counts, cells, n_bins, early) for early in (False, True))
    for i in range(n_bins):
        before = found[-1] if found else Estimate(1.0, 1.0, 1.0)
        late, early = (
            late_end.step(i, events[i], at_risk[i]),
            early_end.step(i, events[i], at_risk[i] - censored[i]),
        )
        if late is None or early is None:
            found += [Estimate.between(before.value, 0.0, before.upper, 0.0, 1.0)] * (n_bins - i)
            break
        lower = min(max(early[0] - early[1], 0.0), 1.0)
        upper = max(min(late[0] + late[1], 1.0), 0.0)
        middle = math.sqrt(max(late[0], 0.0) * max(early[0], 0.0))
        found.append(Estimate.between(middle, lower, max(lower, upper), 0.0, 1.0))
    return found


class _Product:
    """A product of 1 - events / risk over intervals, and the weights of its linear terms."""

    def __init__(self, counts: TableCounts, cells: slice, n_bins: int, early: bool) -> None:
        self._counts, self._cells, self._n_bins, self._early = counts, cells, n_bins, early
        self._weights = np.zeros(len(counts.cells))
        self._value = 1.0

    def step(self, i: int, events: float, risk: float) -> tuple[float, float] | None:
        """Take one more interval; return the product and half its interval, None where the noise hides it."""
        counts, n_bins, start = self._counts, self._n_bins, self._cells.start
        at_risk = np.zeros(len(counts.cells))
        at_risk[start + i : start + n_bins] = 1.0
        at_risk[start + n_bins + i + self._early : self._cells.stop] = 1.0
        # Twice the reach: below it the linear terms say little.
        least = 2 * counts.factor * math.sqrt(counts.noise(at_risk, at_risk)) + 1
        if risk <= least:
            return None
        # A count below 0 stays one: cut off, the errors of many intervals would not cancel.
        hazard = events / risk
        event = np.zeros(len(counts.cells))
        event[start + i] = 1.0
        # The derivative of the product by every count.
        self._weights = (1 - hazard) * self._weights + self._value * (hazard * at_risk - event) / risk
        self._value *= 1 - hazard
        sampled = counts.cluster * float(np.maximum(counts.cells, 0.0) @ self._weights**2)
        variance = counts.noise(self._weights, self._weights) + sampled
        return self._value, counts.factor * math.sqrt(variance)


# What a private description holds: columns, crosstabs, survival; as a frame, as text and as HTML.

NOT_TOLD = "hidden: the noise is larger"


@dataclass(frozen=True)
class Line:
    """One line of a description: a statistic of a column, as numbers and as text."""

    column: str
    statistic: str
    estimate: Estimate
    value: str
    interval: str


@dataclass(frozen=True, kw_only=True)
class ColumnDescription:
    """Statistics of one column.

    Attributes
    ----------
    name : str
    kind : {"number", "stress", "date", "boolean", "categorical"}
    missing : Estimate
        Share of missing cells, among all rows; of numbers and dates also of cells that are none.
    other : Estimate or None
        Of levels and booleans: share of the rows whose value is none of those declared.
    mean, std : Estimate or None
        Of numbers and dates among the rows that have one, clipped to the declared bounds; dates are days
        since the lower bound.
    quantiles : mapping of float to Estimate
        The same.
    levels : mapping of str to Estimate
        Shares of the levels among the rows that have a declared one.
    texts : mapping of str to (str, str)
        Text of every estimate of a number or a date, and of its interval.
    """

    name: str
    kind: str
    missing: Estimate
    other: Estimate | None = None
    mean: Estimate | None = None
    std: Estimate | None = None
    quantiles: Mapping[float, Estimate] = field(default_factory=dict)
    levels: Mapping[str, Estimate] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _freeze(self, "quantiles", "levels", "texts")

    def lines(self) -> Iterator[Line]:
        """Return one line for every statistic."""
        measured = {"mean": self.mean, "standard deviation": self.std}
        measured |= {f"quantile {level:g}": one for level, one in self.quantiles.items()}
        for name, estimate in measured.items():
            if estimate is not None:
                yield Line(self.name, name, estimate, *_hidden(estimate, *self.texts[name]))
        for level, share in self.levels.items():
            yield _share_line(self.name, f"share of {level}", share)
        if self.other is not None:
            yield _share_line(self.name, "undeclared values", self.other)
        yield _share_line(self.name, "missing", self.missing)


@dataclass(frozen=True, kw_only=True)
class Crosstab:
    """Shares of pairs of values, among the rows where both are known.

    Attributes
    ----------
    first, second : str
        Names of the columns.
    rows, columns : tuple of str
        Values of the first and of the second column.
    shares : tuple of tuple of Estimate
        For every value of the first column, and every one of the second, the share of the pair.
    row_shares : tuple of tuple of Estimate
        The same among the rows with that value of the first column.
    """

    first: str
    second: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shares: tuple[tuple[Estimate, ...], ...] = field(repr=False)
    row_shares: tuple[tuple[Estimate, ...], ...] = field(repr=False)

    def lines(self) -> Iterator[Line]:
        """Return one line for every share."""
        for row, shares, within in zip(self.rows, self.shares, self.row_shares, strict=True):
            for column, share, inner in zip(self.columns, shares, within, strict=True):
                yield _share_line(f"{self.first} x {self.second}", f"share of {row}, {column}", share)
                yield _share_line(f"{self.first} x {self.second}", f"share of {column} among {row}", inner)


@dataclass(frozen=True, kw_only=True)
class SurvivalCurve:
    """A Kaplan-Meier curve of every group at the ends of intervals of time.

    Attributes
    ----------
    time, event : str
        Names of the columns.
    group : str or None
    times : tuple of float
        Ends of the intervals.
    curves : mapping of str to tuple of Estimate
        For every group, or "" where there are none, the share without the event after each of the times.
    """

    time: str
    event: str
    group: str | None
    times: tuple[float, ...]
    curves: Mapping[str, tuple[Estimate, ...]] = field(repr=False)

    def __post_init__(self) -> None:
        _freeze(self, "curves")

    def lines(self) -> Iterator[Line]:
        """Return one line for every time."""
        for group, curve in self.curves.items():
            among = f", {self.group} {group}" if self.group else ""
            for time, share in zip(self.times, curve, strict=True):
                yield _share_line(f"survival ({self.event})", f"beyond {time:.4g}{among}", share)


@public_module("skprivate.evaluation")
@dataclass(frozen=True, kw_only=True, repr=False)
class TableDescription:
    """A private description of a table, made by `private_describe`; it holds no rows.

    Attributes
    ----------
    n_rows : Estimate
        Number of rows that were counted; exact where it is public.
    columns : mapping of str to ColumnDescription
    crosstabs : tuple of Crosstab
    survival : SurvivalCurve or None
    privacy_spent : PrivacySpent
        What the whole description spent, and what it claims.
    confidence : float
        Of each interval by itself.
    noise_std : float
        Standard deviation of the noise of every count, in rows.
    n_bins : int
        Bins of the numbers between their bounds.

    See Also
    --------
    private_describe : Makes it, and says what its intervals mean.

    Examples
    --------
    >>> from skprivate import private_describe
    >>> from skprivate.domain import TableDomain
    >>> table = {"smokes": [True, False] * 5000, "sex": ["f", "f", "m", "m"] * 2500}
    >>> described = private_describe(
    ...     table, TableDomain({"smokes": bool, "sex": ["f", "m"]}), 1.0, crosstabs=[("sex", "smokes")])
    >>> share = described.crosstab("sex", "smokes").row_shares[0][1]
    >>> round(share.value, 1), share.above_noise
    (0.5, True)
    >>> list(described.to_frame().columns)
    ['column', 'statistic', 'value', 'lower', 'upper', 'above_noise', 'text']
    """

    n_rows: Estimate
    columns: Mapping[str, ColumnDescription]
    crosstabs: tuple[Crosstab, ...] = ()
    survival: SurvivalCurve | None = None
    privacy_spent: PrivacySpent
    confidence: float
    noise_std: float
    n_bins: int

    def __post_init__(self) -> None:
        _freeze(self, "columns")

    def crosstab(self, first: str, second: str) -> Crosstab:
        """Return the crosstab of two columns.

        Parameters
        ----------
        first, second : str
            Names of columns, in the order in which the crosstab was asked for.

        Returns
        -------
        crosstab : Crosstab

        Raises
        ------
        KeyError
            It was not asked for.
        """
        for found in self.crosstabs:
            if (found.first, found.second) == (first, second):
                return found
        raise KeyError(f"there is no crosstab of {first!r} and {second!r}.")

    def lines(self) -> list[Line]:
        """Return all statistics, a line each."""
        parts: list[Any] = [*self.columns.values(), *self.crosstabs]
        parts += [] if self.survival is None else [self.survival]
        return [line for part in parts for line in part.lines()]

    def to_frame(self) -> Any:
        """Return all statistics as a frame of pandas.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``column``, ``statistic``, ``value``, ``lower``, ``upper``, ``above_noise`` and ``text``.
            Dates are days since the lower bound; their text is a date.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(self._records())

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain values that `json` writes."""
        return {
            "n_rows": asdict(self.n_rows),
            "confidence": self.confidence,
            "noise_std": self.noise_std,
            "n_bins": self.n_bins,
            "statistics": self._records(),
            "privacy_spent": self.privacy_spent.to_dict(),
        }

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return the description as a page: Table One and the privacy label; it loads and runs nothing.

        Parameters
        ----------
        path : path-like, default=None
            A file that the page is written to, too.

        Returns
        -------
        page : str
        """
        label = label_page([label_of_spent(self.privacy_spent.to_dict())], "Privacy facts")
        page = label.replace("<main>\n", f"<main>\n{self._section()}\n", 1)
        page = page.replace("<title>Privacy facts</title>", "<title>Table One</title>", 1)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str:
        return label_fragment([label_of_spent(self.privacy_spent.to_dict())]) + self._section()

    def __str__(self) -> str:
        lines = self.lines()
        widths = [max(len(text) for text in texts) for texts in zip(*map(_cells, lines), strict=True)]
        rows = [
            "  ".join(text.ljust(width) for text, width in zip(_cells(line), widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([self._heading(), *rows, self._foot()])

    def __repr__(self) -> str:
        return f"TableDescription({len(self.columns)} columns; {self._heading()})"

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"column": line.column, "statistic": line.statistic, **asdict(line.estimate), "text": line.value}
            for line in self.lines()
        ]

    def _heading(self) -> str:
        n = self.n_rows
        if n.lower == n.upper:
            return f"{n.value:.0f} rows"
        return (
            f"about {n.value:.0f} rows ({n.lower:.0f} to {n.upper:.0f})"
            if n.above_noise
            else f"rows {NOT_TOLD}"
        )

    def _foot(self) -> str:
        spent = self.privacy_spent
        delta = f", delta {show(spent.delta)}" if spent.delta else ""
        return (
            f"Intervals of {self.confidence:.0%}, each by itself, for the population that the rows are drawn "
            f"from; they count sampling and noise. Epsilon {show(spent.epsilon)}{delta} for all."
        )

    def _section(self) -> str:
        heads = ("Column", "Statistic", "Estimate", f"Interval, {self.confidence:.0%}")
        head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
        body = "\n".join(
            "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in _cells(line)) + "</tr>"
            for line in self.lines()
        )
        return (
            '<section class="skprivate-label" aria-label="Table One">\n<p class="sp-title">Table One</p>\n'
            f"<p>{escape(self._heading())}</p>\n<table><caption>Statistics</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n"
            f"<p><small>{escape(self._foot())}</small></p>\n</section>"
        )


def _freeze(record: Any, *names: str) -> None:
    for name in names:
        object.__setattr__(record, name, FrozenMapping(getattr(record, name)))


def _cells(line: Line) -> tuple[str, ...]:
    return tuple(map(escape_controls, (line.column, line.statistic, line.value, line.interval)))


def _share_line(column: str, statistic: str, share: Estimate) -> Line:
    texts = _hidden(share, f"{share.value:.1%}", f"{share.lower:.1%} to {share.upper:.1%}")
    return Line(column, statistic, share, *texts)


def _hidden(estimate: Estimate, value: str, interval: str) -> tuple[str, str]:
    return (value, interval) if estimate.above_noise else (NOT_TOLD, "")
