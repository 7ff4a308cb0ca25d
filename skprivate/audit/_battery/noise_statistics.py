# SPDX-License-Identifier: BSD-3-Clause
"""Checks with many draws of noise or many fits: variances, lower bounds on epsilon, and low bits."""

import functools
import math
import operator
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ...noise import DiscreteGaussianMechanism
from .._cases import AuditCase, n_rows_of, neighbour_chains
from .._epsilon import EpsilonAudit, audit_epsilon, epsilon_lower_bound, gaussian_lower_bound, low_bits
from .._observation.fitted_objects import flatten_object
from .._observation.recorder import Deadline, Recording, Release, frozen_randomness
from .._search import RecordedFit, as_epsilon_or_rho, claims_rho, search_neighbours
from .requirements import (
    FALSE_ALARM,
    Claim,
    NotApplicable,
    TooWeakToTell,
    claim_of_fit,
    noisy_paths,
    published_of_fit,
    published_state,
    recorded_search,
    require,
    require_no_exact_differences,
    spent_of,
)

# Checks of the noise of recorded mechanisms, drawn again: its variance, and lower bounds on epsilon.

# A release, and the integer before noise in either fit.
Place = tuple[Release, int, int]
CONFIDENCE = 1 - FALSE_ALARM
# Number of draws: they refute noise of half the scale from epsilon 0.1 on, and give its variance to 1 %.
_DRAWS = 60_000
_HALF = Fraction(1, 2)
# An event at m places has a probability near 2^-m. At 4 places, some 3,700 of the draws remain to count.
_MOST_PLACES = 4
# Each number of places is audited. Together the audits have the false alarms of one other audit.
_CONFIDENCE_OF_PLACES = 1 - FALSE_ALARM / _MOST_PLACES
# Losses of one place that are tried for whether half the noise would show; set by hand.
_LOSSES = np.geomspace(0.01, 10, 61).tolist()
# Standard errors; larger deviations have a probability below 1e-9.
_SIGMAS = 7.0
# Largest standard error of a variance: with a larger one, twice the noise would pass.
_LARGEST_ERROR = 0.5


def check_epsilon_audit(case: AuditCase) -> None:
    """Many new draws of the noise of the worst pair reveal no more than its predicted loss."""
    pair, by_rho = worst_recorded_pair(case)
    audit = audit_of_noise(pair, by_rho=by_rho)
    require(audit.passed, str(audit))


def check_audit_catches_half_the_noise(case: AuditCase) -> None:
    """The same audit refutes half the noise of these mechanisms: otherwise a passed one means little."""
    pair, by_rho = worst_recorded_pair(case)
    audit = audit_of_noise(pair, by_rho=by_rho, factor=_HALF)
    if audit.passed:
        _require_a_clear_loss(_audit_of_places(places_of(*pair)[-1:], by_rho, _HALF), by_rho)
    require(not audit.passed, f"half the noise is not noticed on these data sets: {audit}")


def _require_a_clear_loss(audit: EpsilonAudit, by_rho: bool) -> None:
    """Give up if the largest loss of one place is too small, or so large that an event is never seen."""
    clear = [loss for loss in _LOSSES if _shows_half_the_noise(loss, audit, by_rho)]
    loss = float(audit.predicted or 0.0)
    if not clear:
        raise TooWeakToTell("no event of the reports is frequent enough: use fewer cells")
    if not clear[0] <= loss <= clear[-1]:
        raise TooWeakToTell(
            f"half the noise shows if a released number loses {clear[0]:.2g} to {clear[-1]:.2g}, and the "
            f"largest loss on these data is {loss:.2g}: use data in which one unit changes a number by more, "
            f"or {np.clip(loss, clear[0], clear[-1]) / loss:.3g} times the epsilon"
        )


