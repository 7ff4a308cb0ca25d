# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the noise of recorded mechanisms, drawn again: its variance, and lower bounds on epsilon."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ....noise import DiscreteGaussianMechanism
from ..._cases.case import AuditCase
from ..._epsilon import EpsilonAudit, audit_epsilon, epsilon_lower_bound, gaussian_lower_bound
from ..._observation.recorder import Recording, Release
from ..._search.privacy_loss import as_epsilon_or_rho, claims_rho
from ..._search.search import RecordedFit, search_neighbours
from ..requirements import FALSE_ALARM, NotApplicable, TooWeakToTell, recorded_search, require, spent_of

# A release, and the integer before noise in either fit.
Place = tuple[Release, int, int]
CONFIDENCE = 1 - FALSE_ALARM
# By them noise of half the scale is refuted from epsilon 0.1 on, and its variance is known to 1 %.
_DRAWS = 60_000
_HALF = Fraction(1, 2)
# An event at m places has a probability near 2^-m: at 4, some 3,700 of the draws are left to count.
_MOST_PLACES = 4
# Each number of places is audited: together they alarm falsely as often as one audit elsewhere.
_CONFIDENCE_OF_PLACES = 1 - FALSE_ALARM / _MOST_PLACES
# Losses of one place at which it is told whether half the noise would show.
_LOSSES = np.geomspace(0.01, 10, 61).tolist()
# Standard errors; beyond them with a probability below 1e-9.
_SIGMAS = 7.0
# Of a variance: where the standard error is larger, twice the noise would pass.
_LARGEST_ERROR = 0.5


def check_epsilon_audit(case: AuditCase) -> None:
    """The noise of the worst pair, drawn again many times, tells no more than was predicted for that pair."""
    pair, by_rho = worst_recorded_pair(case)
    audit = audit_of_noise(pair, by_rho=by_rho)
    require(audit.passed, str(audit))


def check_audit_catches_half_the_noise(case: AuditCase) -> None:
    """The same audit refutes the same mechanisms with half the noise: else its passing would mean little."""
    pair, by_rho = worst_recorded_pair(case)
    audit = audit_of_noise(pair, by_rho=by_rho, factor=_HALF)
    if audit.passed:
        _require_a_telling_loss(_audit_of_places(places_of(*pair)[-1:], by_rho, _HALF), by_rho)
    require(not audit.passed, f"half the noise goes unnoticed on these data sets: {audit}")


def _require_a_telling_loss(audit: EpsilonAudit, by_rho: bool) -> None:
    """Give up where the place that loses most loses too little, or so much that an event is never seen."""
    telling = [loss for loss in _LOSSES if _shows_half_the_noise(loss, audit, by_rho)]
    loss = float(audit.predicted or 0.0)
    if not telling:
        raise TooWeakToTell("no event of the reports is frequent enough: let there be fewer cells")
    if not telling[0] <= loss <= telling[-1]:
        raise TooWeakToTell(
            f"half the noise shows where a released number loses {telling[0]:.2g} to {telling[-1]:.2g}, and "
            f"the most on these data is {loss:.2g}: take data of which one unit moves a number further, or "
            f"{np.clip(loss, telling[0], telling[-1]) / loss:.3g} times the epsilon"
        )


