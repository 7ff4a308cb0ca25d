# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a fit for scikit-learn's callbacks: the number of finished parts, and nothing about rows."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Most parts that callbacks hear of.
_MOST_PARTS = 100


@contextmanager
def progress(estimator: Any, part: str, n_parts: int | None) -> Iterator[Callable[[], None]]:
    """Tell an estimator's callbacks that its fit has begun, which parts are done, and that it has ended.

    Parameters
    ----------
    estimator : estimator
        With scikit-learn's ``CallbackSupportMixin``, and a fit in `private_fit`, which ends callbacks.
    part : str
        What a part is called.
    n_parts : int or None
        Their number, public or made of released values. None: it will turn out. Of more than a hundred,
        a hundred at most are told of.

    Yields
    ------
    done : callable
        To be called after every part.

    Notes
    -----
    **Privacy**: callbacks are passed no rows, targets or metadata, and what they ask for is ignored: a fit
    that stops when a callback says so would have spent its budget for nothing. They do get the estimator,
    with what its last fit left, and they run in the process that holds the rows.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from skprivate.utils._progress import progress
    >>> with progress(BaseEstimator(), "round", 3) as done:
    ...     for _ in range(3):
    ...         done()
    """
    # Its own callbacks, or those of the search that fits it.
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        yield lambda: None
        return
    every = 1 if n_parts is None else max(1, -(-n_parts // _MOST_PARTS))
    n_told = None if n_parts is None else -(-n_parts // every)
    context = estimator._init_callback_context(max_subtasks=n_told)
    context.call_on_fit_task_begin(estimator=estimator)
    count = itertools.count(1)

    def done() -> None:
        n_done = next(count)
        if n_done % every == 0 or n_done == n_parts:
            told = context.subcontext(task_name=part)
            told.call_on_fit_task_begin(estimator=estimator)
            told.call_on_fit_task_end(estimator=estimator)

    yield done
    context.call_on_fit_task_end(estimator=estimator)