def _shows_half_the_noise(loss: float, audit: EpsilonAudit, by_rho: bool) -> bool:
    """Return whether an audit refutes a loss if the true one is twice as large, six standard errors aside."""
    n = min(audit.trials)
    # For Laplace noise the event is being beyond the middle of both numbers; for reports, the chosen event.
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
    """Return the recorded fits of the pair with the greatest loss; skip the check if it is not known."""
    found = search_neighbours(case)
    if found.differing_releases:
        raise NotApplicable("neighbours release different things, see check_sensitivity_fuzz")
    if found.pair is None or found.noise_is_added_elsewhere:
        raise NotApplicable(
            "losses cannot be recorded: no noise came from skprivate's mechanisms, or not the noise that is "
            "added to private numbers, or only the best of several draws is kept"
        )
    return found.pair


def audit_of_noise(
    pair: tuple[Recording, Recording], *, by_rho: bool, factor: Fraction = Fraction(1)
) -> EpsilonAudit:
    """Audit new draws of the recorded mechanisms around the exact integers of either fit.

    The audits use the place where the fits differ most, and the few places where they differ most. One place
    is best for slightly too little noise, several are better if each loses little. The audit that is nearest
    to a refutation is returned.
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
        # mu = sqrt(2 rho), the distance of two Gaussians, by one event at their middle.
        hits, trials = (int((here >= 0).sum()), int((-there >= 0).sum())), (len(here), len(there))
        return EpsilonAudit(
            epsilon=gaussian_lower_bound(hits, trials, _CONFIDENCE_OF_PLACES),
            confidence=_CONFIDENCE_OF_PLACES,
            hits=hits,
            trials=trials,
            predicted=math.sqrt(2 * float(loss)),
        )
    if places[0][0].scale is not None:
        return audit_epsilon(here, -there, predicted=loss, confidence=_CONFIDENCE_OF_PLACES)
    if here.dtype == np.uint8 and here.ndim == 2:
        here, there = (np.unpackbits(reports, axis=1) for reports in (here, there))
    return audit_epsilon(
        here, there, predicted=loss, categorical=here.ndim == 1, confidence=_CONFIDENCE_OF_PLACES
    )


def _draw(places: list[Place], factor: Fraction, generator: Any) -> Any:
    """Return log likelihood ratios of new outputs by the recorded noise; for a local mechanism, reports."""
    total = np.zeros(_DRAWS)
    for one, f, g in places:
        drawn = one.with_noise_times(factor).randomize(_trials(one.mechanism, f), generator)
        if one.scale is None:
            # Every user in one call is a trial.
            return drawn
        # Differences come first: they are exact and small.
        to_f, to_g = (drawn - f).astype(np.float64), (drawn - g).astype(np.float64)
        scale = float(one.scale or 1)
        if isinstance(one.mechanism, DiscreteGaussianMechanism):
            total += (to_g**2 - to_f**2) / (2 * scale**2)
        else:
            total += (np.abs(to_g) - np.abs(to_f)) / scale
    return total


def _trials(mechanism: Any, value: int) -> NDArray[np.int64]:
    """Return the values of many trials; for reports about one of several columns, the same in all columns."""
    n_columns = getattr(mechanism, "n_columns", None)
    return np.full(_DRAWS if n_columns is None else (_DRAWS, n_columns), value, dtype=np.int64)


def places_of(mine: Recording, theirs: Recording) -> list[Place]:
    """Return the places where two fits differ most, with both integers.

    They are few, because many small losses hide each other's events.
    """
    places = [
        (one, int(f), int(g))
        for one, other in zip(mine.releases, theirs.releases, strict=True)
        for f, g in zip(one.exact.flat, other.exact.flat, strict=True)
        if f != g
    ]
    return sorted(places, key=lambda place: abs(place[1] - place[2]) / (place[0].scale or 1))[-_MOST_PLACES:]


def _loss_at(places: list[Place], by_rho: bool) -> Any:
    """Return the loss of these places alone."""
    recordings = [
        Recording([Release(place[0].mechanism, np.array([place[side]]), place[0].output) for place in places])
        for side in (1, 2)
    ]
    return as_epsilon_or_rho(recordings[0].loss(recordings[1]), by_rho)


def fresh_outputs(mine: Recording, theirs: Recording) -> NDArray[np.float64]:
    """Return new outputs at the place where two fits differ most."""
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
        # The kurtosis of discrete Laplace noise is 6 plus 1 / variance; that of Gaussian noise is less.
        error = _SIGMAS * math.sqrt((5 + 1 / max(mechanism.variance, 1 / _DRAWS)) / _DRAWS)
        if error > _LARGEST_ERROR:
            raise TooWeakToTell("noise of this scale is almost always 0: choose a smaller epsilon, say 1.5")
        ratio = noise.var() / mechanism.variance
        require(abs(ratio - 1) < error, f"noise of {ratio:.3f} times the variance that its scale states")


# Checks that repeat whole fits: values without noise, and a lower bound on epsilon from fitted objects.

# Largest number of values of one fit, set by hand: more of them slow the audit and hide each other.
_MOST_VALUES = 256
# A number whose square is still finite, and also a sum of such squares.
_LARGEST = 1e120
# With fewer trials, half the noise could not be noticed.
LEAST_TRIALS = 100
# Processor seconds for whole fits, set by hand.
_WHOLE_FIT_SECONDS = {False: 8.0, True: 25.0}


def check_only_released_values_differ(case: AuditCase) -> None:
    """No value that is the same in every fit on one data set is different on a neighbour.

    Take an epsilon-DP mechanism, k fits on one data set that all give v, and k fits on a neighbour that all
    give the same other value. The probability of this is at most (1 - e^-epsilon)^k.
    """

    # Recorded fits were compared on many more data sets, with the same outputs.
    known = search_neighbours(case).pair is not None and not case.thorough
    last = len(case.data_sets) - 1
    some_of_them = sorted({min(1, last), (last + 1) // 2, last} - {0})
    others = (case.data_sets[k] for k in (some_of_them if known else range(1, last + 1)))
    look = functools.partial(published_of_fit, case)
    require_no_exact_differences(case, others, look, "exact functions of private rows")


def check_epsilon_of_whole_fits(case: AuditCase) -> None:
    """The fitted objects of many fits on two neighbours reveal no more than the claim."""
    claim = claim_of_fit(case, case.fit(0))
    if claim.rho is not None:
        raise NotApplicable("claims rho: check_epsilon_audit compares it with the noise itself")
    if case.n_trials < LEAST_TRIALS:
        raise NotApplicable(f"the case asks for fewer than {LEAST_TRIALS} fits (n_trials)")
    found = search_neighbours(case)
    if not case.thorough and found.pair is not None and not found.noise_is_added_elsewhere:
        raise NotApplicable(
            "the noise was recorded and is audited itself, and the rest of the object was compared. A "
            "thorough battery counts whole fits too"
        )
    pair, predicted = pair_to_fit(case, claim)
    here, there = whole_fits(case, pair)
    audit = audit_epsilon(here, there, predicted=predicted, confidence=CONFIDENCE, delta=claim.delta)
    require(audit.passed, str(audit))
    # Would noise of half the scale have been refuted, by an event of probability one half?
    counted = len(here) - len(here) // 3
    hits = counted // 2, math.ceil(counted / 2 * math.exp(-2 * float(predicted)))
    if epsilon_lower_bound(*hits, counted, CONFIDENCE) <= float(predicted):
        raise TooWeakToTell(
            f"{len(here)} fits do not show noise of half the scale: use more fits (n_trials, thorough), or "
            "an epsilon near 1.5"
        )


def whole_fits(case: AuditCase, pair: tuple[Any, Any]) -> list[NDArray[np.float64]]:
    """Return the released numbers of many fits on two neighbours."""
    read = _reader(case, case.fit(0))
    # One generator for all fits, so that a run can be repeated; its kind is accepted by every estimator.
    state = np.random.RandomState(11) if case.has("random_state") else None
    fits: list[list[Any]] = [[], []]
    deadline = Deadline(_WHOLE_FIT_SECONDS[case.thorough])
    while len(fits[0]) < case.n_trials and not deadline.has_passed:
        for side, data in zip(fits, pair, strict=True):
            side.append(read(case.fit(data, random_state=state)))
    if len(fits[0]) < LEAST_TRIALS:
        raise TooWeakToTell(f"fits are too slow: {len(fits[0])} of {LEAST_TRIALS} within the time limit")
    if len({len(vector) for vector in fits[0] + fits[1]}) != 1:
        # The count of numbers is released too.
        return [np.array([[len(vector)] for vector in side], dtype=np.float64) for side in fits]
    return [np.array(vectors) for vectors in fits]


def pair_to_fit(case: AuditCase, claim: Claim) -> tuple[tuple[Any, Any], Any]:
    """Return the pair with the greatest predicted loss, and that loss; the claim if nothing is recorded."""
    try:
        first, second = worst_fits(case)
    except NotApplicable:
        return furthest_pair(case, _reader(case, case.fit(0))), claim.epsilon
    # The audit must show a loss beyond the claim.
    return (first.data, second.data), min(search_neighbours(case).loss, claim.epsilon)


def _reader(case: AuditCase, model: Any) -> Callable[[Any], NDArray[np.float64]]:
    """Return a function from a fitted object to its numbers that are not the same in every fit."""
    if case.released is not None:
        released = case.released
        return lambda fitted: _as_vector([released(fitted)])
    paths = set(noisy_paths(case, model))
    names = sorted({re.split(r"[.\[{]", path)[0] for path in paths})

    def read(fitted: Any) -> NDArray[np.float64]:
        found = [flatten_object(getattr(fitted, name, None), name) for name in names]
        return _as_vector([leaf for part in found for path, leaf in part.items() if path in paths])

    return read


def _as_vector(values: list[Any]) -> NDArray[np.float64]:
    numbers = [np.ravel(value) for value in values if np.asarray(value).dtype.kind in "iufb"]
    flat = np.concatenate(numbers).astype(np.float64)[:_MOST_VALUES] if numbers else np.zeros(1)
    # Squares of the compared numbers must be finite.
    return np.clip(np.nan_to_num(flat), -_LARGEST, _LARGEST)


# Checks of the low bits of released numbers, which can reveal values in spite of floating-point noise.

# Number of fits, set by hand: a float off the grid shows in the first one, unless it is 0.
_GRID_FITS = 12


def released_values(case: AuditCase, model: Any, recording: Recording) -> NDArray[Any]:
    """Return the released numbers of one fit as one vector; skip the check if they are not known."""
    if case.released is not None:
        return np.ravel(np.asarray(case.released(model)))
    if recording.releases:
        return np.concatenate([np.ravel(release.output) for release in recording.releases])
    noisy = noisy_paths(case, model)
    mine = published_state(case, model)
    numbers = [np.ravel(mine[path]) for path in noisy if np.asarray(mine[path]).dtype.kind in "iuf"]
    if not numbers:
        raise NotApplicable(
            "no number on the fitted object varies; pass `released` to name the released numbers"
        )
    return np.concatenate(numbers)


def check_released_values_on_grid(case: AuditCase) -> None:
    """Released numbers are integers, or multiples of one power of two that is far above their last bits."""
    fits = [case.record(0, seed=seed) for seed in range(_GRID_FITS)]
    values = [released_values(case, *fit) for fit in fits]
    if all(one.dtype.kind in "iub" for one in values):
        return
    numbers = np.concatenate([one.astype(np.float64) for one in values])
    finite = numbers[np.isfinite(numbers) & (numbers != 0)]
    # On a grid the largest number is below 2^52 steps.
    on_grid = not len(finite) or int(np.frexp(finite)[1].max()) - int(low_bits(finite).min()) < 52
    message = "released numbers are floats off any grid: their low bits can reveal what the noise hides"
    require(on_grid, message)


def check_low_bits(case: AuditCase) -> None:
    """The lowest bits of released numbers distinguish neighbours no better than the pair's loss allows."""
    claim = claim_of_fit(case, case.fit(0))
    if claim.rho is not None:
        raise NotApplicable("claims rho: check_released_values_on_grid checks the bits")
    try:
        pair, _ = worst_recorded_pair(case)
        values = [fresh_outputs(mine, theirs) for mine, theirs in (pair, pair[::-1])]
        predicted = as_epsilon_or_rho(pair[0].loss(pair[1]), False)
    except NotApplicable:
        if case.n_trials < LEAST_TRIALS:
            raise
        places, predicted = pair_to_fit(case, claim)
        values = whole_fits(case, places)
    bits = [low_bits(one).reshape(len(one), -1).min(axis=1) for one in values]
    audit = audit_epsilon(
        *bits, predicted=predicted, categorical=True, confidence=CONFIDENCE, delta=claim.delta
    )
    require(audit.passed, f"low bits: {audit}")


