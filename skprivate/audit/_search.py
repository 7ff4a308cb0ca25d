# SPDX-License-Identifier: BSD-3-Clause
"""Search for the neighbours with the greatest privacy loss, of whole fits and of every stated release."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr

from ..accounting import ReleaseRecord
from ..accounting._statements.spent import DO_NOT_ADD_UP
from ..utils._public_module import public_module
from ._cases import (
    Arguments,
    AuditCase,
    DomainRow,
    NeighbourChain,
    domain_rows,
    n_rows_of,
    neighbour_chains,
    units_of,
    with_random_rows,
    with_row,
    without_unit,
)
from ._observation.fitted_objects import FlatObject, differing_paths, fitted_state, fitted_steps
from ._observation.recorder import Deadline, Recording, Release

# The exact privacy loss of two neighbours, as epsilon or as rho, depending on the claim.

# Allowance, set by hand, for the difference between the epsilons of discrete and continuous Gaussian noise.
_DISCRETE_GAUSSIAN_ERROR = 1e-6


def claims_rho(spent: Any) -> bool:
    """Return whether a statement claims zCDP; statements of third parties may have no such field."""
    return getattr(spent, "rho", None) is not None


def claimed_loss(spent: Any) -> Any:
    """Return the claimed rho or epsilon."""
    return Fraction(spent.rho if claims_rho(spent) else spent.epsilon)


def loss_as_claimed(loss: tuple[Fraction, Fraction], claim: Any) -> Any:
    """Return the loss of a pair in the measure of a claim: epsilon, rho, or epsilon at its delta."""
    delta = float(getattr(claim, "delta", 0.0) or 0.0)
    if claims_rho(claim) or not delta:
        return as_epsilon_or_rho(loss, claims_rho(claim))
    epsilon, rho = loss
    return epsilon + Fraction(epsilon_of_gaussians(math.sqrt(2 * float(rho)), delta)) if rho else epsilon


def as_epsilon_or_rho(loss: tuple[Fraction, Fraction], by_rho: bool) -> Fraction | Any:
    """Return epsilon or rho of a pair; epsilon-DP is epsilon^2 / 2-zCDP, and rho gives no pure epsilon."""
    epsilon, rho = loss
    if by_rho:
        return rho + epsilon**2 / 2
    return epsilon if not rho else float("inf")


def epsilon_of_gaussians(mu: float, delta: float) -> float:
    """Return the epsilon of two unit Gaussians at distance `mu`, at a `delta` (Balle and Wang, 2018)."""

    def excess(epsilon: float) -> float:
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return float(math.exp(log_ndtr(near)) - math.exp(epsilon + log_ndtr(far)) - delta)

    if mu == 0 or excess(0.0) <= 0:
        return 0.0
    # At this epsilon the first term alone is below delta.
    most = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))
    return float(brentq(excess, 0.0, most)) * (1 - _DISCRETE_GAUSSIAN_ERROR)


# The loss of every stated release by itself, between neighbours that received the same outputs.

# Half the noise doubles a loss in epsilon, and quadruples one in rho.
_SHARE_THAT_SHOWS_HALF_THE_NOISE = {"epsilon": Fraction(1, 2), "rho": Fraction(1, 4)}


def stated_releases(model: Any) -> tuple[ReleaseRecord, ...]:
    """Return the releases that the steps of a fitted object state, in order; empty if a step states none."""
    spent = [getattr(step, "privacy_spent_", None) for _, step in fitted_steps(model, "")]
    lists = [getattr(one, "releases", ()) for one in spent if one is not None]
    return tuple(one for releases in lists for one in releases) if all(lists) else ()


@dataclass(eq=False)
class ReleaseLosses:
    """The largest observed losses of stated releases.

    Attributes
    ----------
    largest : dict of str to Fraction
        Name of a release -> largest loss, as a part of its share. A repeated name has a number.
    found_in : dict of str to str
        Name -> the neighbours.
    enough : dict of str to bool
        Name -> whether half the noise would have exceeded the share.
    unlisted : str
        The neighbours with draws of noise that no release lists, "" if there are none.
    wrong_total : bool
        Whether a fit stated releases that do not add up to its total.
    """

    largest: dict[str, Any] = field(default_factory=dict)
    found_in: dict[str, str] = field(default_factory=dict)
    enough: dict[str, bool] = field(default_factory=dict)
    unlisted: str = ""
    wrong_total: bool = False

    def compare(
        self, releases: Sequence[ReleaseRecord], one: Recording, other: Recording, found_in: str
    ) -> None:
        """Record the losses of a pair of fits that state these releases."""
        if not releases:
            return
        losses = [a.loss(b) for a, b in zip(one.calls, other.calls, strict=True)]
        n_listed = 0
        for name, record, calls in _blocks(releases, len(losses)):
            n_listed = calls.stop
            epsilon, rho = (sum((pair[k] for pair in losses[calls]), Fraction(0)) for k in (0, 1))
            if record.rho is not None:
                loss: Any = (rho + epsilon**2 / 2) / record.rho
            else:
                loss = float("inf") if rho else epsilon / record.share
            if loss > self.largest.get(name, -1):
                self.largest[name], self.found_in[name] = loss, found_in
            unit = "epsilon" if record.rho is None else "rho"
            self.enough[name] = self.largest[name] > _SHARE_THAT_SHOWS_HALF_THE_NOISE[unit]
        if len(losses) > n_listed:
            self.unlisted = self.unlisted or found_in

    def note_error(self, error: Exception) -> None:
        """Record the error of a fit."""
        self.wrong_total |= DO_NOT_ADD_UP in str(error)

    @property
    def contradictions(self) -> list[str]:
        """Contradictions of the statements, in words."""
        found = ["the shares of the stated releases do not add up to the total"] if self.wrong_total else []
        if self.unlisted:
            found.append(f"noise is drawn that no stated release lists ({self.unlisted})")
        return found + [
            f"{name!r} loses {float(loss):.4g} times its share ({self.found_in[name]})"
            for name, loss in self.largest.items()
            if loss > 1
        ]

    @property
    def weak(self) -> list[str]:
        """Releases for which half the noise would not show, in words."""
        return [
            f"{name!r} ({float(self.largest[name]):.2g} of its share)"
            for name, enough in self.enough.items()
            if not enough
        ]


def _blocks(releases: Sequence[ReleaseRecord], n_calls: int) -> Iterator[tuple[str, ReleaseRecord, slice]]:
    """Yield every single release: its name, its record and the places of its calls.

    If more releases are listed than there are calls, one each beyond the calls is enough.
    """
    names: Counter[str] = Counter()
    place = 0
    for record in releases:
        names[record.name] += 1
        name = record.name if names[record.name] == 1 else f"{record.name} ({names[record.name]})"
        if not record.draws:
            continue
        for _ in range(int(record.times)):
            yield name, record, slice(place, place + record.draws)
            place += record.draws
            if place > n_calls:
                break


def largest_call(one: Recording, other: Recording) -> Fraction:
    """Return the largest loss of a single call of a Laplace mechanism."""
    pairs: list[tuple[Release, Release]] = list(zip(one.calls, other.calls, strict=True))
    return max((a.loss(b)[0] for a, b in pairs), default=Fraction(0))


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class SensitivityFuzz:
    """Largest privacy loss found among pairs of neighbours; made by `sensitivity_fuzz`.

    Attributes
    ----------
    loss : Fraction
        Largest sum of ``abs(difference) / t``; if rho is claimed, the largest rho.
    claimed : Fraction
        Epsilon or rho of ``privacy_spent_``.
    data_sets : tuple of two data sets
        The pair, as arguments of ``fit``.
    found_in : str
        The data sets with this loss: a chain of neighbours, or those of the case.
    n_pairs : int
        Number of compared pairs.
    n_integers : int
        Number of integers or reports that a fit releases.
    measure : {"epsilon", "rho"}
        Compared measure.
    same_form : bool
        Whether every fit released the same number of integers with the same noise.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.audit import SensitivityFuzz
    >>> fuzz = SensitivityFuzz(
    ...     loss=Fraction(2),
    ...     claimed=Fraction(1),
    ...     data_sets=({}, {}),
    ...     found_in="ties",
    ...     n_pairs=3,
    ...     n_integers=8,
    ... )
    >>> print(fuzz)
    epsilon of 3 pairs of neighbours reaches 2, claimed 1: REFUTED (ties)
    """

    loss: Fraction
    claimed: Fraction
    data_sets: tuple[Any, Any] = field(repr=False)
    found_in: str
    n_pairs: int
    n_integers: int
    measure: Literal["epsilon", "rho"] = "epsilon"
    same_form: bool = True

    @property
    def passed(self) -> bool:
        """Whether no pair loses more than the claim."""
        return self.same_form and self.loss <= self.claimed

    def __str__(self) -> str:
        if not self.same_form:
            return f"two neighbours release different things: REFUTED ({self.found_in})"
        text = f"{self.measure} of {self.n_pairs} pairs of neighbours reaches {float(self.loss):.4g}"
        text += f", claimed {float(self.claimed):.4g}"
        return text if self.passed else f"{text}: REFUTED ({self.found_in})"


class NothingRecordedError(ValueError):
    """No noise of a fit came from skprivate's mechanisms."""


