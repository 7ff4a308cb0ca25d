# SPDX-License-Identifier: BSD-3-Clause
"""Candidates of a private search: what they cost, and the runs that fit and score them."""

import copy
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed

from .. import base
from .._config import config_context
from ..accounting import PrivacyLedger, StepReport
from ..base._pipeline_report import estimates_of, is_container, is_private, last_step, reads_rows, steps_of
from ..exceptions import PrivateSearchError
from ..noise import check_entropy
from ..utils._compat import InvalidParameterError, safe_indexing
from ..utils._private_fit import one_thread_at_a_time, public_errors
from ..utils._public_module import reason_against
from ._scoring import WRONG_SHAPE, ClassScorer, RowScorer, ScoreShapeError, ScoringRows

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What one fit of a candidate will do, known before it is made.

    Attributes
    ----------
    costs : tuple of PlannedCost
        Of its private steps.
    uncovered : dict from str to str
        Steps that will read rows without paying, by path, and a sentence about each.
    max_rows_per_group : int
        The largest of its private steps.
    seeded : bool
        Whether bounds that it is given were estimated without privacy.
    """

    costs: tuple[base.PlannedCost, ...]
    uncovered: Mapping[str, str]
    max_rows_per_group: int
    seeded: bool = False

    @classmethod
    def of(cls, estimator: Any, *, any_public: bool, grouped: bool, any_row_fits: bool = True) -> "Plan":
        """Walk an unfitted estimator; `any_row_fits` as in `reads_rows`.

        Raises
        ------
        TypeError
            A step is private in another way than by an epsilon known in advance, or no step has one.
        ValueError
            Groups are passed, and a private step takes none; or a parameter is out of range.
        """
        costs, uncovered, most = [], {}, 1
        for path, step in steps_within(estimator):
            if is_private(step):
                costs.append(_cost(step, any_public, grouped))
                most = max(most, getattr(step, "max_rows_per_group", 1))
                reason = reason_against(step, "PrivateEstimatorMixin")
            else:
                reason = reads_rows(step, any_row_fits=any_row_fits)
            if reason is not None:
                uncovered[path] = f"{path or 'the estimator'} ({type(step).__name__}) {reason}"
        if not costs:
            raise TypeError(
                f"{type(estimator).__name__} holds no private estimator that states its cost, so there is "
                "nothing to search privately; a plain search does as much."
            )
        seeded = any(not bounds.spent.private for _, bounds in estimates_of(estimator))
        return cls(tuple(costs), uncovered, most, seeded)

    @property
    def cost(self) -> base.PlannedCost:
        """The sum of its steps' costs, in terms of a replaced unit."""
        parts = [cost.against_replacement() for cost in self.costs]
        # Replacing a whole row may change more than a label.
        label = any(part.relation == "label" for part in parts)
        return base.PlannedCost(
            epsilon=sum((part.epsilon for part in parts), Fraction(0)),
            delta=sum((part.delta for part in parts), Fraction(0)),
            relation="label" if label else "replace-one",
            leaks=(*(leak for part in parts for leak in part.leaks), *self.uncovered.values()),
            seeded=self.seeded or any(part.seeded for part in parts),
        )

    def check_kept(self, fitted: Any, *, grouped: bool, seeded: bool) -> None:
        """Refuse a fitted candidate that spent more, or claims less, than was planned."""
        found = base.privacy_report(fitted).steps
        steps = [step for step in found if step.status != "covered before" and not self._announced(step)]
        spent = [step.spent for step in steps if step.spent is not None]
        kept = (
            not any(step.status == "uncovered" for step in steps)
            and sum(part.epsilon for part in spent) <= sum(cost.epsilon for cost in self.costs)
            and sum(part.delta for part in spent) <= sum(cost.delta for cost in self.costs)
            and {part.relation for part in spent} <= {cost.relation for cost in self.costs}
            and (seeded or self.cost.seeded or bool(self.cost.leaks) or all(part.private for part in spent))
            and (not grouped or all(part.unit == "group" for part in spent))
        )
        if not spent or not kept:
            raise RuntimeError("a fit did something else than it had announced")

    def _announced(self, step: StepReport) -> bool:
        """Whether this step, or one that it stands in, was to read rows without paying."""
        path = "" if step.path == "estimator" else step.path  # the whole
        if path in self.uncovered:
            # What a private step spends was planned, even where its class is not trusted with more.
            return step.status != "covered"
        return any(path.startswith(f"{known} > ") for known in self.uncovered if known)