# The neighbours whose releases are farthest apart, for estimators whose noise cannot be recorded.

Read = Callable[[Any], NDArray[np.float64]]
Vector = NDArray[np.float64]

_PAIR_SECONDS = {False: 1.5, True: 10.0}
# Number of fits of one data set for the spread of the noise, or for the choice of a pair; set by hand.
_PILOT = 30


def furthest_pair(case: AuditCase, read: Read) -> tuple[Any, Any]:
    """Return two neighbours whose releases are farthest apart in units of their noise.

    With the same randomness, two fits usually have the same noise: the difference comes from the rows. If
    fits cannot be repeated in this way, means of a few fits of the case's own data sets are compared.
    """
    spread = _spread(case, read)
    first, again = (_frozen(case, read, case.data_sets[0]) for _ in range(2))
    if not np.array_equal(first, again):
        return _pair_by_means(case, read, spread)
    pairs = ((_distance(one[1], other[1], spread), (one[0], other[0])) for one, other in _pairs(case, read))
    best = max(pairs, key=operator.itemgetter(0), default=None)
    return _pair_by_means(case, read, spread) if best is None else best[1]


def _pairs(case: AuditCase, read: Read) -> Iterator[tuple[tuple[Any, Vector], tuple[Any, Vector]]]:
    """Yield neighbours, and the releases of fits on them with the same noise."""
    deadline = Deadline(_PAIR_SECONDS[case.thorough])
    given = [(data, _tried(case, read, data)) for data in case.data_sets]
    for i, j in case.neighbours:
        if given[i][1] is not None and given[j][1] is not None:
            yield given[i], given[j]  # type: ignore[misc]
    if n_rows_of(case.data_sets[0]) is None:
        return
    for chain in neighbour_chains(case.estimator, case.data_sets[0], case.relation):
        before: tuple[Any, Vector] | None = None
        for data in chain.data_sets:
            vector = _tried(case, read, data)
            now = None if vector is None else (data, vector)
            if before is not None and now is not None:
                yield before, now
            before = now
            if deadline.has_passed:
                return


