# SPDX-License-Identifier: BSD-3-Clause
"""The summary of a fitted life model: estimates, intervals, the share of the noise, and what was spent."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from ..accounting._privacy_amounts import show
from ..accounting._statements.fields import escape_controls
from ..utils._public_module import public_module
from ._censored.population import PopulationRelease
from ._censored.release import CensoredRelease
from ._fit import CONFIDENCE, interval_of_coef, interval_of_scale, moments_of, replicate, why_useless
from ._moments.replicates import pivotal
from ._predictions import BEYOND, check_confidence, ends_of

_LAWS = {
    ("sev", True): "Weibull",
    ("logistic", True): "log-logistic",
    ("normal", True): "log-normal",
    ("sev", False): "smallest extreme value",
    ("logistic", False): "logistic",
    ("normal", False): "normal",
}
_MARK, _FAR = "noise", "beyond"
_NUMBERS = ("estimate", "lower", "upper", "time_ratio", "ratio_lower", "ratio_upper", "noise_share")


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """One parameter of a fitted model.

    Attributes
    ----------
    name : str
        Of the feature; "(intercept)", "(scale)", or "(shape)", which is 1 / scale.
    estimate, lower, upper : float
        With the ends of its confidence interval.
    time_ratio, ratio_lower, ratio_upper : float
        Slopes of life models: the factor by which a unit more of the feature multiplies every quantile of
        the lifetime (the acceleration factor), with its interval. Otherwise nan.
    noise_share : float
        Share of the noise of the release in the variance of the estimate, from 0 to 1; the rest is sampling,
        and for censored rows what the rounds left undone.
    hidden_by_noise : bool
        Slopes: whether the noise alone explains the estimate; see `ModelSummary`.
    beyond : bool
        Whether an end of the interval lies beyond ``bounds_y`` by more than these are apart on the scale of
        the model; of a slope, whether it leads there from the other bound, within the bounds of its column.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    time_ratio: float = np.nan
    ratio_lower: float = np.nan
    ratio_upper: float = np.nan
    noise_share: float
    hidden_by_noise: bool = False
    beyond: bool = False


@public_module("skprivate.linear_model")
@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """Summary of a private life model, as ``summary()`` returns it.

    Attributes
    ----------
    facts : tuple of pairs of str
        What was fitted, to how many rows, what was spent on what unit, and the warning, if there is one.
    rows : tuple of SummaryRow
        The slopes, the intercept, the scale and, for Weibull and log-logistic times, the shape.
    confidence : float
        Of each interval by itself.

    See Also
    --------
    skprivate.DPLogLocationScaleRegressor : Its fits have one.

    Notes
    -----
    A slope is marked "noise" (``hidden_by_noise``) where it is no further from 0 than the noise of the
    release takes a slope of 0 in ``confidence`` of all fits: its sign and its digits are then those of the
    noise, and another release of the same rows would show others. This says something else than that its
    interval holds 0. An interval may hold 0 because of the rows alone: less noise would not help then, but
    more rows. And a marked slope need not be small: its interval says how large it may be.

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
    (('law', 'Weibull'), ['x0', '(intercept)', '(scale)', '(shape)'])
    >>> list(summary.to_frame().columns)[:4]
    ['estimate', 'lower', 'upper', 'time_ratio']
    """

    facts: tuple[tuple[str, str], ...]
    rows: tuple[SummaryRow, ...]
    confidence: float

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
        table = [self._headings(), *map(self._cells, self.rows)]
        widths = [max(len(cells[k]) for cells in table) for k in range(len(table[0]))]
        for cells in table:
            texts = [cells[0].ljust(widths[0])]
            texts += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
            lines.append("  ".join(texts).rstrip())
        return "\n".join([*lines, *self._foot()])

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.facts
        )
        head = "".join(f"<th>{escape(name)}</th>" for name in self._headings())
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in self._cells(row)) + "</tr>"
            for row in self.rows
        )
        foot = "".join(f"<p>{escape(text)}</p>" for text in self._foot())
        return (
            f"<div><table><tbody>{facts}</tbody></table>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"
        )

    @property
    def _has_ratios(self) -> bool:
        return not all(np.isnan(row.time_ratio) for row in self.rows)

    def _headings(self) -> list[str]:
        interval = f"{100 * self.confidence:g} % interval"
        ratios = ["time ratio", interval] if self._has_ratios else []
        return ["", "estimate", interval, *ratios, "noise share", ""]

    def _cells(self, row: SummaryRow) -> list[str]:
        cells = [escape_controls(row.name), f"{row.estimate:.4g}", _interval(row.lower, row.upper)]
        if self._has_ratios:
            known = not np.isnan(row.time_ratio)
            cells += (
                [f"{row.time_ratio:.4g}", _interval(row.ratio_lower, row.ratio_upper)] if known else ["", ""]
            )
        marks = [mark for mark, is_set in ((_MARK, row.hidden_by_noise), (_FAR, row.beyond)) if is_set]
        return [*cells, f"{row.noise_share:.0%}", ", ".join(marks)]

    def _foot(self) -> list[str]:
        noise = (
            f"{_MARK}: the noise of the release alone explains this estimate, its sign included. How large "
            "the slope may be is what its interval says."
        )
        found = any(row.hidden_by_noise for row in self.rows), any(row.beyond for row in self.rows)
        return [text for text, is_set in zip((noise, f"{_FAR}: {BEYOND}"), found, strict=True) if is_set]