def sensitivity_fuzz(estimator: Any, data: Mapping[str, Any] | None = None) -> SensitivityFuzz:
    """Compare the exact privacy loss of the worst neighbours found with the claim of the estimator.

    Every fit runs with a recorder where noise is added (`record_releases`). It records the integers f before
    the noise and the scale t of the noise. Whatever the noise is, a pair of data sets loses at most
    sum ``abs(f - f') / t`` (Laplace), or rho = sum ``(f - f')**2 / (2 t**2)`` (Gaussian). For local reports
    the loss is epsilon for each report that may differ. Later releases of a fit may depend on earlier ones,
    so all fits receive the outputs of the first. The user guide (How do I check a claim?) lists the
    neighbours.

    Parameters
    ----------
    estimator : estimator or AuditCase
        It takes its noise from `skprivate.noise` or `skprivate.randomizers`, and has ``privacy_spent_``.
    data : mapping, default=None
        Arguments of ``fit``, from which neighbours are made; see `AuditCase.of`. None: random rows.

    Returns
    -------
    fuzz : SensitivityFuzz
        ``passed``: no pair loses more than the claim.

    Raises
    ------
    NothingRecordedError
        No release passed through a mechanism that can be recorded (a ValueError).
    AttributeError
        The fitted estimator has no ``privacy_spent_``.

    See Also
    --------
    audit_epsilon : Works with any mechanism, but needs thousands of fits.

    Notes
    -----
    **Privacy**: use data made for this purpose, since the recorder sees exact values. The result proves
    nothing about data sets that were not tried, nor about values that leave outside the mechanisms
    (`check_private_estimator` searches for those). For a choice by noisy scores, such as that of a tree's
    splits, the loss is a bound from the changes of the scores.

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.audit import sensitivity_fuzz
    >>> tree = DPTreeClassifier(max_depth=2, bounds=(0, 1), classes=[0, 1], split_share=0)
    >>> fuzz = sensitivity_fuzz(tree)
    >>> fuzz.passed, fuzz.loss
    (True, Fraction(1, 1))
    """
    case = estimator if isinstance(estimator, AuditCase) else AuditCase.of(estimator, data)
    found = search_neighbours(case)
    if found.drawn_in_other_threads:
        raise NothingRecordedError(
            "noise was drawn in other threads, where it is not recorded: fit with n_jobs=1."
        )
    if found.noise_is_added_elsewhere:
        raise NothingRecordedError(
            "the mechanisms receive nothing that depends on rows: pass them the exact values, not zeros, so "
            "that the values before the noise can be recorded."
        )
    if found.pair is None and not found.differing_releases:
        raise NothingRecordedError(
            f"no noise of {type(case.estimator).__name__} came from skprivate.noise or "
            "skprivate.randomizers, or it keeps the best of several draws. So there is nothing to record; "
            "audit its releases with audit_epsilon."
        )
    spent, pair = case.fit(0).privacy_spent_, found.pair
    return SensitivityFuzz(
        loss=max(found.loss, Fraction(0)),
        claimed=claimed_loss(spent),
        data_sets=(None, None) if pair is None else (pair[0].data, pair[1].data),
        found_in=found.differing_releases or found.found_in,
        n_pairs=found.n_pairs,
        n_integers=0 if pair is None else sum(one.exact.size for one in pair[0].recording.releases),
        measure="rho" if claims_rho(spent) else "epsilon",
        same_form=not found.differing_releases,
    )


