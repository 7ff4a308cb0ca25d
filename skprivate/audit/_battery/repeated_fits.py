# SPDX-License-Identifier: BSD-3-Clause
"""Checks on fits that are made again: recorded ones, handed the same outputs, and copies and forks."""

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

# Checks on recorded fits: data sets that are handed the same outputs differ in the exact integers alone.

# Data sets of chains whose lines are traced, which takes ten times as long as a fit.
_MOST_TRACED = 8
# Choices of the rows that are held out: where a fifth is, a row is in one of them with probability .9.
_SEEDS_OF_SEARCHES = 10
_TRACE_SECONDS = {False: 1.0, True: 10.0}


def check_sensitivity_fuzz(case: AuditCase) -> None:
    """Exact integers of extreme neighbours differ by no more than the noise covers."""
    spent_of(case.fit(0))
    try:
        fuzz = sensitivity_fuzz(case)
    except NothingRecordedError as error:
        raise NotApplicable(str(error)) from None
    hint = "if less leaves than is drawn, the largest of noisy scores say, declare releases_all_draws = False"
    require(fuzz.passed, f"{fuzz}; {hint}")


def check_releases(case: AuditCase) -> None:
    """Every stated release by itself loses no more than its share, and no noise is drawn beside them."""
    found = recorded_search(case).releases
    if not found.largest and not found.wrong_total:
        raise NotApplicable(
            "states a total and no releases: noise that is too small in a part of the budget may hide in the "
            "slack of the rest; list them in PrivacySpent.releases"
        )
    require(not found.contradictions, "; ".join(found.contradictions))


def check_releases_show_half_the_noise(case: AuditCase) -> None:
    """Half the noise in any stated release would be seen: else that it passes would mean little."""
    check_releases(case)
    weak = recorded_search(case).releases.weak
    if weak:
        raise TooWeakToTell(
            f"half the noise would not be seen in {', '.join(weak)}; data sets whose neighbours lose more "
            "than half of the share are enough (a quarter of a share of rho)"
        )


def check_runs_of_a_search(case: AuditCase) -> None:
    """In a private search no draw loses more than one run may, and the number of runs is not released."""
    spent = spent_of(case.fit(0))
    runs = [one for one in getattr(spent, "releases", ()) if one.rows is not None and one.times > 1]
    if case.can_be_recorded or not runs:
        raise NotApplicable("is no private search that states what one run costs")
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
        # Again, handed its own outputs: it draws as little as those it is compared with.
        first = case.record(0, drawn.outputs, seed=seed)[1]
        for position in range(1, len(case.data_sets)):
            other = case.record(position, first.outputs, seed=seed)[1]
            if [call.form for call in other.calls] == [call.form for call in first.calls]:
                largest = max(largest, largest_call(first, other))
    # One number of runs may be anything, all of them are nothing else.
    require(len(set(numbers)) == 1 or not shown, f"the number of runs is released: {listed(sorted(shown))}")
    require(largest <= share, f"a draw loses {float(largest):.4g}, and a run may lose {float(share):.4g}")
    if 2 * largest <= share:
        raise TooWeakToTell(
            f"no draw loses more than {float(largest):.4g}, so that half the noise would not be seen; draws "
            f"that lose more than {float(share / 2):.4g} are enough"
        )


@contextmanager
def _counted_fits(case: AuditCase) -> Iterator[list[None]]:
    """Note the fits of what is searched over; none where they are made in other processes."""
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
    """Other rows that are handed the same outputs end in the same object, and in the same messages."""
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
    """The mechanisms of skprivate are handed the exact values: noise for zeros may be added to anything."""
    if not case.can_be_recorded:
        raise NotApplicable("keeps the best of several draws, so what is recorded is not what is released")
    found = search_neighbours(case)
    require(
        not found.noise_is_added_elsewhere,
        "the mechanisms are handed nothing that depends on rows, and what is released does: hand them the "
        "exact values, so that what meets the noise can be checked",
    )


def check_no_redraws(case: AuditCase) -> None:
    """However unlikely the noise is, it stays: what is drawn again until it pleases was released, too."""
    found = recorded_search(case)
    require(
        not found.redraws,
        f"noise is drawn again when it is far out, and the rejected draws are not charged ({found.redraws})",
    )


