# SPDX-License-Identifier: BSD-3-Clause
"""What is known of each estimate of a life model, and the warning of a fit, which names the others.

Every function is of released values and public inputs alone; `self` is a fitted regressor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, FloatArray
from ..base._likely_mistakes import (
    bounded_columns,
    columns_at_a_bound,
    count_at_a_bound,
    least_missing,
    mean_at_a_bound,
    mostly_missing,
    warn_of_mistakes,
)
from ..rounds._rows import on_model_scale
from ._censored.histograms import beyond_bounds
from ._censored.population import PopulationRelease
from ._censored.release import NO_EVENTS, CensoredRelease, hides_features, means_nothing, unsettled
from ._fit import CONFIDENCE, check_confidence, ends_of, interval_of_coef, moments_of, without_noise
from ._goodness_of_fit import GoodnessOfFit, about_the_final_line, compare_residuals
from ._moments.released_moments import MomentRelease
from ._moments.replicates import HIDDEN, bootstrap_looks, looks_warning, moments_warning, untold_directions
from ._moments.rounds import LookRelease

States = NDArray[np.str_]

#: The interval holds as often as it says, and the noise leaves it narrow enough to say something.
KNOWN = "known"
#: The interval holds, but the noise of the release makes most of its width, and it says little.
MOSTLY_NOISE = "mostly noise"
#: The interval may hold less often than it says, or nothing in the rows says anything about such values.
UNKNOWN = "unknown"

#: What the states say, below tables.
MEANING = {
    MOSTLY_NOISE: "the noise of the release makes most of the interval, which says little.",
    UNKNOWN: "do not rely on the estimate, nor on its interval.",
}
# An interval says little if, on the scale of the model, it is wider to one side than the distance of the 10 %
# and the 20 % quantile of the errors: of twice as many failures it does not say whether they come by then.
_LEVELS = (0.1, 0.2)
# Of the square of an interval's width, so much of the noise is most of it.
_MOST = 0.5
# Part of a unit slope along directions that the noise hides from which it counts as hidden.
_HIDDEN_PART = 0.1
# Of 13 drowned slopes in 432 fits to 5,000 rows, intervals that exclude 0 held in .3; none is left with 2.
_TWICE = 2.0
# Replicates that the warning that a constant may do is decided by: standard errors within a tenth.
_FEW = 100
# Largest variance, in scales of the error, that the misses of slopes may give the residuals: a normal law
# stands for that of the misses, which is right where it is small.
_MOST_SPREAD = 0.25
# Names in a sentence at most.
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Ground:
    """What holds for many estimates of a fit at once.

    Attributes
    ----------
    verdict : GoodnessOfFit or str
        How residuals agree with the law, or why there is no verdict.
    means_nothing : str or None
        Why no estimate means anything.
    of_lives : str or None
        Why intervals of the scale, of quantiles and of curves may not hold.
    hidden : ndarray of bool of shape (n_features,)
        Slopes along combinations of features of which the noise hides how much they vary: they are pulled
        toward zero by an unknown amount.
    limit : float
        Distance, in scales of the error, beyond which an interval says little.
    """

    verdict: GoodnessOfFit | str
    means_nothing: str | None
    of_lives: str | None
    hidden: BoolArray
    limit: float

    @property
    def rejected(self) -> bool:
        """Whether the residuals reject the law."""
        return isinstance(self.verdict, GoodnessOfFit) and self.verdict.rejected


def ground_of(self: Any) -> Ground:
    """Return what holds for many estimates at once, computed when it is first asked for."""
    if self._ground is None:
        self._ground = _find_ground(self)
    ground: Ground = self._ground
    return ground


def _find_ground(self: Any) -> Ground:
    release, law = self.release_, self.error_distribution_
    low, high = law.quantile(_LEVELS)
    hidden = np.zeros(len(self.coef_), dtype=bool)
    nothing = of_lives = None
    if isinstance(release, CensoredRelease):
        nothing = means_nothing(release, strict=self._was_strict)
        if nothing is None and unsettled(release, law):
            of_lives = "by the released values, the rounds ended before location and scale settled"
    elif isinstance(release, PopulationRelease):
        nothing = None if release.shows_events else NO_EVENTS
        if not release.settled:
            of_lives = "by the released values, the noise hides where the likelihood is largest"
    else:
        untold = untold_directions(moments_of(release), self._constant)
        if len(untold):
            hidden = np.sum(untold**2, axis=0) > _HIDDEN_PART
            of_lives = "by the released values, the noise hides how much some columns vary"
    verdict = "the estimates mean nothing" if nothing else verdict_of(self)
    if isinstance(verdict, GoodnessOfFit) and verdict.rejected:
        of_lives = f"the residuals reject the law. {verdict}"
    return Ground(verdict, nothing, of_lives, hidden, float(high - low))


# The verdict on the law.


def goodness_of_fit(self: Any, *, confidence: float = CONFIDENCE) -> GoodnessOfFit:
    """Compare the released residuals with the distribution of the fit.

    Parameters
    ----------
    confidence : float, default=0.9
        Of each interval by itself, above 0 and below 1.

    Returns
    -------
    fit : GoodnessOfFit
        It prints as a sentence; `skprivate.inspection.ResidualDisplay` draws it.

    Raises
    ------
    NotFittedError
        There is no fit yet.
    ValueError
        The fit released no histogram of residuals about its estimates, or the confidence is out of range.

    Notes
    -----
    With ``scale_by`` the residuals of each level are compared, in its own scale; what is returned is the
    comparison of the level that differs most, with a p-value that counts how many there are.

    **Privacy**: a function of released values, which spends nothing.
    """
    check_is_fitted(self)
    check_confidence(confidence)
    compared = _compared(self)
    if isinstance(compared, str):
        raise ValueError(f"{compared}: nothing that was released shows whether the law is right.")
    return _compare(compared, confidence)


def verdict_of(self: Any) -> GoodnessOfFit | str:
    """Return how the residuals agree with the law, or why no residuals show it."""
    compared = _compared(self)
    return compared if isinstance(compared, str) else _compare(compared)


def _compare(compared: list[dict[str, Any]], confidence: float = CONFIDENCE) -> GoodnessOfFit:
    """Return the comparison that differs most, with a p-value that counts how many there are."""
    found = [compare_residuals(**one, confidence=confidence, n_compared=len(compared)) for one in compared]
    return min(found, key=lambda one: one.p_value)


def _compared(self: Any) -> list[dict[str, Any]] | str:
    """Return what `compare_residuals` takes of a fit, or of each level, or why there is no verdict."""
    release, levels = self.release_, self._level_model
    residuals = getattr(release, "residuals", None)
    counted: list[Any] = [residuals] if levels is None else levels.residuals
    if not counted or counted[0] is None:
        return "the fit released no histogram of residuals"
    every = [
        {
            "edges": one.edges,
            "counts": one.counts,
            "noise_std": one.noise_std,
            "distribution": self.error_distribution_,
            "mechanism": release.mechanism,
        }
        for one in counted
    ]
    if levels is not None:
        return every
    (found,) = every
    if isinstance(release, LookRelease):
        found |= about_the_final_line(self, release)
    elif isinstance(release, CensoredRelease) and release.correction is not None:
        found["spread"] = release.correction.spread
    if found.get("spread", 0.0) > _MOST_SPREAD:
        return "what the slopes may miss spreads the residuals"
    return every


# States, from widths of intervals with the noise and without it.


def states_of(
    width: FloatArray,
    of_rows: FloatArray,
    limit: float | FloatArray,
    lost: bool | BoolArray,
    tells: bool | BoolArray = False,
) -> States:
    """Return the state of each of some estimates.

    Parameters
    ----------
    width, of_rows : ndarray of any shape
        Of the interval, and of the one that the rows alone would leave.
    limit : float or ndarray
        Width up to which an interval says something.
    lost : bool or ndarray
        Whether the interval may not hold.
    tells : bool or ndarray, default=False
        Whether it says something else, as that an effect is not 0.
    """
    says_little = (noise_share(width, of_rows) > _MOST) & (width > limit) & ~np.asarray(tells)
    states = np.where(says_little, MOSTLY_NOISE, KNOWN)
    return np.where(np.asarray(lost) | ~np.isfinite(width), UNKNOWN, states)


def noise_share(width: FloatArray, of_rows: FloatArray) -> FloatArray:
    """Return the share of the noise in the squares of widths: variances of replicates may be infinite."""
    width, of_rows = np.asarray(width), np.asarray(of_rows)
    parts = np.divide(of_rows, width, out=np.ones_like(width), where=width > 0.0)
    return np.asarray(1.0 - np.minimum(parts, 1.0) ** 2)


def width_of(replicates: FloatArray, confidence: float = CONFIDENCE) -> FloatArray:
    """Return the width of an interval from replicates, which are the last axis."""
    low, high = np.quantile(replicates, ends_of(confidence), axis=-1)
    return np.asarray(high - low)


def states_of_slopes(self: Any) -> States:
    """Return the state of every slope.

    One that is clearly not 0 says something, and so does an interval that is narrow for the whole of its
    column. Of many slopes that are drowned, intervals of some exclude 0 by chance, or because noise has
    turned them to one side, and these hold less often: 0 has to be twice as far away as the farther end.
    """
    ground, units = ground_of(self), self.bounds_[1] - self.bounds_[0]
    interval = interval_of_coef(self, CONFIDENCE)
    tells = _clearly_not_0(self.coef_, interval)
    replicates, without = self.replicates_[:, 2:].T, without_noise(self)[:, 2:].T
    lost = ground.hidden | (ground.means_nothing is not None) | leads_beyond(self, interval)
    return states_of(
        width_of(replicates), width_of(without), 2.0 * ground.limit * self.scale_ / units, lost, tells
    )


def _clearly_not_0(estimates: FloatArray, interval: FloatArray) -> BoolArray:
    """Whether intervals exclude 0 from both sides of the estimate, and would if they were twice as wide."""
    ends = np.abs(interval - estimates[:, np.newaxis]).max(axis=1, initial=0.0)
    return np.asarray(np.abs(estimates) > _TWICE * ends)


def states_of_place(self: Any) -> States:
    """Return the states of the intercept and of the scale; one that moves B10 by the limit says little."""
    ground = ground_of(self)
    replicates, without = self.replicates_[:, :2].T, without_noise(self)[:, :2].T
    reach = abs(float(self.error_distribution_.quantile(_LEVELS[0])))
    lost = np.array([beyond_y(self, _pivot(self.intercept_, replicates[0])), False]) | is_lost(ground)
    limits = 2.0 * ground.limit * self.scale_ / np.array([1.0, reach])
    return states_of(width_of(replicates), width_of(without), limits, lost)


def is_lost(ground: Ground) -> bool:
    """Whether intervals of quantiles may not hold, whatever their width."""
    return bool(ground.means_nothing or ground.of_lives)


def beyond_y(self: Any, interval: FloatArray) -> BoolArray:
    """Return which intervals, on the scale of the model, end farther beyond bounds_y than these are apart."""
    low, high = on_model_scale(self.bounds_y_, self.log_target_)
    return np.asarray((interval[..., 0] < 2 * low - high) | (interval[..., 1] > 2 * high - low))


def leads_beyond(self: Any, interval: FloatArray) -> BoolArray:
    """Return which slopes may lead, within the bounds of their columns, as far."""
    low, high = on_model_scale(self.bounds_y_, self.log_target_)
    units = self.bounds_[1] - self.bounds_[0]
    return np.asarray(np.abs(interval).max(axis=1, initial=0.0) * units > 2 * (high - low))


def _pivot(estimate: float, replicates: FloatArray) -> FloatArray:
    return 2.0 * estimate - np.quantile(replicates, ends_of(CONFIDENCE)[::-1])


def names_of_slopes(self: Any) -> tuple[str, ...]:
    """Names of the columns that slopes are about: x0, x1, ... where the fit saw none."""
    unnamed = tuple(f"x{k}" for k in range(len(self.coef_)))
    return tuple(map(str, self._names_of_features() or unnamed))


# The warning of a fit.


def warn_of_release(self: Any) -> None:
    """Warn of columns that are not what is declared, of clipped targets, and of what is not known."""
    misfits: tuple[str | None, ...] = ()
    if isinstance(self.release_, MomentRelease | LookRelease):
        moments, grid = moments_of(self.release_), self.grid_
        n_rows = max(float(moments.matrix[0, 0]), 1.0)
        # Columns in their own units, and not in those of the grid.
        means = grid.center + grid.half * moments.matrix[0, 2:] / n_rows
        std, bounds = grid.half * moments.noise_std[0, 2:] / n_rows, (grid.lower, grid.upper)
        columns = bounded_columns(self.domain, self._names_of_features(), bounds, means, std)
        missing = mostly_missing(self.domain, least_missing(self.domain, means, std))
        misfits = missing, columns_at_a_bound(columns)
    warn_of_mistakes(type(self).__name__, *misfits, why_unknown(self))


def why_unknown(self: Any) -> str | None:
    """Return what is not known of the model, and why, as far as released values show it."""
    with np.errstate(all="ignore"):
        levels = None if self._level_model is None else self._level_model.warning()
        return " And ".join(filter(None, [_why_clipped(self), *_why_noisy(self), levels])) or None


def _why_clipped(self: Any) -> str | None:
    """Return what released counts, or the mean, say of values of the target beyond its bounds."""
    release, grid = self.release_, self.grid_
    if release.ends is not None:
        return beyond_bounds(release.ends)
    if isinstance(release, CensoredRelease):
        return beyond_bounds(release.histogram)
    if isinstance(release, PopulationRelease):
        # Rows beyond the bounds are in open cells: a few of them bias nothing.
        counts = release.histogram
        return count_at_a_bound(counts.below, 0.0, max(float(counts.counts.sum()), 1.0))
    moments = moments_of(release)
    n = max(float(moments.matrix[0, 0]), 1.0)
    mean, noise = float(moments.matrix[0, 1]) / n, float(moments.noise_std[0, 1]) / n
    return mean_at_a_bound(grid.y_center + grid.y_half * mean, grid.y_half * noise, grid.target)


def _why_noisy(self: Any) -> list[str]:
    ground = ground_of(self)
    if ground.means_nothing:
        return [ground.means_nothing]
    states = states_of_slopes(self)
    said = []
    interval = interval_of_coef(self, CONFIDENCE)
    shown = (states == KNOWN) & _clearly_not_0(self.coef_, interval)
    if _constant_may_do(self) and not shown.any():
        said.append(HIDDEN)
    elif (states == MOSTLY_NOISE).any():
        said.append(_drowned(self, states == MOSTLY_NOISE))
    if ground.hidden.any():
        said.append(
            "by the released values, the noise hides how much some combination of columns varies. Slopes "
            f"of {_listed(self, ground.hidden)} are pulled toward zero, and intervals do not account for "
            "that, nor those of the scale and of quantiles. Leave out one of columns that nearly determine "
            "each other (of one-hot coded columns that add up to one, a level), or tighten the bounds; more "
            "rows or a larger epsilon would help, too."
        )
    elif ground.of_lives:
        said.append(
            f"{ground.of_lives.removesuffix('.')}. The scale and quantiles may be off by more than their "
            "intervals."
        )
    elif states_of_place(self)[1] == MOSTLY_NOISE:
        said.append("by the released values, the noise hides the scale, and so the lower quantiles.")
    return said


def _constant_may_do(self: Any) -> bool:
    """Whether, for all that is known, a constant predicts as well as the slopes do."""
    release, constant = self.release_, self._constant
    if isinstance(release, PopulationRelease):
        return False
    if isinstance(release, CensoredRelease):
        return hides_features(release, constant)
    if isinstance(release, LookRelease):
        options = {"rows_per_unit": self._rows_per_unit, "n_replicates": _FEW, "by_steps": True}
        replicates = bootstrap_looks(release, self.error_distribution_, constant=constant, **options)
        return looks_warning(release, replicates, constant) == HIDDEN
    return moments_warning(release, self._scaled_fit, constant) == HIDDEN


def _drowned(self: Any, drowned: BoolArray) -> str:
    """Return the sentence on slopes that are mostly noise, and what would help."""
    helps = ["more rows", "a larger epsilon"]
    if any("=" in name for name in _named(self, drowned)) and self.domain is not None:
        helps.insert(0, "levels that are joined")
    if self.release_.mechanism == "laplace" and len(self.coef_) > 2:
        helps.insert(0, "Gaussian noise (delta above 0)")
    return (
        f"by the released values, the noise drowns the effects of {_listed(self, drowned)}: intervals hold, "
        f"but say little. What helps: {', '.join(helps[:-1])} or {helps[-1]}. summary() shows what is known "
        "of every estimate."
    )


def _named(self: Any, which: BoolArray) -> Sequence[str]:
    return [name for name, named in zip(names_of_slopes(self), which, strict=True) if named]


def _listed(self: Any, which: BoolArray) -> str:
    names = [repr(name) for name in _named(self, which)]
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
