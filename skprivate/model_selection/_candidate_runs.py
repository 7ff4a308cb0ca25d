# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a private search: each fits one candidate and scores it; only the best one is kept."""

import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .._config import config_context
from ..base import redact_errors
from ..exceptions import PrivateSearchError
from ..noise import check_entropy
from ..utils._atomic_state import one_thread_at_a_time
from ._candidates import Candidate, Parameters, with_post_processing
from ._scores import WRONG_SHAPE, ClassScorer, RowScorer, ScoreShapeError, ScoringRows

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
    task: SearchTask,
    drawn: Sequence[tuple[Candidate, Parameters]],
    seeds: Sequence[int | None],
    n_jobs: int | None,
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
    ours = redact_errors.__code__.co_filename in files and files[-1].startswith(_PACKAGE)
    return f"{kind}: {str(error).rstrip('.')}" if ours else kind


def _fit_and_score(
    task: SearchTask, candidate: Candidate, metadata: Parameters, seed: int | None
) -> SearchRun:
    # A candidate may be drawn twice, by two threads at once.
    model = clone(candidate.estimator)
    if seed is not None:
        _seed(model, seed)
    with sklearn.config_context(enable_metadata_routing=True):
        model.fit(task.X, task.y, **metadata)
    if task.scoring_rows.epsilon is not None and len(candidate.options) > 1:
        raise RuntimeError("a run pays for one private score")
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
