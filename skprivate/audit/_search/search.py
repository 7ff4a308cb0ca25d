# SPDX-License-Identifier: BSD-3-Clause
"""Search for the neighbours with the greatest privacy loss: chains, unlikely noise, hill climbing."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...accounting import ReleaseRecord
from .._cases.case import AuditCase
from .._cases.units import Arguments, units_of, without_unit
from .._observation.flat_objects import FlatObject, differing_paths, fitted_state
from .._observation.object_views import fitted_steps
from .._observation.recorder import Recording, Release
from .deadline import Deadline
from .neighbour_chains import (
    DomainRow,
    NeighbourChain,
    domain_rows,
    neighbour_chains,
    with_random_rows,
    with_row,
)
from .privacy_loss import claimed_loss, loss_as_claimed
from .release_losses import ReleaseLosses, stated_releases

# Processor seconds, by whether the search is to be thorough: what has been found by then counts.
_SECONDS = {False: 1.5, True: 15.0}
_CLIMB_SECONDS = {False: 0.5, True: 10.0}
_CLIMBS = {False: 100, True: 3000}
# Data sets of the case that are fitted however long it takes.
_AT_LEAST = 8
_WORD = re.compile(r"[^\s,;:()\[\]{}]+")
# Fits that tell what is another each time.
_AGAIN = 3
# Scales; noise lies farther out with a probability below 1e-17.
_FAR_NOISE = 40

Outputs = Sequence[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RecordedFit:
    """One recorded fit: what it released, the state that it left, and the releases that it states."""

    data: Any
    recording: Recording
    state: FlatObject
    stated: tuple[ReleaseRecord, ...] = ()


@dataclass(eq=False)
class SearchResult:
    """What fits on neighbours showed that were handed the same outputs.

    Attributes
    ----------
    loss : Fraction or float
        Largest loss of two neighbours, as epsilon or as rho.
    pair : tuple of two Fits or None
        Where it was.
    found_in : str
        Chain of neighbours that it stands in.
    releases : ReleaseLosses
        Of every stated release by itself.
    differing_releases : str
        Chain with neighbours that release different things, "" if there is none.
    differing_state : dict of str to str
        Path on the fitted object at which they differ -> chain.
    differing_messages : str
        Chain with neighbours that warn, log or print different things, "" if there is none.
    redraws : str
        Chain on which outputs are thrown away that nobody paid for, "" if there is none.
    drawn_in_other_threads : bool
        Whether noise was drawn in other threads, where it is not recorded.
    n_pairs, n_fits : int
    unstable_paths : set of str
        Paths that are another in every fit, whatever the rows: times, and what else no source that can be
        repeated has made. They are not compared here.
    sampled_data_sets : list of data sets
        Some of those that were tried, far apart.
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
        """Whether mechanisms are handed nothing private: noise is drawn by itself, and added elsewhere."""
        return self.pair is not None and self.loss == 0 and bool(self.differing_state)


def search_neighbours(case: AuditCase) -> SearchResult:
    """Return what a search for the worst neighbours found; it runs once for every case."""
    memo: dict[str, Any] = vars(case)
    if "_search_result" not in memo:
        memo["_search_result"] = _NeighbourSearch(case).run()
    found: SearchResult = memo["_search_result"]
    return found


