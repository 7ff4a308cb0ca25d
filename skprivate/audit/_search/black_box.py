# SPDX-License-Identifier: BSD-3-Clause
"""The neighbours whose releases lie furthest apart, of estimators whose noise cannot be recorded."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._cases.case import AuditCase
from .._observation.randomness import frozen_randomness
from .deadline import Deadline
from .neighbour_chains import neighbour_chains

Read = Callable[[Any], NDArray[np.float64]]
Vector = NDArray[np.float64]

_SECONDS = {False: 1.5, True: 10.0}
# Fits of one data set that tell the spread of the noise, or choose a pair where it cannot be repeated.
_PILOT = 30


def furthest_pair(case: AuditCase, read: Read) -> tuple[Any, Any]:
    """Return two neighbours, the releases of which lie furthest apart in units of their noise.

    Handed the same randomness, two fits get the same noise, as a rule: what differs is what the rows did.
    Where fits cannot be repeated so, means of a few fits of the case's own data sets are compared.
    """
    spread = _spread(case, read)
    first, again = (_frozen(case, read, case.data_sets[0]) for _ in range(2))
    if not np.array_equal(first, again):
        return _pair_by_means(case, read, spread)
    best: tuple[tuple[float, float], tuple[Any, Any]] | None = None
    for one, other in _pairs(case, read):
        apart = _distance(one[1], other[1], spread)
        if best is None or apart > best[0]:
            best = (apart, (one[0], other[0]))
    if best is None:
        return _pair_by_means(case, read, spread)
    return best[1]


def _pairs(case: AuditCase, read: Read) -> Iterator[tuple[tuple[Any, Vector], tuple[Any, Vector]]]:
    """Yield neighbours, and what fits on them released with the same noise."""
    deadline = Deadline(_SECONDS[case.thorough])
    given = [(data, _tried(case, read, data)) for data in case.data_sets]
    for i, j in case.neighbours:
        if given[i][1] is not None and given[j][1] is not None:
            yield given[i], given[j]  # type: ignore[misc]
    if not (isinstance(case.data_sets[0], dict) and "X" in case.data_sets[0]):
        return
    for chain in neighbour_chains(case.estimator, case.data_sets[0], case.relation):
        before: tuple[Any, Vector] | None = None
        for data in chain.data_sets:
            vector = _tried(case, read, data)
            now = None if vector is None else (data, vector)
            if before is not None and now is not None:
                yield before, now
            before = now
            if deadline.has_passed:
                return


def _tried(case: AuditCase, read: Read, data: Any) -> Vector | None:
    try:
        return _frozen(case, read, data)
    except Exception:
        return None  # no claim covers failures


def _frozen(case: AuditCase, read: Read, data: Any) -> Vector:
    with frozen_randomness():
        return read(case.fit(data))


def _spread(case: AuditCase, read: Read) -> Vector:
    vectors = [read(case.fit(0)) for _ in range(_PILOT)]
    shortest = min(len(vector) for vector in vectors)
    spread = np.array([vector[:shortest] for vector in vectors]).std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _distance(one: Vector, other: Vector, spread: Vector) -> tuple[float, float]:
    size = min(len(one), len(other), len(spread))
    apart = np.abs(one[:size] - other[:size]) / spread[:size]
    return float(abs(len(one) - len(other))), float(np.max(apart, initial=0.0))


def _pair_by_means(case: AuditCase, read: Read, spread: Vector) -> tuple[Any, Any]:
    """Return the case's own pair with the means furthest apart, of a few fits that count for nothing else."""
    vectors = [[read(case.fit(k)) for _ in range(_PILOT)] for k in range(len(case.data_sets))]
    shortest = min(len(spread), *(len(vector) for fits in vectors for vector in fits))
    means = [
        np.r_[np.mean([vector[:shortest] for vector in fits], axis=0), np.mean([len(v) for v in fits])]
        for fits in vectors
    ]

    def apart(pair: tuple[int, int]) -> tuple[float, float]:
        one, other = (means[k] for k in pair)
        return abs(one[-1] - other[-1]), _distance(one[:-1], other[:-1], spread)[1]

    i, j = max(case.neighbours, key=apart)
    return case.data_sets[i], case.data_sets[j]