def summary(self: Any, *, confidence: float = CONFIDENCE) -> ModelSummary:
    """Return estimates with intervals, the share of the noise in their errors, and what was spent.

    Parameters
    ----------
    confidence : float, default=0.9
        Of each interval by itself, above 0 and below 1.

    Returns
    -------
    summary : ModelSummary
        It prints as a table, in notebooks too; ``to_frame`` returns a frame of pandas.

    Raises
    ------
    NotFittedError
        There is no fit yet.
    ValueError
        The confidence is out of range.

    Notes
    -----
    The share of the noise is that by which the variance of the replicates goes down where only the rows
    are drawn anew.

    **Privacy**: a function of released values, which spends nothing.
    """
    check_is_fitted(self)
    check_confidence(confidence)
    log_target, distribution, replicates = self.log_target_, self.error_distribution_, self.replicates_
    names = ("(intercept)", "(scale)", *_names_of_slopes(self))
    estimates = np.array([self.intercept_, self.scale_, *self.coef_])
    intercept = pivotal(self.intercept_, replicates[:, 0], confidence)
    intervals = np.array(
        [intercept, interval_of_scale(self, confidence), *interval_of_coef(self, confidence)]
    )
    variances = replicates.var(axis=0)
    noise = np.maximum(variances - replicate(self, with_noise=False).var(axis=0), 0.0)
    shares = np.divide(noise, variances, out=np.zeros_like(noise), where=variances > 0)
    hidden = np.abs(estimates) <= ndtri(ends_of(confidence)[1]) * np.sqrt(noise)
    low, high = self.grid_.target
    widths = self.bounds_[1] - self.bounds_[0]
    # The scale has bounds of its own.
    beyond = [intervals[0, 0] < 2 * low - high or intervals[0, 1] > 2 * high - low, False]
    beyond += list(np.abs(intervals[2:]).max(axis=1, initial=0.0) * widths > 2 * (high - low))
    rows = []
    for k in [*range(2, len(estimates)), 0, 1]:
        slope = k >= 2
        ends = np.array([estimates[k], *intervals[k]])
        with np.errstate(over="ignore"):
            ratios = np.exp(ends) if log_target and slope else np.full(3, np.nan)
        values = dict(zip(_NUMBERS, [*ends.tolist(), *ratios.tolist(), float(shares[k])], strict=True))
        marks = {"hidden_by_noise": bool(slope and hidden[k]), "beyond": bool(beyond[k])}
        rows.append(SummaryRow(name=names[k], **values, **marks))
    if log_target and distribution.name in ("sev", "logistic"):
        lower, upper = 1.0 / intervals[1, ::-1]
        shape, share = float(1.0 / estimates[1]), float(shares[1])
        rows.append(SummaryRow(name="(shape)", estimate=shape, lower=lower, upper=upper, noise_share=share))
    law = ("law", _LAWS[distribution.name, log_target])
    return ModelSummary(facts=(law, *_facts_of(self)), rows=tuple(rows), confidence=confidence)


def _facts_of(self: Any) -> tuple[tuple[str, str], ...]:
    """Return what stands above the table: rows, events, the cost, and the warning of the fit."""
    spent, release, warning = self.privacy_spent_, self.release_, why_useless(self)
    censored = isinstance(release, CensoredRelease | PopulationRelease)
    noisy_rows = release.histogram.counts.sum() if censored else moments_of(release).matrix[0, 0]
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


def _names_of_slopes(self: Any) -> tuple[str, ...]:
    """Names of the columns that slopes are about: x0, x1, ... where the fit saw none."""
    domain = getattr(self, "domain_", None)
    if domain is not None:
        return domain.encoded_names
    unnamed = [f"x{k}" for k in range(len(self.coef_))]
    return tuple(map(str, getattr(self, "feature_names_in_", unnamed)))