class _NeighbourSearch:
    def __init__(self, case: AuditCase) -> None:
        self.case, self.found = case, SearchResult()
        self.first = self._fit(case.data_sets[0])
        self.claim: Any = None
        # Words that change from fit to fit: of a time, in each of two logs.
        self.changing_words = 0
        self.deadline = Deadline(_SECONDS[case.thorough])

    def run(self) -> SearchResult:
        """Look at the data sets of the case, then at as many others as there is time for."""
        first, found = self.first, self.found
        if first is None:  # raises what the fit raises
            self.case.record(0)
            return found
        self.found.drawn_in_other_threads = first.recording.drawn_in_other_threads
        if not first.recording.releases or not self.case.can_be_recorded or found.drawn_in_other_threads:
            return found
        self.claim = getattr(self.case.fit(0), "privacy_spent_", None)
        self._compare_given_data_sets(first)
        if isinstance(self.case.data_sets[0], dict) and "X" in self.case.data_sets[0]:
            self._follow_chains_and_climb()
        return found

    def _compare_given_data_sets(self, first: RecordedFit) -> None:
        """Compare the data sets of the case."""
        outputs = first.recording.outputs
        first = self._refit(first) or first
        for _ in range(_AGAIN):
            again = self._refit(first) or first
            self.found.unstable_paths |= set(differing_paths(first.state, again.state))
            self.changing_words = max(
                self.changing_words, len(differing_words(first.recording, again.recording))
            )
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
            # However slow fits are: the first is short, and the second passes the middle of all rows.
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
        # A chain may come back to a data set, which `seen` keeps alive.
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
        """Hand out noise as it hardly ever is: no code may have a way out when it does not like its noise.

        The first two data sets are neighbours, or all of them. Far out, a release may reach a sensitivity
        that it does not reach elsewhere. What is drawn and thrown away is released, too: that it was
        thrown away tells of it.
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
        """Compare all pairs; one within the claim is not audited, as its loss is spread over many numbers."""
        found = self.found
        known = found.loss, found.pair, found.found_in
        for one, other in itertools.combinations(fits, 2):
            self._compare_losses(one, other, found_in)
        if self.claim is not None and found.loss <= claimed_loss(self.claim):
            found.loss, found.pair, found.found_in = known

    def _climb(self, rows: Arguments) -> None:
        """Change the worst pair that is known, or a random one, and keep what is worse."""
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
            loss = self._loss_of_pair(base, other)
            if loss is not None and loss > best[0]:
                best = (loss, base, row)

    def _loss_of_pair(self, data: Arguments, other: Arguments) -> Any:
        one = self._refit(self._fit(data))
        two = self._fit(other, one.recording.outputs) if one else None
        self._compare_objects(one, two, "a random data set")
        return self._compare_losses(one, two, "a random data set")

    def _fit(self, data: Any, given_outputs: Outputs | None = None) -> RecordedFit | None:
        """Return a fit, or None where it fails: no claim covers failures."""
        self.found.n_fits += 1
        try:
            model, recording = self.case.record(data, given_outputs)
        except Exception as error:
            self.found.releases.note_error(error)
            return None
        return RecordedFit(data, recording, state_of_all_steps(self.case, model), stated_releases(model))

    def _refit(self, fit: RecordedFit | None) -> RecordedFit | None:
        """Return the same fit, handed its own outputs: it draws as little as those it is compared with."""
        return None if fit is None else self._fit(fit.data, fit.recording.outputs)

    def _compare_losses(self, one: RecordedFit | None, other: RecordedFit | None, found_in: str) -> Any:
        if one is None or other is None:
            return None
        self.found.n_pairs += 1
        loss = self._loss(one.recording, other.recording)
        if loss is None:
            self.found.differing_releases = self.found.differing_releases or found_in
            return None
        self.found.releases.compare(one.stated, one.recording, other.recording, found_in)
        if loss > self.found.loss:
            self.found.loss, self.found.pair, self.found.found_in = loss, (one, other), found_in
        return loss

    def _loss(self, one: Recording, other: Recording) -> Any:
        try:
            return loss_as_claimed(one.loss(other), self.claim)
        except ValueError:
            return None

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
    """Return the words, numbers included, that are said in one of two fits more often than in the other."""
    mine, theirs = (Counter(_WORD.findall(" ".join(recording.messages))) for recording in (one, other))
    return (mine - theirs) + (theirs - mine)


def state_of_all_steps(case: AuditCase, model: Any) -> FlatObject:
    """Return everything that leaves with a fitted object, its inner steps included; nothing if it stays."""
    if not getattr(model, "releases_state", True):
        return FlatObject({"released": np.asarray(case.released(model))} if case.released is not None else {})
    found = FlatObject(fitted_state(model))
    for path, step in fitted_steps(model, ""):
        if step is not model:
            found.update({f"{path}: {name}": leaf for name, leaf in fitted_state(step).items()})
    return found


def unlikely_outputs(recording: Recording) -> Iterator[Outputs]:
    """Yield outputs that mechanisms hardly ever return, call by call: far out, without noise, and zeros."""
    if any(release.scale is None for release in recording.releases):
        return  # every report that a local randomizer can send is likely
    signs = (lambda k: 1, lambda k: -1, lambda k: (-1) ** k)
    for sign in signs:
        yield [_moved(call, sign) for call in recording.calls]
    # Another choice is as likely as the one that was made.
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
