# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the noise itself, by counting: lower bounds on epsilon, low bits, variance, a huge epsilon."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from ...noise import DiscreteGaussianMechanism
from .._epsilon import EpsilonAudit, audit_epsilon, epsilon_lower_bound, gaussian_lower_bound, low_bits
from .._neighbours import Arguments, AuditCase, domain_of_X, domain_of_y, is_column
from .._observation.object_walk import leaves
from .._observation.recorder import Recording, Release
from .._search.black_box import furthest_pair
from .._search.deadline import Budget
from .._search.privacy_loss import claims_rho, one_number
from .._search.search import Fit, search_neighbours
from .limits import NotApplicable
from .release_checks import (
    FALSE_ALARM,
    Claim,
    claim_of,
    name_of,
    noisy_paths,
    recorded,
    require,
    spent_of,
)

# A release, and the integer before noise in either fit.
Place = tuple[Release, int, int]

CONFIDENCE = 1 - FALSE_ALARM
# By them noise of half the scale is refuted from epsilon 0.1 on, and its variance is known to 1 %.
_DRAWS = 60_000
_HALF = Fraction(1, 2)
# Of one fit: more of them slow the audit, and hide one another.
_MOST_VALUES = 256
_MOST_PLACES = 4
# Its square is still finite, and so is a sum of those.
_LARGEST = 1e120
# Below it no half of the noise could be noticed.
_LEAST_TRIALS = 100
# Processor seconds for whole fits.
_SECONDS = {False: 8.0, True: 25.0}
# Standard errors; beyond them with a probability below 1e-9.
_SIGMAS = 7.0
_HUGE = (1e6, 1e4, 1e3, 100.0)
_TIMES = 100
_FITS_AT_THE_END = 5
# Any share but one half.
_SMALLER_CLASS = 0.4


def check_epsilon_audit(case: AuditCase) -> None:
    """The noise of the worst pair, drawn again many times, tells no more than was predicted for that pair."""
    pair, by_rho = worst_recorded_pair(case)
    audit = audit_of_noise(pair, by_rho=by_rho)
    require(audit.passed, str(audit))


def check_audit_catches_half_the_noise(case: AuditCase) -> None:
    """The same audit refutes the same mechanisms with half the noise: else its passing would mean little."""
    pair, by_rho = worst_recorded_pair(case)
    audit = audit_of_noise(pair, by_rho=by_rho, factor=_HALF)
    require(not audit.passed, f"half the noise goes unnoticed on these data sets: {audit}")


def worst_recorded_pair(case: AuditCase) -> tuple[tuple[Recording, Recording], bool]:
    """Return the recorded fits of the pair with the greatest loss, and whether it is counted as rho."""
    spent = spent_of(case.fit(0))
    first, second = _worst(case)
    gaussian = any(isinstance(one.mechanism, DiscreteGaussianMechanism) for one in first.recording.releases)
    return (first.recording, second.recording), claims_rho(spent) or gaussian


def _worst(case: AuditCase) -> tuple[Fit, Fit]:
    """Return the recorded fits of the pair with the greatest loss; skips where it cannot be told."""
    found = search_neighbours(case)
    if found.other_forms:
        raise NotApplicable("neighbours release different things, see check_sensitivity_fuzz")
    if found.pair is None or found.noise_is_apart:
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
    audits = [_audit_of_places(places[-most:], by_rho, factor) for most in (1, _MOST_PLACES)]
    return max(audits, key=lambda audit: audit.epsilon / float(audit.predicted or 1.0))


def _audit_of_places(places: list[Place], by_rho: bool, factor: Fraction) -> EpsilonAudit:
    generator = np.random.default_rng(7)
    loss, swapped = _loss_at(places, by_rho), [(one, g, f) for one, f, g in places]
    here, there = (_draw(side, factor, generator) for side in (places, swapped))
    if by_rho:
        return _audit_gaussian(here, -there, math.sqrt(2 * float(loss)))
    if places[0][0].scale is not None:
        return audit_epsilon(here, -there, predicted=loss, confidence=CONFIDENCE)
    if here.dtype == np.uint8 and here.ndim == 2:
        here, there = (np.unpackbits(reports, axis=1) for reports in (here, there))
    return audit_epsilon(here, there, predicted=loss, categorical=here.ndim == 1, confidence=CONFIDENCE)


def _draw(places: list[Place], factor: Fraction, generator: Any) -> Any:
    """Log likelihood ratios of fresh outputs, by the recorded noise; of a local mechanism, its reports."""
    total = np.zeros(_DRAWS)
    for one, f, g in places:
        drawn = one.with_noise_times(factor).randomize(np.full(_DRAWS, f), generator)
        if one.scale is None:
            # Every user in one call is a trial.
            return drawn
        total += _log_ratio(one, drawn, f, g)
    return total


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
    return one_number(recordings[0].loss(recordings[1]), by_rho)


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
    bound = gaussian_lower_bound(hits, trials, CONFIDENCE)
    return EpsilonAudit(epsilon=bound, confidence=CONFIDENCE, hits=hits, trials=trials, predicted=mu)


