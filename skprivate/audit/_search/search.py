# SPDX-License-Identifier: BSD-3-Clause
"""Searches for the neighbours that differ most: walks through the domain, unlikely noise, and a climb."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._cases.case import AuditCase
from .._cases.units import Arguments, units_of, without_unit
from .._observation.object_views import steps_inside
from .._observation.object_walk import Leaves, differences, leaves_of
from .._observation.recorder import Recording, Release
from .data_set_walks import Row, rows_of_the_domain, scattered, walks, with_row
from .deadline import Budget
from .privacy_loss import claimed_of, loss_under

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

Script = Sequence[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Fit:
    """One recorded fit: what it released, and all that it left."""

    data: Any
    recording: Recording
    left: Leaves


@dataclass(eq=False)
class Found:
    """What fits on neighbours showed that were handed the same outputs.

    Attributes
    ----------
    loss : Fraction or float
        Largest loss of two neighbours, as epsilon or as rho.
    pair : tuple of two Fits or None
        Where it was.
    design : str
        On which walk.
    other_forms : str
        Walk with neighbours that release different things, "" if there is none.
    differing : dict of str to str
        Path on the fitted object at which they differ -> walk.
    talks : str
        Walk with neighbours that warn, log or print different things, "" if there is none.
    redraws : str
        Walk on which outputs are thrown away that nobody paid for, "" if there is none.
    missed : bool
        Whether noise was drawn in other threads, where it is not recorded.
    n_pairs, n_fits : int
    unsteady : set of str
        Paths that are another in every fit, whatever the rows: times, and what else no source that can be
        repeated has made. They are not compared here.
    samples : list of data sets
        Some of those that were tried, far apart.
    """

    loss: Any = Fraction(-1)
    pair: tuple[Fit, Fit] | None = None
    design: str = ""
    other_forms: str = ""
    differing: dict[str, str] = field(default_factory=dict)
    talks: str = ""
    redraws: str = ""
    missed: bool = False
    n_pairs: int = 0
    n_fits: int = 0
    unsteady: set[str] = field(default_factory=set)
    samples: list[Any] = field(default_factory=list)

    @property
    def noise_is_apart(self) -> bool:
        """Whether mechanisms are handed nothing private: noise is drawn by itself, and added elsewhere."""
        return self.pair is not None and self.loss == 0 and bool(self.differing)


def search_neighbours(case: AuditCase) -> Found:
    """Return what a search for the worst neighbours found; it runs once for every case."""
    memo: dict[str, Any] = vars(case)
    if "_found" not in memo:
        memo["_found"] = _Search(case).run()
    found: Found = memo["_found"]
    return found


class _Search:
    def __init__(self, case: AuditCase) -> None:
        self.case, self.found = case, Found()
        self.first = self._fit(case.data_sets[0])
        self.claim: Any = None
        # Of a time, in each of two logs.
        self.changing_words = 0
        self.budget = Budget(_SECONDS[case.thorough])

    def run(self) -> Found:
        """Look at the data sets of the case, then at as many others as there is time for."""
        first, found = self.first, self.found
        if first is None:  # raises what the fit raises
            self.case.record(0)
            return found
        self.found.missed = first.recording.missed
        if not first.recording.releases or not self.case.can_be_recorded or found.missed:
            return found
        self.claim = getattr(self.case.fit(0), "privacy_spent_", None)
        self._given(first)
        if isinstance(self.case.data_sets[0], dict) and "X" in self.case.data_sets[0]:
            self._walk_and_climb()
        return found

    def _given(self, first: Fit) -> None:
        """Compare the data sets of the case."""
        outputs = first.recording.outputs
        first = self._again(first) or first
        for _ in range(_AGAIN):
            again = self._again(first) or first
            self.found.unsteady |= set(differences(first.left, again.left))
            self.changing_words = max(self.changing_words, len(other_words(first.recording, again.recording)))
        self.budget = Budget(_SECONDS[self.case.thorough])
        fits: list[Fit | None] = [first]
        for data in (*self.case.data_sets[1:], *self.case.unrelated_data_sets):
            in_time = len(fits) < _AT_LEAST or not self.budget.is_spent
            fits.append(self._fit(data, outputs) if in_time else None)
        for i, j in self.case.neighbours:
            self._compare_losses(fits[i], fits[j], "the data sets of the case")
        for other in fits[1:]:
            self._compare_objects(first, other, "the data sets of the case")
        i, j = self.case.neighbours[-1]
        self._unlikely_noise([self.case.data_sets[i], self.case.data_sets[j]], "the data sets of the case")

    def _walk_and_climb(self) -> None:
        case, rows = self.case, self.case.data_sets[0]
        self.budget = Budget(_SECONDS[case.thorough])
        for k, (design, walk) in enumerate(walks(case.estimator, rows, case.relation)):
            if k and self.budget.is_spent:
                break
            self._on_a_walk(design, walk, whole=k == 0)
        self.budget = Budget(_CLIMB_SECONDS[case.thorough])
        self._climb(rows)

    def _on_a_walk(self, design: str, walk: Iterable[Arguments], *, whole: bool) -> None:
        start: Fit | None = None
        before: Fit | None = None
        seen: list[Arguments] = []
        # A walk may come back to a data set, which `seen` keeps alive.
        known: dict[int, Fit | None] = {}
        for data in walk:
            if id(data) not in known:
                known[id(data)] = self._fit(data, start.recording.outputs if start else None)
            fit = known[id(data)]
            seen.append(data)
            if start is None:
                start = fit = self._again(fit)
            else:
                self._compare_losses(before, fit, design)
                self._compare_objects(start, fit, design)
            before = fit
            # However slow fits are, the way from end to end is walked: it passes the middle of all rows.
            if self.budget.is_spent and not whole:
                break
        middle = len(seen) // 2
        if middle:
            self.found.samples += [seen[0], seen[middle]]
            self._unlikely_noise([seen[middle], seen[middle - 1], seen[-1]], design)

    def _unlikely_noise(self, data_sets: Sequence[Any], design: str) -> None:
        """Hand out noise as it hardly ever is: no code may have a way out when it does not like its noise.

        The first two data sets are neighbours. What is drawn and thrown away is released, too: that it was
        thrown away tells of it.
        """
        usual = self._fit(data_sets[0])
        for script in unlikely_outputs(usual.recording) if usual else ():
            if self.budget.is_spent:
                return
            first = self._again(self._fit(data_sets[0], script))
            others = [self._fit(data, first.recording.outputs) if first else None for data in data_sets[1:]]
            for other in others:
                self._compare_objects(first, other, f"{design}, with unlikely noise")
            loss = self._compare_losses(first, others[0], f"{design}, with unlikely noise")
            drawn_again = first and usual and len(first.recording.releases) > len(usual.recording.releases)
            if loss is not None and drawn_again and loss > claimed_of(self.claim):
                self.found.redraws = self.found.redraws or design

    def _climb(self, rows: Arguments) -> None:
        """Change the worst pair that is known, or a random one, and keep what is worse."""
        case, rng = self.case, np.random.default_rng(0)
        domain, units = rows_of_the_domain(case.estimator, rows, case.relation), units_of(rows)
        best: tuple[Any, Arguments, Row] = (Fraction(-1), rows, domain[0])
        for _ in range(_CLIMBS[case.thorough]):
            if self.budget.is_spent:
                return
            base, row = best[1], domain[rng.integers(len(domain))]
            if rng.random() < 0.5:
                base = scattered(domain, rows, units, rng)
            else:
                for unit in rng.choice(len(units), size=min(len(units), int(rng.integers(1, 4)))):
                    base = with_row(base, units[unit], domain[rng.integers(len(domain))])
            unit = units[-1]
            other = without_unit(base, unit) if case.relation == "add-remove" else with_row(base, unit, row)
            loss = self._climbed(base, other)
            if loss is not None and loss > best[0]:
                best = (loss, base, row)

    def _climbed(self, data: Arguments, other: Arguments) -> Any:
        one = self._again(self._fit(data))
        two = self._fit(other, one.recording.outputs) if one else None
        self._compare_objects(one, two, "a random design")
        return self._compare_losses(one, two, "a random design")

    def _fit(self, data: Any, script: Script | None = None) -> Fit | None:
        """Return a fit, or None where it fails: no claim covers failures."""
        self.found.n_fits += 1
        try:
            model, recording = self.case.record(data, script)
        except Exception:
            return None
        return Fit(data, recording, visible(self.case, model))

    def _again(self, fit: Fit | None) -> Fit | None:
        """Return the same fit, handed its own outputs: it draws as little as those it is compared with."""
        return None if fit is None else self._fit(fit.data, fit.recording.outputs)

    def _compare_losses(self, one: Fit | None, other: Fit | None, design: str) -> Any:
        if one is None or other is None:
            return None
        self.found.n_pairs += 1
        loss = self._loss(one.recording, other.recording)
        if loss is None:
            self.found.other_forms = self.found.other_forms or design
        elif loss > self.found.loss:
            self.found.loss, self.found.pair, self.found.design = loss, (one, other), design
        return loss

    def _loss(self, one: Recording, other: Recording) -> Any:
        try:
            return loss_under(one.loss(other), self.claim)
        except ValueError:
            return None

    def _compare_objects(self, one: Fit | None, other: Fit | None, design: str) -> None:
        if one is None or other is None:
            return
        if other.recording.diverged or len(one.recording.releases) != len(other.recording.releases):
            self.found.other_forms = self.found.other_forms or design
            return
        for path in set(differences(one.left, other.left)) - self.found.unsteady:
            self.found.differing.setdefault(path, design)
        if one.recording.generators != other.recording.generators:
            self.found.differing.setdefault("where the generators of Python and NumPy stand", design)
        if len(other_words(one.recording, other.recording)) > self.changing_words:
            self.found.talks = self.found.talks or design


def other_words(one: Recording, other: Recording) -> Counter[str]:
    """Return the words, numbers included, that are said in one of two fits more often than in the other."""
    mine, theirs = (Counter(_WORD.findall(" ".join(recording.said))) for recording in (one, other))
    return (mine - theirs) + (theirs - mine)


def visible(case: AuditCase, model: Any) -> Leaves:
    """Return everything that leaves with a fitted object, its inner steps included; nothing if it stays."""
    if not getattr(model, "releases_state", True):
        return Leaves({"released": np.asarray(case.released(model))} if case.released is not None else {})
    found = Leaves(leaves_of(model))
    for path, step in steps_inside(model, ""):
        if step is not model:
            found.update({f"{path}: {name}": leaf for name, leaf in leaves_of(step).items()})
    return found


def unlikely_outputs(recording: Recording) -> Iterator[Script]:
    """Yield outputs that mechanisms hardly ever return, call by call: far out, without noise, and zeros."""
    if any(release.scale is None for release in recording.releases):
        return  # every report that a local randomizer can send is likely
    signs = (lambda k: 1, lambda k: -1, lambda k: (-1) ** k)
    for sign in signs:
        yield [_moved(release, sign) for release in recording.releases]
    yield [release.exact.astype(release.output.dtype) for release in recording.releases]
    yield [np.zeros_like(release.output) for release in recording.releases]


def _moved(release: Release, sign: Any) -> NDArray[Any]:
    step = math.ceil(_FAR_NOISE * (release.scale or 1))
    signs = np.array([sign(k) for k in range(release.exact.size)]).reshape(release.exact.shape)
    return (release.exact + step * signs).astype(release.output.dtype)
