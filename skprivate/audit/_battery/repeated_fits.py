# SPDX-License-Identifier: BSD-3-Clause
"""Checks on repeated fits: recorded fits with the same outputs, copies and forks."""

import functools
import hashlib
import itertools
import multiprocessing
import pickle
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone

from ...base._pipeline_report import last_step
from .._cases import AuditCase, n_rows_of
from .._observation.fitted_objects import FlatObject, differing_paths, fitted_state
from .._observation.recorder import EXTREME_DRAWS, Deadline, Recording, record_releases, temporary_patches
from .._observation.source_code import first_difference, trace_lines
from .._search import (
    NothingRecordedError,
    claimed_loss,
    largest_call,
    loss_as_claimed,
    search_neighbours,
    sensitivity_fuzz,
    state_of_all_steps,
)
from .requirements import (
    NotApplicable,
    TooWeakToTell,
    claim_of_fit,
    listed,
    pickle_or_none,
    published_of_fit,
    published_state,
    randomised_fit,
    recorded_claim,
    recorded_search,
    require,
    spent_of,
)

# Checks on recorded fits: fits with the same outputs on different data sets differ only in exact integers.

# Number of data sets of chains whose lines are traced; a trace takes ten times as long as a fit. Set by hand.
_MOST_TRACED = 8
# Number of choices of held-out rows. If a fifth is held out, a row is in one of them with probability 0.9.
_SEEDS_OF_SEARCHES = 10
_TRACE_SECONDS = {False: 1.0, True: 10.0}


def check_sensitivity_fuzz(case: AuditCase) -> None:
    """The exact integers of extreme neighbours differ by at most as much as the noise covers."""
    spent_of(case.fit(0))
    try:
        fuzz = sensitivity_fuzz(case)
    except NothingRecordedError as error:
        raise NotApplicable(str(error)) from None
    hint = "if not all draws are released, such as only the largest one, set releases_all_draws = False"
    require(fuzz.passed, f"{fuzz}; {hint}")


def check_releases(case: AuditCase) -> None:
    """Every stated release loses no more than its share, and no noise is drawn outside stated releases."""
    found = recorded_search(case).releases
    if not found.largest and not found.wrong_total:
        raise NotApplicable(
            "states a total and no releases: too little noise in one part of the budget may be hidden by the "
            "slack of the other parts. List the releases in PrivacySpent.releases"
        )
    require(not found.contradictions, "; ".join(found.contradictions))


def check_releases_show_half_the_noise(case: AuditCase) -> None:
    """Half the noise in any stated release would be noticed; otherwise a passed check would mean little."""
    check_releases(case)
    weak = recorded_search(case).releases.weak
    if weak:
        raise TooWeakToTell(
            f"half the noise would not be noticed in {', '.join(weak)}. Use data sets whose neighbours lose "
            "more than half of the share (a quarter of a share of rho)"
        )


def check_runs_of_a_search(case: AuditCase) -> None:
    """In a private search no draw loses more than one run may, and the number of runs is not released."""
    spent = spent_of(case.fit(0))
    runs = [one for one in getattr(spent, "releases", ()) if one.rows is not None and one.times > 1]
    if case.can_be_recorded or not runs:
        raise NotApplicable("is not a private search that states the cost of one run")
    largest, share = Fraction(0), max(one.share for one in runs)
    numbers: list[int] = []
    shown: set[str] = set()
    case.record(0)  # the first of a case fits twice
    for seed in range(_SEEDS_OF_SEARCHES):
        with _counted_fits(case) as fits:
            model, drawn = case.record(0, seed=seed)
        numbers.append(len(fits))
        leaves = fitted_state(model).items()
        equal = {path for path, leaf in leaves if isinstance(leaf, int | np.integer) and leaf == len(fits)}
        shown = equal if seed == 0 else shown & equal
        # The fit is repeated with its own outputs, so that it is comparable with the others.
        first = case.record(0, drawn.outputs, seed=seed)[1]
        for position in range(1, len(case.data_sets)):
            other = case.record(position, first.outputs, seed=seed)[1]
            if [call.form for call in other.calls] == [call.form for call in first.calls]:
                largest = max(largest, largest_call(first, other))
    # In one fit a number may equal the number of runs by chance, but not in all fits.
    require(len(set(numbers)) == 1 or not shown, f"the number of runs is released: {listed(sorted(shown))}")
    require(largest <= share, f"a draw loses {float(largest):.4g}, and a run may lose {float(share):.4g}")
    if 2 * largest <= share:
        raise TooWeakToTell(
            f"no draw loses more than {float(largest):.4g}, so half the noise would not be noticed. Draws "
            f"that lose more than {float(share / 2):.4g} are enough"
        )