def check_epsilon_of_whole_fits(case: AuditCase) -> None:
    """What whole fits on two neighbours leave on the object tells no more than is claimed."""
    claim = claim_of(case, case.fit(0))
    if claim.rho is not None:
        raise NotApplicable("claims rho: check_epsilon_audit compares it with the noise itself")
    if case.n_trials < _LEAST_TRIALS:
        raise NotApplicable(f"the case asks for fewer than {_LEAST_TRIALS} fits (n_trials)")
    if not case.thorough and was_recorded(case):
        raise NotApplicable(
            "the noise was recorded and is audited itself, and the rest of the object was compared: whole "
            "fits are counted too if the battery is thorough"
        )
    pair, predicted = pair_to_fit(case, claim)
    here, there = whole_fits(case, pair)
    audit = audit_epsilon(here, there, predicted=predicted, confidence=CONFIDENCE, delta=claim.delta)
    require(audit.passed, str(audit))
    if not _could_refute(len(here), float(predicted)):
        raise NotApplicable(
            f"{len(here)} fits show no noise of half the scale: let there be more (n_trials, thorough), or "
            "choose an epsilon near 1.5"
        )


def _could_refute(n_trials: int, predicted: float) -> bool:
    """Whether noise of half the scale would have been refuted, by an event of probability one half."""
    counted = n_trials - n_trials // 3
    hits = counted // 2, math.ceil(counted / 2 * math.exp(-2 * predicted))
    return epsilon_lower_bound(*hits, counted, CONFIDENCE) > predicted


def was_recorded(case: AuditCase) -> bool:
    """Whether the losses of neighbours are known exactly."""
    found = search_neighbours(case)
    return found.pair is not None and not found.noise_is_apart


def whole_fits(case: AuditCase, pair: tuple[Any, Any]) -> list[NDArray[np.float64]]:
    """Return what many fits on two neighbours released."""
    read = _reader(case, case.fit(0))
    # One generator for all fits, so that a run can be repeated; of the kind that every estimator takes.
    state = np.random.RandomState(11) if case.has("random_state") else None
    fits: list[list[Any]] = [[], []]
    budget = Budget(_SECONDS[case.thorough])
    while len(fits[0]) < case.n_trials and not budget.is_spent:
        for side, data in zip(fits, pair, strict=True):
            side.append(read(case.fit(data, random_state=state)))
    if len(fits[0]) < _LEAST_TRIALS:
        raise NotApplicable(f"fits are too slow: {len(fits[0])} of {_LEAST_TRIALS} in the time that there is")
    if len({len(vector) for vector in fits[0] + fits[1]}) != 1:
        # How many numbers there are is released too.
        return [np.array([[len(vector)] for vector in side], dtype=np.float64) for side in fits]
    return [np.array(vectors) for vectors in fits]


def pair_to_fit(case: AuditCase, claim: Claim) -> tuple[tuple[Any, Any], Any]:
    """Return the pair with the greatest predicted loss, and that loss; the claim if nothing is recorded."""
    try:
        first, second = _worst(case)
    except NotApplicable:
        return furthest_pair(case, _reader(case, case.fit(0))), claim.epsilon
    # A loss beyond the claim is what the audit has to show.
    return (first.data, second.data), min(search_neighbours(case).loss, claim.epsilon)


def _reader(case: AuditCase, model: Any) -> Callable[[Any], NDArray[np.float64]]:
    """Return what turns a fitted object into the numbers on it that are not the same in every fit."""
    if case.released is not None:
        released = case.released
        return lambda fitted: _as_vector([released(fitted)])
    paths = set(noisy_paths(case, model))
    names = sorted({re.split(r"[.\[{]", path)[0] for path in paths})

    def read(fitted: Any) -> NDArray[np.float64]:
        found = [leaves(getattr(fitted, name, None), name) for name in names]
        return _as_vector([leaf for part in found for path, leaf in part.items() if path in paths])

    return read


def _as_vector(values: list[Any]) -> NDArray[np.float64]:
    numbers = [np.ravel(value) for value in values if np.asarray(value).dtype.kind in "iufb"]
    flat = np.concatenate(numbers).astype(np.float64)[:_MOST_VALUES] if numbers else np.zeros(1)
    # Squares of what is compared must be finite.
    return np.clip(np.nan_to_num(flat), -_LARGEST, _LARGEST)


