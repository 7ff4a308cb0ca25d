# SPDX-License-Identifier: BSD-3-Clause
"""Candidates of a private search: their costs, and the runs that fit and score them."""

import copy
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
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
    """The cost and the leaks of one fit of a candidate, known before the fit.

    Attributes
    ----------
    costs : tuple of PlannedCost
        Costs of its private steps.
    uncovered : dict from str to str
        Steps that will read rows without spending budget, by path, with a sentence about each.
    max_rows_per_group : int
        The largest value of its private steps.
    seeded : bool
        Whether bounds in its parameters were estimated without privacy.
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
            A private step has no epsilon that is known in advance, or there is no private step.
        ValueError
            Groups are passed and a private step takes none, or a parameter is out of range.
        """
        costs, uncovered, most = [], {}, 1
        for path, step in steps_within(estimator):
            if is_private(step):
                if grouped and not get_routing_for_object(step).consumes("fit", ["groups"]):
                    raise ValueError(
                        f"groups are passed, but {type(step).__name__} takes none: its unit of privacy would "
                        "be the row."
                    )
                costs.append(step.planned_cost(any_public))
                step._validate_params()
                most = max(most, getattr(step, "max_rows_per_group", 1))
                reason = reason_against(step, "PrivateEstimatorMixin")
            else:
                reason = reads_rows(step, any_row_fits=any_row_fits)
            if reason is not None:
                uncovered[path] = f"{path or 'the estimator'} ({type(step).__name__}) {reason}"
        if not costs:
            raise TypeError(
                f"{type(estimator).__name__} holds no private step with a planned cost. Use a plain search."
            )
        seeded = any(not bounds.spent.private for _, bounds in estimates_of(estimator))
        return cls(tuple(costs), uncovered, most, seeded)

    @property
    def cost(self) -> base.PlannedCost:
        """The sum of the costs of its steps, with relation "replace-one" or "label"."""
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
        """Refuse a fitted candidate that spent more, or claims less, than planned."""
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
            raise RuntimeError("a fit spent more or claims less than it had announced")

    def _announced(self, step: StepReport) -> bool:
        """Whether it was announced that this step, or one around it, reads rows without spending budget."""
        path = "" if step.path == "estimator" else step.path  # the whole
        if path in self.uncovered:
            # The spending of a private step was planned, even if its class is not trusted.
            return step.status != "covered"
        return any(path.startswith(f"{known} > ") for known in self.uncovered if known)


