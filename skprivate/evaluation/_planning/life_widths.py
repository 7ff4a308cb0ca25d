# SPDX-License-Identifier: BSD-3-Clause
"""The result of planning a study of life data: half-widths by epsilon and rows, and rows needed."""

from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from ...accounting._statements.html import aligned
from ...utils._public_module import public_module
from .scores import Plan


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class PlannedHalfWidths:
    """Expected half-widths of the 90 % intervals of one kind of fit.

    Each is a median over trials. A trial with a quantile that is not "known" counts as infinitely wide.

    Attributes
    ----------
    variant : str
        Name of the fit's parameters, such as "gaussian".
    epsilon : float or Fraction
    n : int
        Number of rows.
    quantile : tuple of float
        Half-width of the quantile, at each of the rows ``X_at``. For times it is relative: the ends are a
        factor of 1 + half-width above and below their geometric middle. For other targets it is in their
        unit.
    slopes : tuple of float
        Half-width of each slope, in its unit.
    scale : float
        Half-width of the scale, relative to it.
    range : tuple of two floats
        Eight of ten trials had the quantile's half-width, at the row where it is widest, between these. It
        varies from fit to fit because intervals are computed from noisy values.
    warned : float
        Share of the trials with a quantile that is not "known" (``quantile_state``).
    repeats : int
        Number of trials.

    See Also
    --------
    plan_life_study : Returns one for each variant, epsilon and number of rows.

    Notes
    -----
    **Privacy.** It was computed without private rows.

    Examples
    --------
    >>> from skprivate.evaluation import PlannedHalfWidths
    >>> PlannedHalfWidths(
    ...     "laplace", 1.0, 5000, (0.12, 0.2), (0.03,), 0.05, (0.17, 0.25), warned=0.0, repeats=16).widest
    0.2
    """

    variant: str
    epsilon: float | Fraction
    n: int
    quantile: tuple[float, ...]
    slopes: tuple[float, ...]
    scale: float
    range: tuple[float, float]
    warned: float
    repeats: int

    @property
    def widest(self) -> float:
        """Half-width of the quantile at the row where it is widest."""
        return max(self.quantile)


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class RowsNeeded:
    """Number of rows with which the interval of one kind of fit is mostly narrow enough, at all of `X_at`.

    Attributes
    ----------
    variant : str
    epsilon : float or Fraction
    n : int or None
        Number of rows, in steps of about a tenth; None: more than the greatest number that was tried.
    widths : PlannedHalfWidths
        Half-widths of the trials at `n`, or at the greatest number if `n` is None.

    See Also
    --------
    plan_life_study : Returns one for each variant and epsilon.

    Notes
    -----
    **Privacy.** It was computed without private rows.

    Examples
    --------
    >>> from skprivate.evaluation import PlannedHalfWidths, RowsNeeded
    >>> widths = PlannedHalfWidths(
    ...     "laplace", 1.0, 5000, (0.1,), (0.03,), 0.05, (0.08, 0.12), warned=0.0, repeats=16)
    >>> RowsNeeded("laplace", 1.0, 5000, widths).n
    5000
    """

    variant: str
    epsilon: float | Fraction
    n: int | None
    widths: PlannedHalfWidths


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class LifeStudyPlan(Plan):
    """Expected half-widths of a private study of life data, before budget is spent.

    Attributes
    ----------
    estimator : str
        Class of the estimator.
    quantile : float
        The planned quantile of the lifetime: 0.1 is the B10 life.
    relative : bool
        Whether half-widths of the quantile are relative, as they are for times.
    slope_names : tuple of str
    table : tuple of PlannedHalfWidths
        By variant, epsilon and number of rows.
    half_width : float or None
        The wanted half-width of the quantile.
    assurance : float
        Share of the trials that had to reach it.
    rows_needed : tuple of RowsNeeded
        By variant and epsilon; empty if no half-width was wanted.
    max_rows : int
        The greatest number of rows to try for it.
    unknowns : tuple of str
        What the plan cannot know.
    source : {"public", "simulated"}
        The rows that it was computed from.

    See Also
    --------
    plan_life_study : Returns it.

    Notes
    -----
    **Privacy.** It was computed without private rows.

    Examples
    --------
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> from skprivate.evaluation import StatedLifetimes, plan_life_study
    >>> model = DPLogLocationScaleRegressor(bounds_X=(-1, 1), bounds_y=(1, 1000))
    >>> stated = StatedLifetimes(coef=[-0.5], intercept=4.0, scale=0.5)
    >>> plan = plan_life_study(model, [5000], [1.0], stated=stated, X_at=[[0.0]], random_state=0)
    >>> print(plan.mark, "|", plan.slope_names)
    computed from simulated rows: nothing was spent | ('x0',)
    """

    estimator: str
    quantile: float
    relative: bool
    slope_names: tuple[str, ...]
    table: tuple[PlannedHalfWidths, ...]
    half_width: float | None
    assurance: float
    rows_needed: tuple[RowsNeeded, ...]
    max_rows: int
    unknowns: tuple[str, ...]
    source: str

    def _record(self, row: PlannedHalfWidths) -> dict[str, Any]:
        return {
            "variant": row.variant,
            "epsilon": float(row.epsilon),
            "n": row.n,
            **{f"quantile {place}": width for place, width in enumerate(row.quantile)},
            **{f"slope {name}": width for name, width in zip(self.slope_names, row.slopes, strict=True)},
            "scale": row.scale,
            "range lower": row.range[0],
            "range upper": row.range[1],
            "warned": row.warned,
        }

    def __str__(self) -> str:
        lines = aligned([self._head, *map(self._cells, self.table)])
        if self.half_width is not None:
            lines += ["", self._wanted, *map(self._needed, self.rows_needed)]
        return self._as_text(f"{self.estimator}: half-widths of 90 % intervals", lines)

    def to_html(self) -> str:
        """Return it as a fragment of HTML: no scripts, nothing to load, every text escaped."""
        needed = ""
        if self.half_width is not None:
            items = "".join(f"<li>{escape(self._needed(one))}</li>" for one in self.rows_needed)
            needed = f"<p>{self._wanted}</p><ul>{items}</ul>"
        title = f"<b>{escape(self.estimator)}: half-widths of 90 % intervals</b>"
        return self._as_html(title, self._head, map(self._cells, self.table), needed)

    @property
    def _head(self) -> tuple[str, ...]:
        quantile = f"{self.quantile:g} quantile{', relative' if self.relative else ''}"
        of_parts = quantile, "slopes", "scale, relative"
        return "variant", "epsilon", "rows", *of_parts, "eight of ten widest", "warned"

    @property
    def _wanted(self) -> str:
        return f"Rows for a half-width of {self.half_width:g} in {self.assurance:.0%} of fits:"

    def _cells(self, row: PlannedHalfWidths) -> tuple[str, ...]:
        of_parts = _numbers(row.quantile), _numbers(row.slopes), f"{row.scale:.2g}"
        widest = " to ".join(f"{end:.2g}" for end in row.range)
        return row.variant, f"{float(row.epsilon):g}", f"{row.n:,}", *of_parts, widest, f"{row.warned:.0%}"

    def _needed(self, one: RowsNeeded) -> str:
        what = f"{one.variant}, epsilon {float(one.epsilon):g}: "
        if one.n is not None:
            return f"{what}{one.n:,}, where its median is {one.widths.widest:.2g}"
        warned = f", and {one.widths.warned:.0%} of the fits warn" if one.widths.warned else ""
        return f"{what}more than {self.max_rows:,}, where its median is {one.widths.widest:.2g}{warned}"


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.2g}" for value in values)