def _shows_half_the_noise(loss: float, audit: EpsilonAudit, by_rho: bool) -> bool:
    """Whether an audit refutes a loss if twice of it is true, six standard errors from what is expected."""
    n = min(audit.trials)
    # Of Laplace noise the middle of the two numbers parts one half; of reports, the event that was chosen.
    likely, unlikely = min(audit.hits[0], n // 2), min(audit.hits[0], n // 2) * math.exp(-2 * loss)
    if by_rho:
        likely, unlikely = n * norm.cdf(loss), n * norm.cdf(-loss)
    hits = max(0, int(likely - 6 * math.sqrt(likely))), math.ceil(unlikely + 6 * math.sqrt(unlikely + 1))
    if by_rho:
        return gaussian_lower_bound(hits, (n, n), audit.confidence) > loss
    return epsilon_lower_bound(*hits, n, audit.confidence) > loss


def worst_recorded_pair(case: AuditCase) -> tuple[tuple[Recording, Recording], bool]:
    """Return the recorded fits of the pair with the greatest loss, and whether it is counted as rho."""
    spent = spent_of(case.fit(0))
    first, second = worst_fits(case)
    gaussian = any(isinstance(one.mechanism, DiscreteGaussianMechanism) for one in first.recording.releases)
    return (first.recording, second.recording), claims_rho(spent) or gaussian


def worst_fits(case: AuditCase) -> tuple[RecordedFit, RecordedFit]:
    """Return the recorded fits of the pair with the greatest loss; skips where it cannot be told."""
    found = search_neighbours(case)
    if found.differing_releases:
        raise NotApplicable("neighbours release different things, see check_sensitivity_fuzz")
    if found.pair is None or found.noise_is_added_elsewhere:
        raise NotApplicable(
            "no noise came from skprivate's mechanisms, or not what meets private numbers, or only the best "
            "of several draws is kept, so losses cannot be recorded"
        )
    return found.pair


def audit_of_noise(
    pair: tuple[Recording, Recording], *, by_rho: bool, factor: Fraction = Fraction(1)
) -> EpsilonAudit:
    """Audit fresh draws of the recorded mechanisms around either fit's exact integers.

    Where the fits differ most, and where they differ most in a few places: one place shows a little too
    little noise best, several show it where each loses little. Returned is the audit nearer to refuting.
    """
    places = places_of(*pair)
    if not places:
        raise NotApplicable("no pair of these data sets differs in what is released")
    audits = [_audit_of_places(places[-most:], by_rho, factor) for most in range(1, _MOST_PLACES + 1)]
    return max(audits, key=lambda audit: audit.epsilon / float(audit.predicted or 1.0))


def _audit_of_places(places: list[Place], by_rho: bool, factor: Fraction) -> EpsilonAudit:
    generator = np.random.default_rng(7)
    loss, swapped = _loss_at(places, by_rho), [(one, g, f) for one, f, g in places]
    here, there = (_draw(side, factor, generator) for side in (places, swapped))
    if by_rho:
        return _audit_gaussian(here, -there, math.sqrt(2 * float(loss)))
    if places[0][0].scale is not None:
        return audit_epsilon(here, -there, predicted=loss, confidence=_CONFIDENCE_OF_PLACES)
    if here.dtype == np.uint8 and here.ndim == 2:
        here, there = (np.unpackbits(reports, axis=1) for reports in (here, there))
    return audit_epsilon(
        here, there, predicted=loss, categorical=here.ndim == 1, confidence=_CONFIDENCE_OF_PLACES
    )


def _draw(places: list[Place], factor: Fraction, generator: Any) -> Any:
    """Log likelihood ratios of fresh outputs, by the recorded noise; of a local mechanism, its reports."""
    total = np.zeros(_DRAWS)
    for one, f, g in places:
        drawn = one.with_noise_times(factor).randomize(_trials(one.mechanism, f), generator)
        if one.scale is None:
            # Every user in one call is a trial.
            return drawn
        total += _log_ratio(one, drawn, f, g)
    return total


def _trials(mechanism: Any, value: int) -> NDArray[np.int64]:
    """Return the values of many trials: of reports about one of several columns, the same in every column."""
    n_columns = getattr(mechanism, "n_columns", None)
    return np.full(_DRAWS if n_columns is None else (_DRAWS, n_columns), value, dtype=np.int64)


def places_of(mine: Recording, theirs: Recording) -> list[Place]:
    """Return where two fits differ most, with either integer: many small losses hide one another's events."""
    places = [
        (one, int(f), int(g))
        for one, other in zip(mine.releases, theirs.releases, strict=True)
        for f, g in zip(one.exact.flat, other.exact.flat, strict=True)
        if f != g
    ]
    return sorted(places, key=lambda place: abs(place[1] - place[2]) / (place[0].scale or 1))[-_MOST_PLACES:]


def _loss_at(places: list[Place], by_rho: bool) -> Any:
    """Loss of these places alone."""
    recordings = [
        Recording([Release(place[0].mechanism, np.array([place[side]]), place[0].output) for place in places])
        for side in (1, 2)
    ]
    return as_epsilon_or_rho(recordings[0].loss(recordings[1]), by_rho)


def _log_ratio(release: Release, drawn: NDArray[np.int64], f: int, g: int) -> NDArray[np.float64]:
    scale = float(release.scale or 1)
    # Differences first: they are exact, and small.
    to_f, to_g = (drawn - f).astype(np.float64), (drawn - g).astype(np.float64)
    if isinstance(release.mechanism, DiscreteGaussianMechanism):
        return (to_g**2 - to_f**2) / (2 * scale**2)
    return (np.abs(to_g) - np.abs(to_f)) / scale


def _audit_gaussian(here: NDArray[Any], there: NDArray[Any], mu: float) -> EpsilonAudit:
    """Audit mu = sqrt(2 rho), the distance of two Gaussians, by one event at their middle."""
    hits = int((here >= 0).sum()), int((there >= 0).sum())
    trials = len(here), len(there)
    bound = gaussian_lower_bound(hits, trials, _CONFIDENCE_OF_PLACES)
    return EpsilonAudit(
        epsilon=bound, confidence=_CONFIDENCE_OF_PLACES, hits=hits, trials=trials, predicted=mu
    )


def fresh_outputs(mine: Recording, theirs: Recording) -> NDArray[np.float64]:
    """Outputs drawn again at the place where two fits differ most."""
    places = places_of(mine, theirs)
    if not places:
        raise NotApplicable("no pair of these data sets differs in what is released")
    mechanism, value = places[-1][0].mechanism, places[-1][1]
    drawn = mechanism.randomize(_trials(mechanism, value), np.random.default_rng(17))
    return drawn.reshape(_DRAWS, -1).astype(np.float64)


def check_noise_variance(case: AuditCase) -> None:
    """The noise has the variance that its scale states, and the scale is the one in privacy_spent_."""
    recorded_search(case)
    model, recording = case.record(0)
    spent, generator = spent_of(model), np.random.default_rng(13)
    scales = {release.scale for release in recording.releases if release.scale is not None}
    if not scales:
        raise NotApplicable("a local randomizer: check_epsilon_audit counts its reports")
    stated = spent.noise_scale
    if stated is not None and len(scales) == 1:
        # On the integers a scale may be rounded up.
        require(stated <= min(scales) < stated + 1, "privacy_spent_.noise_scale is not what was drawn")
    for mechanism in {release.scale: release.mechanism for release in recording.releases}.values():
        noise = mechanism.randomize(np.zeros(_DRAWS, dtype=np.int64), generator).astype(np.float64)
        # The kurtosis of discrete Laplace noise is 6 and 1 / variance, and that of Gaussian noise is less.
        error = _SIGMAS * math.sqrt((5 + 1 / max(mechanism.variance, 1 / _DRAWS)) / _DRAWS)
        if error > _LARGEST_ERROR:
            raise TooWeakToTell("noise of this scale is hardly ever drawn: choose a smaller epsilon, 1.5 say")
        ratio = noise.var() / mechanism.variance
        require(abs(ratio - 1) < error, f"noise of {ratio:.3f} times the variance that its scale states")
