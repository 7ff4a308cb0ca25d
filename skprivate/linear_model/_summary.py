# SPDX-License-Identifier: BSD-3-Clause
"""The summary of a fitted life model: estimates, intervals, the share of the noise, and what was spent."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, FloatArray
from ..accounting._privacy_amounts import show
from ..accounting._statements.fields import escape_controls
from ..accounting._statements.html import Figures, aligned, html_table
from ..utils._public_module import public_module
from . import _fit as fitting
from . import _goodness_of_fit as goodness
from ._censored.population import PopulationRelease
from ._censored.release import CensoredRelease
from ._predictions import BEYOND, verdict_in_words

# Names of distributions as a summary prints them: of the error, and whether the model is about log time.
_NAMES = {
    ("sev", True): "Weibull",
    ("logistic", True): "log-logistic",
    ("normal", True): "log-normal",
    ("sev", False): "smallest extreme value",
    ("logistic", False): "logistic",
    ("normal", False): "normal",
}
# How a cell of the table marks an interval that `BEYOND` explains.
_FAR = "beyond"
# Replicates may have no variance. The standard error is half of the width of their middle 68.3 %.
_ONE_ERROR = 0.683
# Columns of `SummaryRow` that are numbers in the units of the parameter, and ratios.
_NUMBERS = ("estimate", "std_error", "lower", "upper", "time_ratio", "ratio_lower", "ratio_upper")


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """One parameter of a fitted model.

    Attributes
    ----------
    name : str
        Name of the feature, with the unit if it is not 1; "(intercept)", "(scale)", or "(shape)", which is
        1 / scale.
    estimate, std_error, lower, upper : float
        With its standard error (from sampling and noise), and the ends of its confidence interval.
    time_ratio, ratio_lower, ratio_upper : float
        For slopes of life models: the acceleration factor, with its interval. One unit more of the feature
        multiplies every quantile of the lifetime by it. Otherwise nan.
    noise_share : float
        Share of the noise of the release in the square of the interval's width, from 0 to 1. The rest is
        sampling and, for censored rows, the error that the rounds left.
    state : {"known", "mostly noise", "unknown"}
        What is known of it; see `ModelSummary`.
    hidden_by_noise : bool
        For slopes: whether the noise alone explains the estimate with its sign. The interval then holds 0.
    beyond : bool
        Whether an end of the interval lies beyond ``bounds_y`` by more than these are apart on the scale of
        the model. For a slope: whether it leads so far from the other bound, within the bounds of its column.
    """

    name: str
    estimate: float
    std_error: float
    lower: float
    upper: float
    time_ratio: float = np.nan
    ratio_lower: float = np.nan
    ratio_upper: float = np.nan
    noise_share: float
    state: str
    hidden_by_noise: bool = False
    beyond: bool = False


@public_module("skprivate.linear_model")
@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """Summary of a private life model, as ``summary()`` returns it.

    Attributes
    ----------
    facts : tuple of pairs of str
        What was fitted, to how many rows, what was spent on which unit, and the warning, if there is one.
    goodness_of_fit : str
        Whether the released residuals agree with the distribution, or why nothing shows it.
    rows : tuple of SummaryRow
        The slopes, the intercept, the scale and, for Weibull and log-logistic times, the shape.
    confidence : float
        Of each interval by itself.

    See Also
    --------
    skprivate.DPLogLocationScaleRegressor : Its fits have a summary.

    Notes
    -----
    The state of an estimate depends on its own interval and noise.

    - "known": the interval is expected to hold as often as its confidence, and one of these is true. A slope
      is not 0, or is small over the whole of its column. A quantile or the location is known within the
      distance between the 10 % and the 20 % quantile of the errors. The scale is known within a change that
      moves the 10 % quantile as far. Or the rows are few, and the noise makes less than half of the interval.
    - "mostly noise": the interval is expected to hold, but it is wide because of the noise of the release.
      More rows or a larger epsilon would help.
    - "unknown": the interval may not hold, or leads beyond ``bounds_y``. `quantile_state
      <skprivate.DPLogLocationScaleRegressor.quantile_state>` lists the reasons.

    An interval may hold 0 because of the rows alone. Then less noise would not help, but more rows would. If
    a slope has ``hidden_by_noise``, another release of the same rows would show other digits, and another
    sign.

    **Privacy**: a function of released values, which spends nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor
    >>> rng = np.random.default_rng(0)
    >>> load = rng.uniform(0, 10, size=(20000, 1))
    >>> hours = np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=20000)
    >>> model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(0, 10), bounds_y=(10, 20000))
    >>> summary = model.fit(load, hours).summary()
    >>> summary.facts[0], [row.name for row in summary.rows]
    (('distribution', 'Weibull'), ['x0', '(intercept)', '(scale)', '(shape)'])
    >>> list(summary.to_frame().columns)[:4]
    ['estimate', 'std_error', 'lower', 'upper']
    """

    facts: tuple[tuple[str, str], ...]
    rows: tuple[SummaryRow, ...]
    confidence: float
    goodness_of_fit: str

    def to_frame(self) -> Any:
        """Return the parameters as a frame of pandas, with their names as its index.

        Returns
        -------
        frame : pandas.DataFrame
            The other attributes of `SummaryRow` are its columns.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows]).set_index("name")

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.facts)
        lines = [f"{name + ':':<{width + 1}} {text}" for name, text in self.facts]
        lines += aligned([self._headings(), *map(self._cells, self.rows)], 1)
        return "\n".join([*lines, *self._foot()])

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.facts
        )
        table = html_table(self._headings(), map(self._cells, self.rows))
        foot = "".join(f"<p>{escape(text)}</p>" for text in self._foot())
        return f"<div><table><tbody>{facts}</tbody></table>{table}{foot}</div>"

    @property
    def _has_ratios(self) -> bool:
        return not all(np.isnan(row.time_ratio) for row in self.rows)

    def _headings(self) -> list[str]:
        interval = f"{100 * self.confidence:g} % interval"
        ratios = ["time ratio", interval] if self._has_ratios else []
        return ["", "estimate", "std. error", interval, *ratios, "noise share", "state"]

    def _cells(self, row: SummaryRow) -> list[str]:
        cells = [escape_controls(row.name), f"{row.estimate:.4g}", f"{row.std_error:.2g}"]
        cells.append(_interval(row.lower, row.upper))
        if self._has_ratios:
            known = not np.isnan(row.time_ratio)
            cells += (
                [f"{row.time_ratio:.4g}", _interval(row.ratio_lower, row.ratio_upper)] if known else ["", ""]
            )
        return [*cells, f"{row.noise_share:.0%}", row.state + f", {_FAR}" * row.beyond]

    def _foot(self) -> list[str]:
        found = {row.state for row in self.rows}
        said = [f"{state}: {meaning}" for state, meaning in goodness.MEANING.items() if state in found]
        said += [f"{_FAR}: {BEYOND}"] * any(row.beyond for row in self.rows)
        return [*said, f"goodness of fit: {escape_controls(self.goodness_of_fit)}"]


