# SPDX-License-Identifier: BSD-3-Clause
"""Checks that noise is drawn anew: in every fit, in copies, in forked processes, after seeding."""

import functools
import hashlib
import multiprocessing
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from .._cases.case import AuditCase
from .._observation.controlled_runs import temporary_patches
from .._observation.fitted_objects import FlatObject, differing_paths
from .._observation.recorder import record_releases
from .._search.search import search_neighbours
from .requirements import (
    NotApplicable,
    TooWeakToTell,
    claim_of_fit,
    pickle_or_none,
    published_of_fit,
    published_state,
    randomised_fit,
    recorded_search,
    require,
    spent_of,
)

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