@contextmanager
def _counted_fits(case: AuditCase) -> Iterator[list[None]]:
    """Record the fits of the searched estimator; none if they run in other processes."""
    kind: Any = type(getattr(last_step(case.estimator), "estimator", None))
    found: list[None] = []
    with temporary_patches() as undo:
        if hasattr(kind, "fit"):
            fit = kind.fit

            @functools.wraps(fit)
            def counted(self: Any, *args: Any, **more: Any) -> Any:
                found.append(None)
                return fit(self, *args, **more)

            undo.callback(*((setattr, kind, "fit", fit) if "fit" in vars(kind) else (delattr, kind, "fit")))
            kind.fit = counted
        yield found


def check_replay(case: AuditCase) -> None:
    """Fits on other rows with the same outputs end in the same object and in the same messages."""
    found = recorded_search(case)
    require(not found.differing_releases, f"other rows release other things ({found.differing_releases})")
    first_chain = next(iter(found.differing_state.values()), "")
    paths = listed(sorted(found.differing_state))
    require(not paths, f"exact functions of private rows: {paths} ({first_chain})")
    require(
        not found.differing_messages,
        f"other rows warn, log or print other things ({found.differing_messages})",
    )


def check_noise_meets_values(case: AuditCase) -> None:
    """The mechanisms of skprivate receive the exact values: noise for zeros could be added to anything."""
    if not case.can_be_recorded:
        raise NotApplicable("keeps the best of several draws, so the recorded draws are not the releases")
    found = search_neighbours(case)
    require(
        not found.noise_is_added_elsewhere,
        "the mechanisms receive nothing that depends on rows, but the releases do. Pass them the exact "
        "values, so that the values before the noise can be checked",
    )


def check_no_redraws(case: AuditCase) -> None:
    """Unlikely noise is not drawn again: draws that are rejected count as released too."""
    found = recorded_search(case)
    require(
        not found.redraws,
        f"noise is drawn again when it is far out, and the rejected draws are not charged ({found.redraws})",
    )


def check_same_branches(case: AuditCase) -> None:
    """Fits on other rows with the same outputs run through the same lines of code."""
    found = recorded_search(case)
    _, recording = case.record(0)
    # A first call may import, or fill a cache.
    case.record(0, recording.outputs)
    # The same callable as below, because a warning searches all outer calls for the line of the user.
    path = trace_lines(case.estimator, functools.partial(case.record, 0, recording.outputs))
    if not path:
        raise NotApplicable("none of its lines can be traced: it is compiled, or not defined in a file")
    length = n_rows_of(case.data_sets[0])
    # Unrelated rows first: they differ in every row.
    others = [*case.unrelated_data_sets, *found.sampled_data_sets[:_MOST_TRACED], *case.data_sets[1:]]
    deadline = Deadline(_TRACE_SECONDS[case.thorough])
    for data in (one for one in others if n_rows_of(one) == length):
        if deadline.has_passed:
            return
        other = trace_lines(case.estimator, functools.partial(case.record, data, recording.outputs))
        if other != path:
            raise AssertionError(f"a branch on private rows at {first_difference(path, other)}")


# Checks of rare events: draws at the ends of their ranges, and many fits. The numbers are set by hand.

# Processor seconds for fits with other seeds. At 2 milliseconds a fit, an event of one in 1,000 fits is seen
# with a probability of 0.5 by default, and above 0.999 if the battery is thorough.
_RARE_SECONDS = {False: 1.5, True: 15.0}
# Number of kinds of rare draws that are tried even after the deadline.
_AT_LEAST = 2
# Every eighth fit is compared in any case.
_COMPARED = 8
# A form of release with a smaller share of the fits is compared each time.
_USUAL = 0.05


def check_rare_draws(case: AuditCase) -> None:
    """No extreme draw of any source of randomness removes the noise."""
    claim = recorded_claim(case)
    deadline = Deadline(_RARE_SECONDS[case.thorough])
    for k, extreme in enumerate(EXTREME_DRAWS):
        if k < _AT_LEAST or not deadline.has_passed:
            _compare_with_neighbours(
                case, claim, f"when a draw is the {extreme.split()[0]} possible one", extreme=extreme
            )