def check_same_branches(case: AuditCase) -> None:
    """Other rows that are handed the same outputs run through the same lines of code."""
    found = recorded_search(case)
    _, recording = case.record(0)
    # Once before: a first call may import, or fill a cache.
    case.record(0, recording.outputs)
    # By the same callable as below: a warning looks for the line of the user through all calls around it.
    path = trace_lines(case.estimator, functools.partial(case.record, 0, recording.outputs))
    if not path:
        raise NotApplicable("none of its lines can be followed: it is compiled, or defined in no file")
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


# Checks of what happens seldom: draws at the ends of their ranges, and many fits.

# Processor seconds for fits with other seeds. At 2 milliseconds a fit, what happens once in 1,000 fits is
# seen with a probability of .5 by default and above .999 if the battery is thorough.
_RARE_SECONDS = {False: 1.5, True: 15.0}
# Kinds of rare draws that are tried however long it takes.
_AT_LEAST = 2
# One fit in so many is compared in any case.
_COMPARED = 8
# A form of release that is seen less often than that is compared each time.
_USUAL = 0.05


def check_rare_draws(case: AuditCase) -> None:
    """No lucky or unlucky draw, of whatever source of randomness, takes the noise away."""
    claim = recorded_claim(case)
    deadline = Deadline(_RARE_SECONDS[case.thorough])
    for k, extreme in enumerate(EXTREME_DRAWS):
        if k < _AT_LEAST or not deadline.has_passed:
            _compare_with_neighbours(
                case, claim, f"when a draw is the {extreme.split()[0]} possible one", extreme=extreme
            )


def check_many_fits(case: AuditCase) -> None:
    """Fit after fit, with other noise, other rows that are handed the same outputs end in the same object."""
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


# Fits that may be equal by chance before it is no chance any more.
_MOST_EQUAL_FITS = 40
_USUALLY_DIFFERENT = 0.75
# More than the cores that are needed: children of one moment must differ, too.
_CHILDREN = 4
# Numbers whose noise is the same by chance with a probability below 1e-9, at epsilon 1.5.
_MANY_NUMBERS = 24


def check_noise_is_fresh(case: AuditCase) -> None:
    """Fits without a seed differ, whatever ``np.random.seed`` was given."""
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
    """Copies of one unfitted estimator, by pickle and by clone, draw other noise."""
    randomised_fit(case)
    original = case.make()
    content = pickle_or_none(original)
    if content is None:
        raise NotApplicable("cannot be pickled")
    for copy in (lambda: pickle.loads(content), lambda: clone(original)):
        differ = _some_differ(lambda copy=copy: published_state(case, case.fit(0, copy())))  # type: ignore[misc]
        _require_fresh(case, differ, "copies of one estimator draw the same noise")


def _require_fresh(case: AuditCase, differ: bool, message: str) -> None:
    """Fail where fits are all equal, unless fresh draws of what was recorded are equal often, too.

    Fits of which two are equal with probability q are all equal with q^39, below 1e-9 up to q = 0.588. Above,
    three quarters of 40 pairs of draws differ too seldom for both to happen with more than that.
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
    """Forked processes that fit one object draw other noise, and other noise than their parent."""
    randomised_fit(case)
    if "fork" not in multiprocessing.get_all_start_methods():
        raise NotApplicable("this system cannot fork")
    model = case.make()
    # A fit before: it may have started a generator.
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
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of others do not matter here
        children = [
            context.Process(target=_fit_and_tell, args=(case, model, queue), daemon=True)
            for _ in range(_CHILDREN)
        ]
        for child in children:
            child.start()
    for child in children:
        child.join()
        require(child.exitcode == 0, "a fit in a forked process failed")
        yield queue.get()


def _fit_and_tell(case: AuditCase, model: Any, queue: Any) -> None:
    found = published_state(case, case.fit(0, model))
    text = "\n".join(
        f"{path}={(leaf.tobytes() if isinstance(leaf, np.ndarray) else leaf)!r}"
        for path, leaf in sorted(found.items())
    )
    queue.put(hashlib.sha256(text.encode()).digest())


def check_seeded_fit_is_not_private(case: AuditCase) -> None:
    """A seed makes fits equal, and takes the claim away."""
    spent_of(randomised_fit(case))
    if not case.has("random_state"):
        raise NotApplicable("has no parameter random_state")
    fits = [case.fit(0, random_state=3) for _ in range(2)]
    spent = fits[0].privacy_spent_
    require(spent.claim == "not-private" and spent.reasons, "a seeded fit claims to be private")
    require(spent.noise_source == "seeded", "a seeded fit states another source of noise")
    # Times, and names drawn at random, may differ.
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
    """A second fit of one object draws its noise anew: kept noise shows what changed between two fits."""
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
