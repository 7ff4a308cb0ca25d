# SPDX-License-Identifier: BSD-3-Clause
"""Checks of how an estimator behaves: fresh noise, honest accounts, declared domains."""

import dataclasses
import functools
import hashlib
import inspect
import multiprocessing
import pickle
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ...accounting import PrivacyLedger
from ...base import PrivateEstimatorMixin, privacy_report
from ...exceptions import BudgetExceededError
from .._fuzz import NothingRecordedError, sensitivity_fuzz
from .._neighbours import AuditCase, fit_with, with_unit, without_unit
from .._observation.object_walk import Leaves, differences, leaves, leaves_of
from .._observation.patches import replacements
from .._observation.recorder import record_releases
from .._search.search import search_neighbours
from .limits import NotApplicable
from .release_checks import claim_of, pickled, published, recorded, require, some, spent_of

# Fits that may be equal by chance before it is no chance any more.
_MOST_EQUAL_FITS = 40
# More than the cores that are needed: children of one moment must differ, too.
_CHILDREN = 4
# Numbers whose noise is the same by chance with a probability below 1e-9, at epsilon 1.5.
_MANY_NUMBERS = 24
_DOMAIN = ("bounds", "bounds_X", "bounds_y", "x_norm", "classes")


def is_random(case: AuditCase) -> Any:
    """Return a fitted model; skips where fits are not meant to be random."""
    model = case.fit(0)
    claim_of(case, model)
    mine = published(case, model)
    if case.unrelated_data_sets and not any(
        differences(mine, published(case, case.fit(d))) for d in case.unrelated_data_sets
    ):
        raise NotApplicable("releases the same, whatever the rows are: there is nothing to hide")
    return model


def check_noise_is_fresh(case: AuditCase) -> None:
    """Fits without a seed differ, whatever ``np.random.seed`` was told."""
    model = is_random(case)
    require(
        _some_differ(lambda: published(case, case.fit(0))), "fits without a seed are equal: there is no noise"
    )
    differ = _some_differ(functools.partial(_fit_after_seeding_numpy, case))
    require(differ, "np.random.seed or random.seed makes fits equal: anyone can repeat the noise")
    if claim_of(case, model) and getattr(getattr(model, "privacy_spent_", None), "claim", None) == "dp":
        require(not case.record(0)[1].seeded, "the noise does not come from the operating system")


def _fit_after_seeding_numpy(case: AuditCase) -> Leaves:
    with replacements() as undo:
        undo.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
        undo.callback(random.setstate, random.getstate())
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        return published(case, case.fit(0))


def check_copies_repeat_nothing(case: AuditCase) -> None:
    """Copies of one unfitted estimator, by pickle and by clone, draw other noise."""
    is_random(case)
    original = case.make()
    content = pickled(original)
    if content is None:
        raise NotApplicable("cannot be pickled")
    for copy in (lambda: pickle.loads(content), lambda: clone(original)):
        differ = _some_differ(functools.partial(_leaves_of_copy, case, copy))
        require(differ, "copies of one estimator draw the same noise")


def _leaves_of_copy(case: AuditCase, copy: Callable[[], Any]) -> Leaves:
    return published(case, case.fit(0, copy()))


def _some_differ(fit: Callable[[], Leaves]) -> bool:
    first = fit()
    return any(differences(first, fit()) for _ in range(_MOST_EQUAL_FITS))


def check_fork_repeats_nothing(case: AuditCase) -> None:
    """Forked processes that fit one object draw other noise, and other noise than their parent."""
    is_random(case)
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
    raise AssertionError("forked processes draw the same noise")


def _fit_in_children(case: AuditCase, model: Any) -> Iterator[bytes]:
    context = multiprocessing.get_context("fork")
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
    found = published(case, case.fit(0, model))
    text = "\n".join(f"{path}={_bytes_of(leaf)!r}" for path, leaf in sorted(found.items()))
    queue.put(hashlib.sha256(text.encode()).digest())


def _bytes_of(leaf: Any) -> Any:
    return leaf.tobytes() if isinstance(leaf, np.ndarray) else leaf


def check_seeded_fit_is_not_private(case: AuditCase) -> None:
    """A seed makes fits equal, and takes the claim away."""
    spent_of(is_random(case))
    if not case.has("random_state"):
        raise NotApplicable("has no parameter random_state")
    fits = [case.fit(0, random_state=3) for _ in range(2)]
    spent = fits[0].privacy_spent_
    require(spent.claim == "not-private" and spent.reasons, "a seeded fit claims to be private")
    require(spent.noise_source == "seeded", "a seeded fit states another source of noise")
    # Times, and names drawn at random, may differ.
    numbers = [
        {path: leaf for path, leaf in published(case, one).items() if np.asarray(leaf).dtype.kind == "f"}
        for one in fits
    ]
    paths = set(differences(*map(Leaves, numbers))) - search_neighbours(case).unsteady
    require(not paths, "fits with one seed differ: noise from elsewhere")
    with np.errstate(all="ignore"):
        shared = case.fit(0, random_state=np.random.default_rng(3))
    require(shared.privacy_spent_.claim == "not-private", "a fit with a generator claims to be private")