def check_many_fits(case: AuditCase) -> None:
    """In many fits with other noise, other rows with the same outputs end in the same object."""
    claim = recorded_claim(case)
    forms: Counter[Any] = Counter()
    deadline = Deadline(_RARE_SECONDS[case.thorough])
    for seed in itertools.count(1):
        if deadline.has_passed:
            return
        form = case.record(0, seed=seed)[1].forms
        forms[form] += 1
        if forms[form] < _USUAL * seed:
            again = case.record(0, seed=seed)[1].forms
            require(again == form, "now and then a fit releases other things, whatever its randomness is")
        if seed % _COMPARED == 0 or forms[form] < _USUAL * seed:
            _compare_with_neighbours(case, claim, "in a few fits of many", seed=seed)


def _compare_with_neighbours(case: AuditCase, claim: Any, when: str, **randomness: Any) -> None:
    """Compare fits with the same randomness and the same outputs, on a neighbour and on unrelated rows."""
    unstable_paths = recorded_search(case).unstable_paths
    outputs = case.record(0, **randomness)[1].outputs

    def fit(data: Any) -> tuple[FlatObject, Recording]:
        model, recording = case.record(data, outputs, **randomness)
        return state_of_all_steps(case, model), recording

    mine, recording = fit(0)
    i, j = case.neighbours[0]
    for data in (*case.unrelated_data_sets[:1], case.data_sets[j if i == 0 else i]):
        other, again = fit(data)
        same_forms = recording.forms == again.forms
        require(same_forms, f"other rows release other things {when}")
        paths = sorted(set(differing_paths(mine, other)) - unstable_paths)
        require(not paths, f"exact functions of private rows {when}: {listed(paths)}")
    if i == 0:
        loss = loss_as_claimed(recording.loss(again), claim)
        require(loss <= claimed_loss(claim), f"more is released than claimed {when}")


# Number of equal fits that rules out chance, and share of different pairs of draws: see `_require_fresh`.
_MOST_EQUAL_FITS = 40
_USUALLY_DIFFERENT = 0.75
# Number of child processes at one moment, whose noise must differ too; set by hand.
_CHILDREN = 4
# Count of numbers whose noise is the same by chance with a probability below 1e-9, at epsilon 1.5.
_MANY_NUMBERS = 24


def check_noise_is_fresh(case: AuditCase) -> None:
    """Fits without a seed differ, even after ``np.random.seed``."""
    model = randomised_fit(case)
    differ = _some_differ(lambda: published_of_fit(case, 0))
    _require_fresh(case, differ, "fits without a seed are equal: there is no noise")
    differ = _some_differ(functools.partial(_fit_after_seeding_numpy, case))
    _require_fresh(
        case, differ, "np.random.seed or random.seed makes fits equal: anyone can repeat the noise"
    )
    if claim_of_fit(case, model) and getattr(getattr(model, "privacy_spent_", None), "claim", None) == "dp":
        require(not case.record(0)[1].seeded, "the noise does not come from the operating system")


def _fit_after_seeding_numpy(case: AuditCase) -> FlatObject:
    with temporary_patches() as undo:
        undo.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
        undo.callback(random.setstate, random.getstate())
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        return published_of_fit(case, 0)


def check_copies_repeat_nothing(case: AuditCase) -> None:
    """Copies of one unfitted estimator, by pickle and by clone, draw different noise."""
    randomised_fit(case)
    original = case.make()
    content = pickle_or_none(original)
    if content is None:
        raise NotApplicable("cannot be pickled")
    for copy in (lambda: pickle.loads(content), lambda: clone(original)):
        differ = _some_differ(lambda copy=copy: published_state(case, case.fit(0, copy())))  # type: ignore[misc]
        _require_fresh(case, differ, "copies of one estimator draw the same noise")