def _cost(step: Any, any_public: bool, grouped: bool) -> base.PlannedCost:
    name = type(step).__name__
    if grouped and not get_routing_for_object(step).consumes("fit", ["groups"]):
        raise ValueError(f"groups are passed, but {name} takes none: its guarantee would be about rows.")
    cost: base.PlannedCost = step.planned_cost(any_public)
    step._validate_params()
    return cost


def steps_within(estimator: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield an estimator and, in containers, what stands in it; paths are those of `privacy_report`."""
    yield path, estimator
    if is_container(estimator):
        for name, child in steps_of(estimator):
            yield from steps_within(child, f"{path} > {name}" if path else name)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One set of release parameters, and the free choices that a run makes after its fit.

    Attributes
    ----------
    estimator : estimator
        Unfitted, without ledger, silent.
    plan : Plan
    options : tuple of (dict, dict)
        Free parameters to be set after the fit, and all parameters of the grid's entry that they stand for.
        The first option is what the estimator is fitted with.
    removed : dict
        Parameters that were taken from the estimator for the search, and will be given back.
    """

    estimator: Any
    plan: Plan
    options: tuple[tuple[Parameters, Parameters], ...]
    removed: Parameters

    def last_step(self) -> Any:
        """What predicts."""
        return last_step(self.estimator)


def make_candidates(
    estimator: Any,
    grid: Sequence[Parameters],
    y: Any,
    *,
    free_choice: bool,
    any_public: bool,
    grouped: bool,
    any_row_fits: bool = True,
) -> list[Candidate]:
    """Return the candidates of a grid.

    Parameters
    ----------
    estimator : estimator
    grid : list of dict
    y : array-like
        Only its form is looked at.
    free_choice : bool
        Whether entries that differ in post-processing only become one candidate: scores cost nothing.
    any_public, grouped : bool
        Whether public rows, and groups, are passed to the fits.
    any_row_fits : bool, default=True
        Whether any row fits into the table that is passed, see `reads_rows`.
    """
    known = {"any_public": any_public, "grouped": grouped, "any_row_fits": any_row_fits}
    entries: dict[Any, list[tuple[Parameters, Parameters]]] = {}
    for parameters in grid:
        with named(parameters):
            changed = clone(estimator).set_params(**parameters)
            # Every option is checked before anything is paid for.
            Plan.of(changed, **known)
        roles = base.parameter_roles(changed, y) if free_choice else {}
        # All of them: what an entry does not name is the estimator's own, not that of the entry fitted.
        values = changed.get_params()
        free = {name: values[name] for name, role in roles.items() if role == "post-processing"}
        # By identity: values need be neither hashable nor comparable, and the grid keeps them alive.
        key = tuple((name, id(value)) for name, value in sorted(parameters.items()) if name not in free)
        options = entries.setdefault(key, [])
        # An entry that comes twice is one candidate with one option: each option of a run is scored, and a
        # private score is paid for once.
        if free_choice or not options:
            options.append((free, parameters))
    candidates = []
    for options in entries.values():
        # The parameters themselves stay as they are in the grid: clones share nothing with other runs.
        changed = clone(clone(estimator).set_params(**options[0][1]))
        removed = _silence(changed)
        candidates.append(Candidate(changed, Plan.of(changed, **known), tuple(options), removed))
    return candidates


def _silence(estimator: Any) -> Parameters:
    """Take away what would charge, print or tell the time of a single run, or change its rows; return it."""
    parameters = estimator.get_params(deep=True)
    instead: Parameters = {}
    for name, value in parameters.items():
        last = name.split("__")[-1]
        if isinstance(value, PrivacyLedger):
            instead[name] = None
        # The next run gets the same rows.
        elif (last == "verbose" and value) or (last == "copy" and value is False):
            instead[name] = last == "copy"
    removed = {name: parameters[name] for name in instead}
    estimator.set_params(**instead)
    for part in (estimator, *parameters.values()):
        if hasattr(part, "set_callbacks"):
            part.set_callbacks()
    return removed


@contextmanager
def named(parameters: Parameters) -> Iterator[None]:
    """Say which candidate it is that has a public defect."""
    with public_errors():
        try:
            yield
        except Exception as error:
            kinds = (InvalidParameterError, TypeError)
            kind = next((kind for kind in kinds if isinstance(error, kind)), ValueError)
            raise kind(f"The candidate {parameters!r} cannot be fitted: {error}") from error


def check_candidates(candidates: Iterable[Candidate], X: Any, shape: base.PublicShape) -> None:
    """Refuse candidates whose fits would fail whatever the rows hold, before anything is paid for.

    Parameters
    ----------
    candidates : iterable of Candidate
    X : array-like or data frame
        Only its columns are looked at.
    shape : PublicShape
        Of the training rows.

    Raises
    ------
    TypeError, ValueError
        With the parameters of the first such candidate, and the reason.
    """
    for one in candidates:
        for free, parameters in one.options:
            with named(parameters):
                _check_step(clone(one.estimator).set_params(**free), X, shape)


def _check_step(step: Any, X: Any, shape: base.PublicShape) -> base.PublicShape:
    """Check an estimator and what stands in it; return the shape of what it hands on."""
    children = steps_of(step) if is_container(step) else []
    if type(step) is Pipeline:
        for _, child in children:
            after = _check_step(child, X, shape)
            X, shape = (X, shape) if after is shape else (None, after)
        return shape
    columns = {entry[0]: entry[2] for entry in step.transformers} if type(step) is ColumnTransformer else {}
    for name, child in children:
        _check_step(child, None, _shape_of_columns(columns[name], X, shape) if name in columns else shape)
    if not children:
        if hasattr(step, "_parameter_constraints"):
            step._validate_params()
        if hasattr(step, "check_public"):
            step.check_public(shape)
    keeps = isinstance(step, OneToOneFeatureMixin | base.PrivateEstimatorMixin)
    return _unnamed(shape, shape.n_features if keeps else None)


def _unnamed(shape: base.PublicShape, n_features: int | None) -> base.PublicShape:
    return replace(shape, n_features=n_features, feature_names=None, names_known=False)


def _shape_of_columns(choice: Any, X: Any, shape: base.PublicShape) -> base.PublicShape:
    """Shape of what one part of a ColumnTransformer takes; columns that are not there are refused."""
    if X is None or callable(choice):
        return _unnamed(shape, None)
    chosen = safe_indexing(X, [choice] if isinstance(choice, str) else choice, axis=1)
    return _unnamed(shape, 1 if len(chosen.shape) == 1 else int(chosen.shape[1]))


def with_post_processing(fitted: Any, parameters: Parameters) -> Any:
    """Return a fitted copy with other post-processing; of a pipeline, in its last step."""
    if not parameters:
        return fitted
    if not isinstance(fitted, Pipeline):
        return fitted.post_processed(parameters)
    name, last = fitted.steps[-1]
    inner = {key.removeprefix(f"{name}__"): value for key, value in parameters.items()}
    changed = copy.copy(fitted)
    changed.steps = [*fitted.steps[:-1], (name, with_post_processing(last, inner))]
    return changed


def route_metadata(owner: str, estimator: Any, known: Parameters, others: Parameters) -> Parameters:
    """Return what an estimator's ``fit`` is given of the metadata passed to the search.

    Parameters
    ----------
    owner : str
        Class of the search, for messages.
    estimator : estimator
    known : dict
        ``is_public`` and ``groups``: the search uses them itself, whether or not the estimator does.
    others : dict
        Must be asked for by the estimator.
    """
    mapping = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner=owner).add(estimator=estimator, method_mapping=mapping)
    # A private step asks for what its guarantee is about; in a pipeline only routing takes it there.
    with sklearn.config_context(enable_metadata_routing=True):
        router.validate_metadata(params=dict(others), method="fit")
        routed: Parameters = router.route_params(params={**known, **others}, caller="fit").estimator.fit
    return dict(routed)