def check_parameters_unchanged(case: AuditCase) -> None:
    """``fit`` writes no parameter and returns the object itself."""
    model = case.make()
    before = leaves(model.get_params(deep=False))
    fitted = case.fit(0, model)
    require(fitted is model, "fit does not return self")
    paths = differences(Leaves(before), Leaves(leaves(model.get_params(deep=False))))
    require(not paths, f"fit changes parameters: {some(paths)}")


@contextmanager
def ledger_of(case: AuditCase, **options: Any) -> Iterator[PrivacyLedger]:
    """Yield a ledger in a folder of its own; skips where the estimator takes none."""
    spent_of(case.fit(0))
    if not case.has("ledger"):
        raise NotApplicable("has no parameter ledger")
    with tempfile.TemporaryDirectory() as folder:
        yield PrivacyLedger(Path(folder, "audit.ledger"), **options)


def check_refit_spends_again(case: AuditCase) -> None:
    """Every fit of one object is charged, before noise is drawn; a refusal changes nothing."""
    with ledger_of(case) as ledger:
        model = case.make(ledger=ledger)
        cost = case.fit(0, model).privacy_spent_.epsilon
        require(ledger.spent()[0] == cost, "the ledger was not charged what privacy_spent_ states")
        case.fit(0, model)
        require(ledger.spent()[0] == 2 * cost, "fitting again is not charged: an unpaid refit")
    with ledger_of(case, epsilon=cost, delta=model.privacy_spent_.delta) as ledger:
        model = case.fit(0, case.make(ledger=ledger))
        before = leaves_of(model)
        try:
            with (case.recorder or record_releases)(None) as recording:
                case.fit(0, model)
        except BudgetExceededError:
            require(not recording.releases, "noise was drawn before the ledger was asked")
            require(not differences(before, leaves_of(model)), "a refused fit changed the object")
            return
    raise AssertionError("a fit beyond the ledger's ceiling went through")


def check_refits_draw_again(case: AuditCase) -> None:
    """A second fit of one object draws its noise anew: kept noise shows what changed between two fits."""
    recorded(case)
    model, recordings = case.make(), []
    for data in (case.data_sets[0], case.data_sets[-1]):
        with (case.recorder or record_releases)(None) as recording:
            case.listen(data, model)
        recordings.append(recording)
    require(len(recordings[1].releases) > 0, "a second fit of the same object draws no noise")
    same = all(
        one.scale is not None and np.array_equal(one.output - one.exact, other.output - other.exact)
        for one, other in zip(recordings[0].releases, recordings[1].releases, strict=False)
        if one.exact.shape == other.exact.shape
    )
    several = sum(one.exact.size for one in recordings[0].releases) >= _MANY_NUMBERS
    require(not (same and several), "a second fit of the same object draws the same noise")


def check_partial_fit_spends(case: AuditCase) -> None:
    """Every call of ``partial_fit`` that draws noise is charged."""
    rows = case.data_sets[0]
    with ledger_of(case) as ledger:
        if not hasattr(case.estimator, "partial_fit"):
            raise NotApplicable("has no partial_fit")
        model = case.make(ledger=ledger)
        for call in range(1, 3):
            with (case.recorder or record_releases)(None) as recording:
                fit_with(model, rows, "partial_fit")
            paid = len(ledger.entries()) == call
            require(paid or not recording.releases, "partial_fit draws noise that is not charged")


def check_ledger_total(case: AuditCase) -> None:
    """A ledger counts every fit of clones, pipelines and searches, in threads and in other processes."""
    rows = {name: value for name, value in case.data_sets[0].items() if name in ("X", "y")}
    if "X" not in rows:
        raise NotApplicable("fit takes no rows")
    for wrap in (clone, lambda model: Pipeline([("rows", FunctionTransformer()), ("model", model)])):
        with ledger_of(case) as ledger:
            fit_quietly(wrap(case.make(ledger=ledger)), rows)
            require(len(ledger.entries()) == 1, "a clone or a pipeline is not charged")
    if not hasattr(case.estimator, "score"):
        return
    for backend in ("threading", "loky"):
        with ledger_of(case) as ledger, parallel_config(backend=backend):
            search = GridSearchCV(case.make(ledger=ledger), {"ledger": [ledger]}, cv=2, n_jobs=2)
            fit_quietly(search, rows)
            cost = search.best_estimator_.privacy_spent_.epsilon
            entries = ledger.entries()
            require(len(entries) == 3, f"a search of 3 fits wrote {len(entries)} entries ({backend})")
            require(sum(entry.epsilon for entry in entries) == 3 * cost, "a search was not charged in full")