def _require_fresh(case: AuditCase, differ: bool, message: str) -> None:
    """Fail if all fits are equal, unless new draws of the recorded noise are often equal too.

    If two fits are equal with probability q, 40 fits are all equal with q^39. This is below 1e-9 up to
    q = 0.588. For a larger q, three quarters of 40 pairs of draws rarely differ. So the probability of both
    events together is below 1e-9 too.
    """
    if not differ and (releases := case.record(0)[1].releases):
        generator = np.random.default_rng(19)
        pairs = [
            [[one.mechanism.randomize(one.exact, generator) for one in releases] for _ in range(2)]
            for _ in range(_MOST_EQUAL_FITS)
        ]
        n_different = sum(not all(map(np.array_equal, *pair)) for pair in pairs)
        if n_different < _USUALLY_DIFFERENT * _MOST_EQUAL_FITS:
            raise TooWeakToTell(
                "noise of this scale is mostly 0, and fits are equal by chance: choose epsilon 1.5"
            )
    require(differ, message)


def _some_differ(fit: Callable[[], FlatObject]) -> bool:
    first = fit()
    return any(differing_paths(first, fit()) for _ in range(_MOST_EQUAL_FITS))


def check_fork_repeats_nothing(case: AuditCase) -> None:
    """Forked processes that fit one object draw noise that differs from each other and from their parent."""
    randomised_fit(case)
    if "fork" not in multiprocessing.get_all_start_methods():
        raise NotApplicable("this system cannot fork")
    model = case.make()
    # A fit before the fork may start a generator.
    case.fit(0, model)
    seen = set()
    for _ in range(_MOST_EQUAL_FITS // _CHILDREN):
        seen |= set(_fit_in_children(case, model))
        if len(seen) > 1:
            return
    _require_fresh(case, False, "forked processes draw the same noise")


def _fit_in_children(case: AuditCase, model: Any) -> Iterator[bytes]:
    context: Any = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads do not matter here
        children = [
            context.Process(target=_fit_and_send, args=(case, model, queue), daemon=True)
            for _ in range(_CHILDREN)
        ]
        for child in children:
            child.start()
    for child in children:
        child.join()
        require(child.exitcode == 0, "a fit in a forked process failed")
        yield queue.get()


def _fit_and_send(case: AuditCase, model: Any, queue: Any) -> None:
    found = published_state(case, case.fit(0, model))
    text = "\n".join(
        f"{path}={(leaf.tobytes() if isinstance(leaf, np.ndarray) else leaf)!r}"
        for path, leaf in sorted(found.items())
    )
    queue.put(hashlib.sha256(text.encode()).digest())


def check_seeded_fit_is_not_private(case: AuditCase) -> None:
    """A seed makes fits equal, and the claim is then "not-private"."""
    spent_of(randomised_fit(case))
    if not case.has("random_state"):
        raise NotApplicable("has no parameter random_state")
    fits = [case.fit(0, random_state=3) for _ in range(2)]
    spent = fits[0].privacy_spent_
    require(spent.claim == "not-private" and spent.reasons, "a seeded fit claims to be private")
    require(spent.noise_source == "seeded", "a seeded fit states another source of noise")
    # Times and random names may differ.
    mine, theirs = (published_state(case, one) for one in fits)
    paths = set(differing_paths(mine, theirs)) - search_neighbours(case).unstable_paths
    numbers = (
        np.asarray(side[path]).dtype.kind == "f" for path in paths for side in (mine, theirs) if path in side
    )
    require(not any(numbers), "fits with one seed differ: noise from elsewhere")
    with np.errstate(all="ignore"):
        shared = case.fit(0, random_state=np.random.default_rng(3))
    require(shared.privacy_spent_.claim == "not-private", "a fit with a generator claims to be private")


def check_refits_draw_again(case: AuditCase) -> None:
    """A second fit of one object draws new noise: the same noise would reveal changes between two fits."""
    recorded_search(case)
    model, recordings = case.make(), []
    for data in (case.data_sets[0], case.data_sets[-1]):
        with (case.recorder or record_releases)(None) as recording:
            case.fit_with_warnings(data, model)
        recordings.append(recording)
    require(len(recordings[1].releases) > 0, "a second fit of the same object draws no noise")
    same = all(
        one.scale is not None and np.array_equal(one.output - one.exact, other.output - other.exact)
        for one, other in zip(recordings[0].releases, recordings[1].releases, strict=False)
        if one.exact.shape == other.exact.shape
    )
    several = sum(one.exact.size for one in recordings[0].releases) >= _MANY_NUMBERS
    require(not (same and several), "a second fit of the same object draws the same noise")