def check_low_bits(case: AuditCase) -> None:
    """The lowest bits of released numbers tell neighbours apart no better than the pair's loss allows."""
    claim = claim_of(case, case.fit(0))
    if claim.rho is not None:
        raise NotApplicable("claims rho: check_released_values_on_grid looks at the bits")
    try:
        pair, _ = worst_recorded_pair(case)
        values = [_fresh_outputs(mine, theirs) for mine, theirs in (pair, pair[::-1])]
        predicted = one_number(pair[0].loss(pair[1]), False)
    except NotApplicable:
        if case.n_trials < _LEAST_TRIALS:
            raise
        places, predicted = pair_to_fit(case, claim)
        values = whole_fits(case, places)
    bits = [low_bits(one).reshape(len(one), -1).min(axis=1) for one in values]
    audit = audit_epsilon(
        *bits, predicted=predicted, categorical=True, confidence=CONFIDENCE, delta=claim.delta
    )
    require(audit.passed, f"low bits: {audit}")


def _fresh_outputs(mine: Recording, theirs: Recording) -> NDArray[np.float64]:
    """Outputs drawn again at the place where two fits differ most."""
    places = places_of(mine, theirs)
    if not places:
        raise NotApplicable("no pair of these data sets differs in what is released")
    drawn = places[-1][0].mechanism.randomize(np.full(_DRAWS, places[-1][1]), np.random.default_rng(17))
    return drawn.reshape(_DRAWS, -1).astype(np.float64)


def check_noise_variance(case: AuditCase) -> None:
    """The noise has the variance that its scale states, and the scale is the one in privacy_spent_."""
    recorded(case)
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
        ratio = noise.var() / mechanism.variance
        # The kurtosis of Laplace noise is 6, of Gaussian noise 3.
        error = _SIGMAS * math.sqrt(5 / _DRAWS)
        require(abs(ratio - 1) < error, f"noise of {ratio:.3f} times the variance that its scale states")


def check_large_epsilon(case: AuditCase) -> None:
    """At a huge epsilon the noise vanishes: fits agree, and with the non-private model where it is given."""
    if not case.has("epsilon"):
        raise NotApplicable("has no parameter epsilon")
    if case.answer is None and not (is_classifier(case.estimator) or is_regressor(case.estimator)):
        raise NotApplicable("neither a classifier nor a regressor; pass `answer`")
    if case.data_sets[0].get("groups") is not None:
        raise NotApplicable("which rows of a person count is drawn at random, whatever epsilon is")
    rows = clear_rows(case)
    # Seeded where that is possible: what agrees once agrees always.
    answers = [_answer(case, rows, seed) for seed in range(1, _FITS_AT_THE_END + 1)]
    target = answers.pop() if case.reference is None else np.asarray(case.reference(**rows))
    if is_classifier(case.estimator):
        agree = min(float(np.mean(answer == target)) for answer in answers)
        require(agree >= 0.95, f"at a huge epsilon {agree:.0%} of the predictions agree")
        return
    # A constant has no range of its own: that of the targets counts.
    spread = float(np.ptp(target)) or float(np.ptp(np.asarray(domain_of_y(case.estimator), dtype=np.float64)))
    gap = max(float(np.max(np.abs(answer - target))) for answer in answers) / spread
    require(gap < 0.02, f"at a huge epsilon predictions differ by {gap:.1%} of their range")


def _answer(case: AuditCase, rows: Arguments, seed: int) -> NDArray[Any]:
    for epsilon in _HUGE:
        try:
            model = case.fit(rows, epsilon=epsilon, random_state=seed)
        except (ValueError, OverflowError):
            continue  # beyond what its numbers hold
        return np.asarray(model.predict(rows["X"]) if case.answer is None else case.answer(model, rows))
    raise NotApplicable(f"{name_of(case)} takes no epsilon of {_HUGE[-1]:g} or more")


def clear_rows(case: AuditCase) -> Arguments:
    """Return many rows that leave no doubt: on the diagonal of the domain, the target rising along it.

    Tables with other columns, or another kind of target, are repeated instead.
    """
    rows = case.data_sets[0]
    if "X" not in rows:
        return rows
    if set(rows) > {"X", "y"} or np.asarray(rows.get("y")).dtype.names is not None:
        return {
            k: np.concatenate([np.asarray(v)] * _TIMES) if is_column(v, rows) else v for k, v in rows.items()
        }
    lower, upper = domain_of_X(case.estimator, np.shape(rows["X"])[1])
    # Not symmetric: no share of the rows is one half.
    share = np.linspace(0.02, 0.96, _TIMES * _TIMES // 4)
    clear: Arguments = {"X": lower + share[:, None] * (upper - lower)}
    low, *_, high = domain_of_y(case.estimator) if "y" in rows else (0.0, 1.0)
    if is_classifier(case.estimator):
        # No tie: a majority must be clear, too.
        clear["y"] = np.where(share > _SMALLER_CLASS, high, low)
    elif "y" in rows:
        clear["y"] = low + (0.1 + 0.8 * share) * (high - low)
    return clear