def summary(
    self: Any, *, confidence: float = fitting.CONFIDENCE, per: Mapping[str, float] | None = None
) -> ModelSummary:
    """Return estimates with errors and intervals, what is known of each, and what was spent.

    Parameters
    ----------
    confidence : float, default=0.9
        Of each interval by itself, above 0 and below 1.
    per : mapping of str to float, default=None
        Units of features, by name, for slopes and time ratios; above 0. ``per={"mileage": 10_000}`` shows the
        effect of 10,000 miles, if that of one mile is rounded to nothing.

    Returns
    -------
    summary : ModelSummary
        It prints as a table, also in notebooks; ``to_frame`` returns a pandas frame.

    Raises
    ------
    NotFittedError
        There is no fit yet.
    ValueError
        The confidence is out of range, ``per`` names no feature, or its units are not above 0.

    Notes
    -----
    The rows are drawn again without noise. The share of the noise is the part of the square of the
    replicates' width that then vanishes.

    **Privacy**: a function of released values, which spends nothing.
    """
    check_is_fitted(self)
    fitting.check_confidence(confidence)
    log_target, distribution, replicates = self.log_target_, self.error_distribution_, self.replicates_
    slopes = goodness.names_of_slopes(self)
    names, units = ["(intercept)", "(scale)", *slopes], np.ones(2 + len(slopes))
    for name, unit in ({} if per is None else per).items():
        if name not in slopes:
            raise ValueError(f"per names {name!r}, which is none of the features {', '.join(slopes)}.")
        if not isinstance(unit, Real) or not 0 < unit < np.inf:
            raise ValueError(f"per[{name!r}] must be a finite number above 0.")
        place = 2 + slopes.index(name)
        names[place], units[place] = f"{name} per {unit:g}", float(unit)
    estimates = np.array([self.intercept_, self.scale_, *self.coef_])
    intercept = fitting.pivotal(self.intercept_, replicates[:, 0], confidence)
    intervals = np.array(
        [intercept, fitting.interval_of_scale(self, confidence), *fitting.interval_of_coef(self, confidence)]
    )
    without = fitting.without_noise(self)
    shares = goodness.noise_share(goodness.width_of(replicates.T), goodness.width_of(without.T))
    drawn = replicates - 2.0 * self._shift, without - 2.0 * self._shift
    hidden = _explained_by_noise(estimates - self._shift, intervals, *drawn, confidence)
    errors = 0.5 * goodness.width_of(replicates.T, _ONE_ERROR)
    states = [*goodness.states_of_place(self), *goodness.states_of_slopes(self)]
    # The scale has bounds of its own.
    beyond = [goodness.beyond_y(self, intervals[0]), False, *goodness.leads_beyond(self, intervals[2:])]
    rows = []
    for k in [*range(2, len(estimates)), 0]:
        slope = k >= 2
        ends = units[k] * np.array([estimates[k], *intervals[k]])
        with np.errstate(over="ignore"):
            ratios = np.exp(ends) if log_target and slope else np.full(3, np.nan)
        numbers = [ends[0], units[k] * errors[k], *ends[1:], *ratios]
        values: dict[str, Any] = dict(zip(_NUMBERS, map(float, numbers), strict=True))
        values |= {"noise_share": float(shares[k]), "state": str(states[k])}
        values |= {"hidden_by_noise": bool(slope and hidden[k]), "beyond": bool(beyond[k])}
        rows.append(SummaryRow(name=names[k], **values))
    facts = [("distribution", _NAMES[distribution.name, log_target]), *_facts_of(self)]
    scales = [("", estimates[1], errors[1], intervals[1], shares[1], states[1])]
    if self._level_model is not None:
        spread = self._level_model.spread(width := float(ndtri(fitting.ends_of(confidence)[1])))
        facts.append(("spread", spread.verdict))
        log_errors = np.log(spread.intervals[:, 1] / spread.scales) / width
        of_levels = np.where(spread.known, goodness.KNOWN, goodness.UNKNOWN)
        columns = spread.scales, spread.scales * log_errors, spread.intervals, spread.noise_shares, of_levels
        scales = [(f", {name}", *others) for name, *others in zip(spread.names, *columns, strict=True)]
    shown = [(f"(scale{name})", *others) for name, *others in scales]
    if log_target and distribution.name != "normal":
        shown += [
            (f"(shape{name})", 1.0 / scale, error / scale**2, 1.0 / ends[::-1], *others)
            for name, scale, error, ends, *others in scales
        ]
    for name, scale, error, ends, share, state in shown:
        values = dict(zip(_NUMBERS, map(float, [scale, error, *ends]), strict=False))
        rows.append(SummaryRow(name=name, **values, noise_share=float(share), state=str(state)))
    return ModelSummary(
        facts=tuple(facts), rows=tuple(rows), confidence=confidence, goodness_of_fit=verdict_in_words(self)
    )


