# SPDX-License-Identifier: BSD-3-Clause
"""A private description: columns, crosstabs and survival, as a frame, as text and as HTML."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from ...accounting import PrivacySpent
from ...accounting._privacy_amounts import show
from ...accounting._statements.fields import FrozenMapping, escape_controls
from ...accounting._statements.html import (
    Figures,
    aligned,
    document,
    html_table,
    label_blocks,
    label_fragment,
    label_of_spent,
)
from ...utils._public_module import public_module
from .estimates import Estimate

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
        Share of missing cells among all rows. For numbers and dates, cells that are none count as missing.
    other : Estimate or None
        For levels and booleans: share of the rows whose value is not declared.
    mean, std : Estimate or None
        For numbers and dates: of the rows that have one, clipped to the declared bounds. Dates are days
        since the lower bound.
    quantiles : mapping of float to Estimate
        Quantiles of the same values.
    levels : mapping of str to Estimate
        Shares of the levels among the rows that have a declared level.
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
    """Shares of pairs of values, among the rows whose two values are known.

    Attributes
    ----------
    first, second : str
        Names of the columns.
    rows, columns : tuple of str
        Values of the first and of the second column.
    shares : tuple of tuple of Estimate
        The share of the pair, for every value of the first and of the second column.
    row_shares : tuple of tuple of Estimate
        The share of the pair among the rows with that value of the first column.
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
        The share without the event after each of the times, for every group. Without groups the key is "".
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
        Number of rows that were counted; exact if it is public.
    columns : mapping of str to ColumnDescription
    crosstabs : tuple of Crosstab
    survival : SurvivalCurve or None
    privacy_spent : PrivacySpent
        The budget that the whole description spent, and its claim.
    confidence : float
        Confidence of each interval by itself.
    noise_std : float
        Standard deviation of the noise of a count, in rows. On a level of a tree it is larger.
    n_bins : int
        Bins of the numbers between their bounds.
    n_levels : int
        Levels on which numbers were counted: 1, or those of a tree.

    See Also
    --------
    private_describe : Makes it, and explains its intervals.

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
    n_levels: int = 1

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
            There is no such crosstab.
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
            "n_levels": self.n_levels,
            "statistics": self._records(),
            "privacy_spent": self.privacy_spent.to_dict(),
        }

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return the description as a page with Table One and the privacy label; it loads and runs nothing.

        Parameters
        ----------
        path : path-like, default=None
            A file to write the page to as well.

        Returns
        -------
        page : str
        """
        label = label_blocks([label_of_spent(self.privacy_spent.to_dict())], "Privacy facts")
        page = document(f"{self._section()}\n{label}", "Table One")
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _study_figures(self) -> Figures:
        # First the ends of survival curves; then of each column the mean, the share of true, or of the
        # commonest level.
        first: list[Line] = []
        if self.survival is not None:
            n_times = len(self.survival.times)
            first += list(self.survival.lines())[n_times - 1 :: n_times]
        for column in self.columns.values():
            shares = list(column.lines())[: len(column.levels) or 1]
            first.append(
                max(shares, key=lambda line: (line.statistic == "share of true", line.estimate.value))
            )
        lines = sorted(self.lines(), key=lambda line: (*first, line).index(line))
        rows = [(f"{line.column}, {line.statistic}", line.value, line.interval) for line in lines]
        return Figures(rows, f"{self._heading()}. Intervals of {self.confidence:.0%}.", is_table_one=True)

    def _repr_html_(self) -> str:
        return label_fragment([label_of_spent(self.privacy_spent.to_dict())]) + self._section()

    def __str__(self) -> str:
        return "\n".join([self._heading(), *aligned(list(map(_cells, self.lines()))), self._foot()])

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
            f"from. They count sampling and noise. Epsilon {show(spent.epsilon)}{delta} for all statistics."
        )

    def _section(self) -> str:
        heads = ("Column", "Statistic", "Estimate", f"Interval, {self.confidence:.0%}")
        table = html_table(heads, map(_cells, self.lines()), "Statistics")
        return (
            '<section class="skprivate-label" aria-label="Table One">\n<p class="sp-title">Table One</p>\n'
            f"<p>{escape(self._heading())}</p>\n{table}\n"
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