# The runs: each fits one candidate and scores it.

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_FAILED = (
    "A run of the search failed, or spent more than it had announced: {cause}. Nothing is released, and the "
    "charge stays. Fit the candidates one by one on public or simulated rows to see more; with n_jobs, "
    "estimators and scoring must survive pickling."
)


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What is the same in every run.

    Attributes
    ----------
    X, y : array-like
        Training rows.
    scoring_rows : ScoringRows
    scorer : callable or ClassScorer
    grouped, seeded, strict : bool
    """

    X: Any
    y: Any
    scoring_rows: ScoringRows
    scorer: RowScorer | ClassScorer
    grouped: bool
    seeded: bool
    strict: bool = False


class SearchRun(NamedTuple):
    """What one run hands on: score, fitted estimator and the parameters that made it."""

    score: Fraction
    estimator: Any
    parameters: Parameters


class Failure(NamedTuple):
    """A run that failed: of its error no more is kept than `_public_cause` tells."""

    of_shape: bool
    cause: str


def best_run(
    task: SearchTask, drawn: list[tuple[Candidate, Parameters]], seeds: list[int | None], n_jobs: int | None
) -> tuple[SearchRun, Candidate]:
    """Make every run, and return the first of those with the highest score.

    Raises
    ------
    PrivateSearchError
        Any of them failed.
    ValueError
        The scores had a wrong shape.
    """
    calls = zip(drawn, seeds, strict=True)
    jobs = (delayed(_perform)(task, *candidate, seed, os.getpid()) for candidate, seed in calls)
    runs = _in_silence(jobs, n_jobs)
    failures = [run for run in runs if isinstance(run, Failure)]
    if any(failure.of_shape for failure in failures):
        raise ScoreShapeError(WRONG_SHAPE)
    if failures or not runs:
        cause = failures[0].cause if failures else "a worker died"
        raise PrivateSearchError(_FAILED.format(cause=cause))
    winner = max(range(len(runs)), key=lambda run: runs[run].score)
    return runs[winner], drawn[winner][0]


def _in_silence(jobs: Iterable[Any], n_jobs: int | None) -> list[Any]:
    """Run in parallel without a word: warnings and progress would count the runs."""
    try:
        with _SILENCE.block():
            return list(Parallel(n_jobs=n_jobs, verbose=0)(jobs))
    except Exception as error:  # a worker that died, something that cannot be pickled
        return [Failure(False, type(error).__name__)]


class _Silence:
    """Blocks without warnings, of threads that share their filters: the last that ends restores them.

    With `warnings.catch_warnings` in each, the first that ended would show the warnings of the others' runs;
    the last would restore what it had found, and no warning would ever be shown again.
    """

    def __init__(self) -> None:
        self._open: set[object] = set()
        self._found: warnings.catch_warnings[None] | None = None

    @contextmanager
    def block(self) -> Iterator[None]:
        """Ignore all warnings for the length of a ``with`` block."""
        if getattr(sys.flags, "context_aware_warnings", False):
            # Python 3.14: each context has filters of its own, and scikit-learn hands them on to the workers.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
            return
        block = object()
        try:
            self._enter(block)
            yield
        finally:
            self._leave(block)

    @one_thread_at_a_time
    def _enter(self, block: object) -> None:
        self._open.add(block)
        if self._found is None:
            found = warnings.catch_warnings()
            found.__enter__()
            self._found = found
        warnings.simplefilter("ignore")

    @one_thread_at_a_time
    def _leave(self, block: object) -> None:
        self._open.discard(block)
        if not self._open and self._found is not None:
            found, self._found = self._found, None
            found.__exit__(None, None, None)


_SILENCE = _Silence()


def _perform(
    task: SearchTask, candidate: Candidate, metadata: Parameters, seed: int | None, parent: int
) -> SearchRun | Failure:
    """Fit and score one candidate; errors and warnings stay here."""
    try:
        # Another thread or process has another configuration; that there are seeds was announced.
        with config_context(strict=task.strict, allow_seeds=True):
            if os.getpid() == parent:
                return _fit_and_score(task, candidate, metadata, seed)
            # Another process has its own filters; in threads they are shared, and set already.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _fit_and_score(task, candidate, metadata, seed)
    except Exception as error:
        return Failure(isinstance(error, ScoreShapeError), _public_cause(error))


def _public_cause(error: Exception) -> str:
    """Type of an error; its message too where we wrote it, for a fit: those hold no private value."""
    kind = type(error).__name__
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = base.redact_errors.__code__.co_filename in files and files[-1].startswith(_PACKAGE)
    return f"{kind}: {str(error).rstrip('.')}" if ours else kind


def _fit_and_score(task: SearchTask, candidate: Candidate, routed: Parameters, seed: int | None) -> SearchRun:
    # A candidate may be drawn twice, by two threads at once.
    model = clone(candidate.estimator)
    if seed is not None:
        _seed(model, seed)
    with sklearn.config_context(enable_metadata_routing=True):
        model.fit(task.X, task.y, **routed)
    if task.scoring_rows.epsilon is not None and len(candidate.options) > 1:
        raise RuntimeError("a run is charged for one private score")
    candidate.plan.check_kept(model, grouped=task.grouped, seeded=task.seeded)
    entropy = check_entropy(seed)
    runs = []
    for position, (free, parameters) in enumerate(candidate.options):
        changed = with_post_processing(model, free) if position else model
        runs.append(SearchRun(task.scoring_rows.score(task.scorer, changed, entropy), changed, parameters))
    return max(runs, key=lambda run: run.score)


def _seed(model: Any, seed: int) -> None:
    """Seed everything in a model that has no seed of its own: a reproducible simulation."""
    generator = np.random.default_rng(seed)
    unseeded = [
        name
        for name, value in sorted(model.get_params(deep=True).items(), key=lambda item: item[0])
        if name.split("__")[-1] == "random_state" and value is None
    ]
    model.set_params(**{name: int(generator.integers(2**31 - 1)) for name in unseeded})