def study_figures(self: Any) -> Figures:
    """Return what `study_page` shows: slopes, as time ratios of life models, then the other parameters."""
    found = summary(self)
    facts = dict(found.facts)
    rows = []
    for row in found.rows:
        value, name = (row.estimate, row.lower, row.upper), row.name
        if not np.isnan(row.time_ratio):
            value, name = (row.time_ratio, row.ratio_lower, row.ratio_upper), f"time ratio of {row.name}"
        rows.append((name, f"{value[0]:.4g}", f"{_interval(*value[1:])} ({row.state})"))
    note = f"{facts['distribution']} model; rows: {facts['rows']}; events: {facts['events']}."
    return Figures(rows, f"{note} Intervals of {found.confidence:.0%}.")


def _explained_by_noise(
    estimates: FloatArray, intervals: FloatArray, drawn: FloatArray, without: FloatArray, confidence: float
) -> BoolArray:
    """Return which estimates are no further from 0 than the noise can move them to that side.

    The noise's part of the distance of a quantile of the replicates is compared with the estimate. The
    interval is at least as wide to that side, and has to hold 0.
    """
    signs = np.where(estimates > 0.0, 1.0, -1.0)
    of_all, of_rows = (
        np.maximum(np.quantile(signs * (each - estimates), fitting.ends_of(confidence)[1], axis=0), 0.0)
        for each in (drawn, without)
    )
    near = np.abs(estimates) <= np.sqrt(np.maximum(of_all**2 - of_rows**2, 0.0))
    return np.asarray(near & (intervals[:, 0] <= 0.0) & (intervals[:, 1] >= 0.0))


def _facts_of(self: Any) -> tuple[tuple[str, str], ...]:
    """Return the lines above the table: rows, events, the cost, and the warning of the fit."""
    spent, release, warning = self.privacy_spent_, self.release_, goodness.why_unknown(self)
    censored = isinstance(release, CensoredRelease | PopulationRelease)
    noisy_rows = release.histogram.counts.sum() if censored else fitting.moments_of(release).matrix[0, 0]
    event_share = getattr(self, "event_share_", None)
    counted = spent.unprotected
    rows = f"{counted['rows']:,} (public)" if "rows" in counted else f"about {noisy_rows:,.0f} (noisy)"
    facts = [("rows", rows)]
    if "groups" in counted:
        facts.append(("groups", f"{counted['groups']:,} (public)"))
    events = "all" if event_share is None else f"{event_share:.3g} of the rows (noisy)"
    at_most = f", at most {spent.max_rows_per_unit} rows of each" if spent.unit == "group" else ""
    facts += [
        ("events", events),
        ("privacy", f"epsilon {show(spent.epsilon)}, delta {show(spent.delta)}, {spent.claim}"),
        ("unit", f"{spent.unit}{at_most}, {spent.relation}"),
        ("mechanism", spent.mechanism),
    ]
    facts += [("not private", reason) for reason in spent.reasons]
    return (*facts, ("warning", warning)) if warning else tuple(facts)


def _interval(lower: float, upper: float) -> str:
    return f"{lower:.4g} to {upper:.4g}"