def fit_quietly(model: Any, rows: dict[str, Any]) -> Any:
    """Fit without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_with(model, rows)


def check_domain_is_declared(case: AuditCase) -> None:
    """Without declared bounds or classes a fit says that it leaks, refuses, or reads nothing from rows."""
    known = case.estimator.get_params(deep=False) if hasattr(case.estimator, "get_params") else {}
    declared = [name for name in _DOMAIN if known.get(name) is not None]
    for names in [*([name] for name in declared), *([declared] if len(declared) > 1 else [])]:
        undeclared = dataclasses.replace(case, estimator=case.make(**dict.fromkeys(names)))
        try:
            model, said = undeclared.listen(0)
        except (ValueError, TypeError):
            continue
        spent = getattr(model, "privacy_spent_", None)
        warned = any("PrivacyLeak" in message for message in said)
        agree = spent is None or warned == (spent.claim != "dp")
        require(agree, "the leak warning and the claim disagree")
        if not warned:
            _require_equal_domains(undeclared, f"without {', '.join(names)}")
    _require_equal_domains(case, "as declared")


def _require_equal_domains(case: AuditCase, when: str) -> None:
    """No attribute that describes the domain may depend on private rows."""
    names = ("bounds_", "bounds_y_", "classes_", "n_classes_", "partition_")
    model = case.fit(0)
    published(case, model)
    mine = {name: getattr(model, name) for name in names if hasattr(model, name)}
    for k in range(1, len(case.data_sets)):
        other = case.fit(k)
        paths = differences(mine, {name: getattr(other, name, None) for name in mine})
        require(not paths, f"{when}, the domain was read from private rows silently: {some(paths)}")


def check_sample_weight(case: AuditCase) -> None:
    """``fit`` takes no weights, or bounds what a heavy row can do."""
    if "sample_weight" not in inspect.signature(type(case.estimator).fit).parameters:
        return
    rows = [dict(data, sample_weight=np.ones(len(data["X"]))) for data in case.data_sets[-3:]]
    heavy = [with_unit(data, sample_weight=weight) for data in rows for weight in (1e6, -1e6)]
    pairs = None
    if case.relation == "add-remove":
        rows, pairs = [without_unit(rows[-1])], tuple((0, k + 1) for k in range(len(heavy)))
    weighted = dataclasses.replace(case, data_sets=(*rows, *heavy), pairs=pairs, unrelated_data_sets=())
    try:
        fuzz = sensitivity_fuzz(weighted)
    except (ValueError, TypeError) as error:
        if isinstance(error, NothingRecordedError):
            raise NotApplicable("takes sample_weight, and its noise cannot be recorded") from None
        return
    require(fuzz.passed, f"sample_weight is not bounded: {fuzz}")


def check_pipeline_steps(case: AuditCase) -> None:
    """Nothing inside the fitted object read rows without paying; in front of it, it is named."""
    model = case.fit(0)
    if not getattr(model, "releases_state", True):
        raise NotApplicable("releases_state is False: privacy_report says that it holds rows")
    report = privacy_report(model)
    unpaid = [str(step) for step in report.unpaid if step.path != "estimator"]
    inner = [f"{name} ({type(one).__name__})" for name, one in fitted_inside(model)]
    require(not unpaid, f"steps that read rows without paying: {'; '.join(unpaid)}")
    require(not inner, f"estimators inside that read rows without paying: {', '.join(inner)}")
    rows = {name: value for name, value in case.data_sets[0].items() if name in ("X", "y")}
    behind = fit_quietly(Pipeline([("scaler", StandardScaler()), ("model", case.make())]), rows)
    named = {step.estimator for step in privacy_report(behind).unpaid}
    require("StandardScaler" in named, "a StandardScaler in front is not named by privacy_report")


def fitted_inside(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield fitted estimators on a private one that are neither private nor known to learn nothing."""
    if not isinstance(model, PrivateEstimatorMixin):
        return
    for name, value in vars(model).items():
        if isinstance(value, BaseEstimator) and name.endswith("_") and privacy_report(value).unpaid:
            yield name, value


CHECKS: tuple[Callable[[AuditCase], None], ...] = (
    check_noise_is_fresh,
    check_copies_repeat_nothing,
    check_fork_repeats_nothing,
    check_seeded_fit_is_not_private,
    check_parameters_unchanged,
    check_refit_spends_again,
    check_refits_draw_again,
    check_partial_fit_spends,
    check_ledger_total,
    check_domain_is_declared,
    check_sample_weight,
    check_pipeline_steps,
)
