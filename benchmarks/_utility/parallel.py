# SPDX-License-Identifier: BSD-3-Clause
"""Calls by several processes: as many as N_JOBS in the environment says."""

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from joblib import Parallel, delayed

Result = TypeVar("Result")


def in_parallel(task: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]) -> list[Result]:
    """Return the results of a function at each tuple of arguments, in order."""
    jobs = (delayed(task)(*each) for each in arguments)
    return list(Parallel(n_jobs=int(os.environ.get("N_JOBS", "1")))(jobs))