def steps_within(estimator: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield an estimator and, for containers, those inside it; paths are those of `privacy_report`."""
    yield path, estimator
    if is_container(estimator):
        for name, child in steps_of(estimator):
            yield from steps_within(child, f"{path} > {name}" if path else name)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One set of release parameters, and the free choices of a run after its fit.

    Attributes
    ----------
    estimator : estimator
        An unfitted estimator without ledger and output.
    plan : Plan
    options : tuple of (dict, dict)
        Free parameters to set after the fit, and all parameters of their entry of the grid. The estimator is
        fitted with the first option.
    removed : dict
        Parameters that were removed from the estimator for the search. They are restored afterwards.
    """

    estimator: Any
    plan: Plan
    options: tuple[tuple[Parameters, Parameters], ...]
    removed: Parameters

    def last_step(self) -> Any:
        """The step that predicts."""
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
        Only its shape and type are used.
    free_choice : bool
        Whether entries that differ in post-processing only become one candidate, since scores are free.
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
            # Every option is checked before the charge.
            Plan.of(changed, **known)
        roles = base.parameter_roles(changed, y) if free_choice else {}
        # Of all parameters: those that an entry does not name are the estimator's, not the fitted entry's.
        values = changed.get_params()
        free = {name: values[name] for name, role in roles.items() if role == "post-processing"}
        # By identity: values need be neither hashable nor comparable, and the grid keeps them alive.
        key = tuple((name, id(value)) for name, value in sorted(parameters.items()) if name not in free)
        options = entries.setdefault(key, [])
        # A repeated entry is one candidate with one option. Each option of a run is scored, and the budget
        # covers one private score.
        if free_choice or not options:
            options.append((free, parameters))
    candidates = []
    for options in entries.values():
        # The parameters in the grid do not change, since clones share nothing with other runs.
        changed = clone(clone(estimator).set_params(**options[0][1]))
        removed = _silence(changed)
        candidates.append(Candidate(changed, Plan.of(changed, **known), tuple(options), removed))
    return candidates


def _silence(estimator: Any) -> Parameters:
    """Remove and return parameters that charge, print, show the time of a single run, or change its rows."""
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
    """Name the candidate in errors about public facts."""
    with public_errors():
        try:
            yield
        except Exception as error:
            kinds = (InvalidParameterError, TypeError)
            kind = next((kind for kind in kinds if isinstance(error, kind)), ValueError)
            raise kind(f"The candidate {parameters!r} cannot be fitted: {error}") from error


def check_candidates(candidates: Iterable[Candidate], X: Any, shape: base.PublicShape) -> None:
    """Refuse, before the charge, candidates whose fits would fail for any rows.

    Parameters
    ----------
    candidates : iterable of Candidate
    X : array-like or data frame
        Only its columns are used.
    shape : PublicShape
        Shape of the training rows.

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
    """Check an estimator and those inside it; return the shape of its output."""
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
    """Return the shape of the input of one part of a ColumnTransformer; missing columns are refused."""
    if X is None or callable(choice):
        return _unnamed(shape, None)
    chosen = safe_indexing(X, [choice] if isinstance(choice, str) else choice, axis=1)
    return _unnamed(shape, 1 if len(chosen.shape) == 1 else int(chosen.shape[1]))


def with_post_processing(fitted: Any, parameters: Parameters) -> Any:
    """Return a fitted copy with other post-processing; for a pipeline, in its last step."""
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
    """Return the metadata for ``fit`` of an estimator, of those that were passed to the search.

    Parameters
    ----------
    owner : str
        Class of the search, for messages.
    estimator : estimator
    known : dict
        ``is_public`` and ``groups``. The search uses them itself, even if the estimator does not.
    others : dict
        The estimator must request them.
    """
    mapping = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner=owner).add(estimator=estimator, method_mapping=mapping)
    # A private step requests the metadata of its guarantee. In a pipeline they arrive only by routing.
    with sklearn.config_context(enable_metadata_routing=True):
        router.validate_metadata(params=dict(others), method="fit")
        routed: Parameters = router.route_params(params={**known, **others}, caller="fit").estimator.fit
    return dict(routed)


# The runs: each fits one candidate and scores it.

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_FAILED = (
    "A run of the search failed, or spent more than it had announced: {cause}. Nothing is released, and the "
    "charge stays. Fit the candidates one by one on public or simulated rows to see more. With n_jobs, "
    "estimators and scoring must survive pickling."
)


@dataclass(frozen=True, eq=False)
class SearchTask:
    """The common input of all runs.

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
    """The result of one run: score, fitted estimator and its parameters."""

    score: Fraction
    estimator: Any
    parameters: Parameters


class Failure(NamedTuple):
    """A failed run. Of its error, only the result of `_public_cause` is kept."""

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
    """Run in parallel without output: warnings and progress would reveal the number of runs."""
    try:
        with _SILENCE.block():
            return list(Parallel(n_jobs=n_jobs, verbose=0)(jobs))
    except Exception as error:  # a worker that died, something that cannot be pickled
        return [Failure(False, type(error).__name__)]


class _Silence:
    """Blocks without warnings, in threads that share their filters. The last block restores the filters.

    With `warnings.catch_warnings` in each thread, the first block to end would show the warnings of other
    runs. The last one would restore the filters that it had found, and no warning would ever be shown again.
    """

    def __init__(self) -> None:
        self._open: set[object] = set()
        self._found: warnings.catch_warnings[None] | None = None

    @contextmanager
    def block(self) -> Iterator[None]:
        """Ignore all warnings in a ``with`` block."""
        if getattr(sys.flags, "context_aware_warnings", False):
            # Python 3.14: each context has its own filters, and scikit-learn passes them to the workers.
            with warnings.catch_warnings(action="ignore"):
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
        # Another thread or process has another configuration. Seeds were announced.
        with config_context(strict=task.strict, allow_seeds=True):
            # Another process has its own filters. In threads they are shared, and already set.
            other = os.getpid() != parent
            with warnings.catch_warnings(action="ignore") if other else nullcontext():
                return _fit_and_score(task, candidate, metadata, seed)
    except Exception as error:
        return Failure(isinstance(error, ScoreShapeError), _public_cause(error))


def _public_cause(error: Exception) -> str:
    """Return the type of an error, and its message if this package wrote it: it holds no private value."""
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
        raise RuntimeError("the charge of a run covers one private score")
    candidate.plan.check_kept(model, grouped=task.grouped, seeded=task.seeded)
    entropy = check_entropy(seed)
    runs = []
    for position, (free, parameters) in enumerate(candidate.options):
        changed = with_post_processing(model, free) if position else model
        runs.append(SearchRun(task.scoring_rows.score(task.scorer, changed, entropy), changed, parameters))
    return max(runs, key=lambda run: run.score)


def _seed(model: Any, seed: int) -> None:
    """Seed everything in a model that has no seed, for a reproducible simulation."""
    generator = np.random.default_rng(seed)
    unseeded = [
        name
        for name, value in sorted(model.get_params(deep=True).items(), key=lambda item: item[0])
        if name.split("__")[-1] == "random_state" and value is None
    ]
    model.set_params(**{name: int(generator.integers(2**31 - 1)) for name in unseeded})