# Search for the neighbours with the greatest privacy loss: chains, unlikely noise, hill climbing.

# The numbers that follow are set by hand.
# Processor seconds of a search, by whether it is thorough; the search then ends with its present result.
_SECONDS = {False: 1.5, True: 15.0}
_CLIMB_SECONDS = {False: 0.5, True: 10.0}
_CLIMBS = {False: 100, True: 3000}
# Number of the case's data sets that are fitted even after the deadline.
_AT_LEAST = 8
_WORD = re.compile(r"[^\s,;:()\[\]{}]+")
# Number of repeated fits that show which values differ in every fit.
_AGAIN = 3
# In scales; noise is farther out with a probability below 1e-17.
_FAR_NOISE = 40

Outputs = Sequence[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RecordedFit:
    """One recorded fit: its releases, the state of the fitted object, and its stated releases."""

    data: Any
    recording: Recording
    state: FlatObject
    stated: tuple[ReleaseRecord, ...] = ()


@dataclass(eq=False)
class SearchResult:
    """Result of fits on neighbours that received the same outputs.

    Attributes
    ----------
    loss : Fraction or float
        Largest loss of two neighbours, as epsilon or as rho.
    pair : tuple of two RecordedFit or None
        The fits with this loss.
    found_in : str
        Chain of neighbours with this pair.
    releases : ReleaseLosses
        Largest loss of every stated release by itself.
    differing_releases : str
        Chain with neighbours that release different things, "" if there is none.
    differing_state : dict of str to str
        Path on the fitted object at which they differ -> chain.
    differing_messages : str
        Chain with neighbours that warn, log or print different things, "" if there is none.
    redraws : str
        Chain on which outputs were discarded that the budget does not cover, "" if there is none.
    drawn_in_other_threads : bool
        Whether noise was drawn in other threads, where it is not recorded.
    n_pairs, n_fits : int
        Numbers of compared pairs and of fits.
    unstable_paths : set of str
        Paths whose values differ in every fit, whatever the rows: times, and values from sources that cannot
        be repeated. They are not compared.
    sampled_data_sets : list of data sets
        Some of the data sets that were tried, far apart.
    """

    loss: Any = Fraction(-1)
    pair: tuple[RecordedFit, RecordedFit] | None = None
    found_in: str = ""
    releases: ReleaseLosses = field(default_factory=ReleaseLosses)
    differing_releases: str = ""
    differing_state: dict[str, str] = field(default_factory=dict)
    differing_messages: str = ""
    redraws: str = ""
    drawn_in_other_threads: bool = False
    n_pairs: int = 0
    n_fits: int = 0
    unstable_paths: set[str] = field(default_factory=set)
    sampled_data_sets: list[Any] = field(default_factory=list)

    @property
    def noise_is_added_elsewhere(self) -> bool:
        """Whether mechanisms receive nothing private: noise is drawn alone, and added elsewhere."""
        return self.pair is not None and self.loss == 0 and bool(self.differing_state)


def search_neighbours(case: AuditCase) -> SearchResult:
    """Return the result of a search for the worst neighbours; it runs once for every case."""
    memo: dict[str, SearchResult] = vars(case)
    if "_search_result" not in memo:
        memo["_search_result"] = _NeighbourSearch(case).run()
    return memo["_search_result"]


class _NeighbourSearch:
    def __init__(self, case: AuditCase) -> None:
        self.case, self.found = case, SearchResult()
        self.first = self._fit(case.data_sets[0])
        self.claim: Any = None
        # Number of words in messages that change from fit to fit, such as times.
        self.changing_words = 0
        self.deadline = Deadline(_SECONDS[case.thorough])

    def run(self) -> SearchResult:
        """Compare the data sets of the case, then as many others as time allows."""
        case, first, found = self.case, self.first, self.found
        if first is None:  # raises the error of the fit
            case.record(0)
            return found
        found.drawn_in_other_threads = first.recording.drawn_in_other_threads
        if not first.recording.releases or not case.can_be_recorded or found.drawn_in_other_threads:
            return found
        self.claim = getattr(case.fit(0), "privacy_spent_", None)
        self._compare_given_data_sets(first)
        if n_rows_of(case.data_sets[0]) is not None:
            self._follow_chains_and_climb()
        return found

    def _compare_given_data_sets(self, first: RecordedFit) -> None:
        """Compare the data sets of the case."""
        outputs = first.recording.outputs
        first = self._refit(first) or first
        for _ in range(_AGAIN):
            again = self._refit(first) or first
            self.found.unstable_paths |= set(differing_paths(first.state, again.state))
            n_words = len(differing_words(first.recording, again.recording))
            self.changing_words = max(self.changing_words, n_words)
        self.deadline = Deadline(_SECONDS[self.case.thorough])
        fits: list[RecordedFit | None] = [first]
        for data in (*self.case.data_sets[1:], *self.case.unrelated_data_sets):
            in_time = len(fits) < _AT_LEAST or not self.deadline.has_passed
            fits.append(self._fit(data, outputs) if in_time else None)
        for i, j in self.case.neighbours:
            self._compare_losses(fits[i], fits[j], "the data sets of the case")
        for other in fits[1:]:
            self._compare_objects(first, other, "the data sets of the case")
        i, j = self.case.neighbours[-1]
        given = [self.case.data_sets[i], self.case.data_sets[j]]
        if self.case.pairs is None:
            given += [data for k, data in enumerate(self.case.data_sets) if k not in (i, j)]
        self._unlikely_noise(given, "the data sets of the case", all_are_neighbours=self.case.pairs is None)

    def _follow_chains_and_climb(self) -> None:
        case, rows = self.case, self.case.data_sets[0]
        self.deadline = Deadline(_SECONDS[case.thorough])
        for k, chain in enumerate(neighbour_chains(case.estimator, rows, case.relation)):
            # These are followed even if fits are slow: the first is short, the second is from end to end.
            whole = k < 2
            if not whole and self.deadline.has_passed:
                break
            self._follow_chain(chain, whole=whole)
        self.deadline = Deadline(_CLIMB_SECONDS[case.thorough])
        self._climb(rows)

    def _follow_chain(self, chain: NeighbourChain, *, whole: bool) -> None:
        start: RecordedFit | None = None
        before: RecordedFit | None = None
        seen: list[Arguments] = []
        # A chain may return to a data set; `seen` keeps it alive.
        known: dict[int, RecordedFit | None] = {}
        for data in chain.data_sets:
            if id(data) not in known:
                known[id(data)] = self._fit(data, start.recording.outputs if start else None)
            fit = known[id(data)]
            seen.append(data)
            if start is None:
                start = fit = self._refit(fit)
            else:
                self._compare_losses(before, fit, chain.description)
                self._compare_objects(start, fit, chain.description)
            before = fit
            if self.deadline.has_passed and not whole:
                break
        middle = len(seen) // 2
        if middle:
            self.found.sampled_data_sets += [seen[0], seen[middle]]
            self._unlikely_noise([seen[middle], seen[middle - 1], seen[-1]], chain.description)

    def _unlikely_noise(
        self, data_sets: Sequence[Any], found_in: str, *, all_are_neighbours: bool = False
    ) -> None:
        """Fit with very unlikely outputs of the noise: code may not treat unlikely noise in another way.

        The first two data sets are neighbours, or all of them are. With such noise a release may reach a
        sensitivity that it does not reach otherwise. A draw that is discarded counts as released: the fact
        that it was discarded reveals something about it.
        """
        usual = self._fit(data_sets[0])
        for given_outputs in unlikely_outputs(usual.recording) if usual else ():
            if self.deadline.has_passed:
                return
            first = self._refit(self._fit(data_sets[0], given_outputs))
            others = [self._fit(data, first.recording.outputs) if first else None for data in data_sets[1:]]
            for other in others:
                self._compare_objects(first, other, f"{found_in}, with unlikely noise")
            where = f"{found_in}, with unlikely noise"
            loss = self._compare_losses(first, others[0], where)
            if all_are_neighbours:
                self._compare_all([first, *others], where)
            drawn_again = first and usual and len(first.recording.releases) > len(usual.recording.releases)
            if loss is not None and drawn_again and loss > claimed_loss(self.claim):
                self.found.redraws = self.found.redraws or found_in

    def _compare_all(self, fits: Sequence[RecordedFit | None], found_in: str) -> None:
        """Compare all pairs; a pair within the claim is not audited, as many numbers share its loss."""
        found = self.found
        known = found.loss, found.pair, found.found_in
        for one, other in itertools.combinations(fits, 2):
            self._compare_losses(one, other, found_in)
        if self.claim is not None and found.loss <= claimed_loss(self.claim):
            found.loss, found.pair, found.found_in = known

    def _climb(self, rows: Arguments) -> None:
        """Change the worst known pair, or a random one, and keep the worse pair."""
        case, rng = self.case, np.random.default_rng(0)
        domain, units = domain_rows(case.estimator, rows, case.relation), units_of(rows)
        best: tuple[Any, Arguments, DomainRow] = (Fraction(-1), rows, domain[0])
        for _ in range(_CLIMBS[case.thorough]):
            if self.deadline.has_passed:
                return
            base, row = best[1], domain[rng.integers(len(domain))]
            if rng.random() < 0.5:
                base = with_random_rows(domain, rows, units, rng)
            else:
                for unit in rng.choice(len(units), size=min(len(units), int(rng.integers(1, 4)))):
                    base = with_row(base, units[unit], domain[rng.integers(len(domain))])
            unit = units[-1]
            other = without_unit(base, unit) if case.relation == "add-remove" else with_row(base, unit, row)
            one = self._refit(self._fit(base))
            two = self._fit(other, one.recording.outputs) if one else None
            self._compare_objects(one, two, "a random data set")
            loss = self._compare_losses(one, two, "a random data set")
            if loss is not None and loss > best[0]:
                best = (loss, base, row)

    def _fit(self, data: Any, given_outputs: Outputs | None = None) -> RecordedFit | None:
        """Return a fit, or None if it fails: no claim covers failures."""
        self.found.n_fits += 1
        try:
            model, recording = self.case.record(data, given_outputs)
        except Exception as error:
            self.found.releases.note_error(error)
            return None
        return RecordedFit(data, recording, state_of_all_steps(self.case, model), stated_releases(model))

    def _refit(self, fit: RecordedFit | None) -> RecordedFit | None:
        """Return the same fit with its own outputs as input, so that it is comparable with other fits."""
        return None if fit is None else self._fit(fit.data, fit.recording.outputs)

    def _compare_losses(self, one: RecordedFit | None, other: RecordedFit | None, found_in: str) -> Any:
        if one is None or other is None:
            return None
        self.found.n_pairs += 1
        try:
            loss = loss_as_claimed(one.recording.loss(other.recording), self.claim)
        except ValueError:
            self.found.differing_releases = self.found.differing_releases or found_in
            return None
        self.found.releases.compare(one.stated, one.recording, other.recording, found_in)
        if loss > self.found.loss:
            self.found.loss, self.found.pair, self.found.found_in = loss, (one, other), found_in
        return loss

    def _compare_objects(self, one: RecordedFit | None, other: RecordedFit | None, found_in: str) -> None:
        if one is None or other is None:
            return
        if other.recording.diverged or len(one.recording.calls) != len(other.recording.calls):
            self.found.differing_releases = self.found.differing_releases or found_in
            return
        for path in set(differing_paths(one.state, other.state)) - self.found.unstable_paths:
            self.found.differing_state.setdefault(path, found_in)
        if one.recording.generator_digest != other.recording.generator_digest:
            self.found.differing_state.setdefault("where the generators of Python and NumPy stand", found_in)
        if len(differing_words(one.recording, other.recording)) > self.changing_words:
            self.found.differing_messages = self.found.differing_messages or found_in


def differing_words(one: Recording, other: Recording) -> Counter[str]:
    """Return the words and numbers that the messages of one fit have more often than those of the other."""
    mine, theirs = (Counter(_WORD.findall(" ".join(recording.messages))) for recording in (one, other))
    return (mine - theirs) + (theirs - mine)


def state_of_all_steps(case: AuditCase, model: Any) -> FlatObject:
    """Return all released state of a fitted object and its inner steps; nothing if it is not published."""
    if not getattr(model, "releases_state", True):
        return FlatObject({"released": np.asarray(case.released(model))} if case.released is not None else {})
    found = FlatObject(fitted_state(model))
    for path, step in fitted_steps(model, ""):
        if step is not model:
            found.update({f"{path}: {name}": leaf for name, leaf in fitted_state(step).items()})
    return found


def unlikely_outputs(recording: Recording) -> Iterator[Outputs]:
    """Yield very unlikely outputs of mechanisms, call by call: far out, without noise, and zeros."""
    if any(release.scale is None for release in recording.releases):
        return  # every report that a local randomizer can send is likely
    signs = (lambda k: 1, lambda k: -1, lambda k: (-1) ** k)
    for sign in signs:
        yield [_moved(call, sign) for call in recording.calls]
    # Other choices are as likely as the present one.
    yield [
        call.output if call.is_choice else call.exact.astype(call.output.dtype) for call in recording.calls
    ]
    yield [call.output if call.is_choice else np.zeros_like(call.output) for call in recording.calls]


def _moved(release: Release, sign: Any) -> NDArray[Any]:
    if release.is_choice:
        return release.output
    step = math.ceil(_FAR_NOISE * (release.scale or 1))
    signs = np.array([sign(k) for k in range(release.exact.size)]).reshape(release.exact.shape)
    return (release.exact + step * signs).astype(release.output.dtype)