def _tried(case: AuditCase, read: Read, data: Any) -> Vector | None:
    try:
        return _frozen(case, read, data)
    except Exception:
        return None  # no claim covers failures


def _frozen(case: AuditCase, read: Read, data: Any) -> Vector:
    with frozen_randomness():
        return read(case.fit(data))


def _spread(case: AuditCase, read: Read) -> Vector:
    vectors = [read(case.fit(0)) for _ in range(_PILOT)]
    shortest = min(len(vector) for vector in vectors)
    spread = np.array([vector[:shortest] for vector in vectors]).std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _distance(one: Vector, other: Vector, spread: Vector) -> tuple[float, float]:
    size = min(len(one), len(other), len(spread))
    apart = np.abs(one[:size] - other[:size]) / spread[:size]
    return float(abs(len(one) - len(other))), float(np.max(apart, initial=0.0))


def _pair_by_means(case: AuditCase, read: Read, spread: Vector) -> tuple[Any, Any]:
    """Return the case's own pair whose means of a few fits are farthest apart; these fits are not counted."""
    vectors = [[read(case.fit(k)) for _ in range(_PILOT)] for k in range(len(case.data_sets))]
    shortest = min(len(spread), *(len(vector) for fits in vectors for vector in fits))
    means = [
        np.r_[np.mean([vector[:shortest] for vector in fits], axis=0), np.mean([len(v) for v in fits])]
        for fits in vectors
    ]

    def apart(pair: tuple[int, int]) -> tuple[float, float]:
        one, other = (means[k] for k in pair)
        return abs(one[-1] - other[-1]), _distance(one[:-1], other[:-1], spread)[1]

    i, j = max(case.neighbours, key=apart)
    return case.data_sets[i], case.data_sets[j]
