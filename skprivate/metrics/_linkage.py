# SPDX-License-Identifier: BSD-3-Clause
"""Record linkage score: the share of perturbed responses that distance links to their party."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..utils._private_fit import redact_errors
from ..utils._table_validation import check_array

FloatArray = NDArray[np.float64]

#: Values that are sorted at once, with their indices and distances: some tens of megabytes.
CHUNK = 1 << 19


@redact_errors
def record_linkage_score(responses: ArrayLike, swapped: ArrayLike) -> float:
    """Return the share of perturbed responses that distance links to the party that gave them.

    Within a query, the perturbed response of party i is linked if the party's own response is at most as far
    from it as the second nearest of all responses; ties count as linked. The share is averaged over queries.

    Parameters
    ----------
    responses : array-like of shape (n_queries, n_parties)
        What the parties answered, in the units that were perturbed.
    swapped : array-like of shape (n_queries, n_parties)
        What came out in each party's place.

    Returns
    -------
    score : float
        In percent, from 0 to 100; lower is better protected. With one party it is 100.

    Raises
    ------
    ValueError
        The shapes do not agree, or a value is not a finite number.

    See Also
    --------
    correct_orientation_score : The same question about the columns of queries.
    skprivate.collaborative.BSTDAggregator : Swaps responses.

    Notes
    -----
    If every row of `swapped` is a permutation of the row of `responses`, no two responses to a query are
    equal and none moves to a neighbouring rank (``p_lower`` of at least 2), then the score is the share of
    responses that kept their value: one that moved is nearest to itself, then to one of its two neighbours
    by rank, and further from all others.

    **Privacy.** The score is an exact function of the responses: it is for those who hold them. It measures
    one attack on one query; it is not differential privacy.

    References
    ----------
    Lin, Liu and Wang, Striking the perfect balance: preserving privacy while boosting utility in
    collaborative medical prediction platforms, Definition 4; within a query, over its responses.

    Examples
    --------
    Party 1 kept its value and two parties swapped theirs:

    >>> from skprivate.metrics import record_linkage_score
    >>> score = record_linkage_score([[1.0, 2.0, 3.0]], [[3.0, 2.0, 1.0]])
    >>> round(score, 2)
    33.33
    """
    true, sent = (check_array(table, dtype=np.float64) for table in (responses, swapped))
    if true.shape != sent.shape:
        raise ValueError("responses and swapped must have the same shape.")
    step = max(1, CHUNK // true.shape[1])
    n_linked = sum(
        _count_linked(true[start : start + step], sent[start : start + step])
        for start in range(0, len(true), step)
    )
    return 100.0 * n_linked / true.size


def _count_linked(true: FloatArray, sent: FloatArray) -> int:
    # Left without one that attains the least distance, the least is the second least of all, ties included.
    return int(np.count_nonzero(np.abs(sent - true) <= _second_nearest(true, sent)))


def _second_nearest(true: FloatArray, sent: FloatArray) -> FloatArray:
    """Distance of every sent value to the second nearest of its row's true values; infinite without one."""
    # Rounding keeps the order of distances, so that the two nearest are among two neighbours on each side.
    ends = np.full((len(true), 2), np.inf)
    padded = np.concatenate([-ends, np.sort(true, axis=1), ends], axis=1)
    places = _insertion_points(true, sent)
    distances = np.stack(
        [np.abs(np.take_along_axis(padded, places + shift, axis=1) - sent) for shift in range(4)]
    )
    return np.partition(distances, 1, axis=0)[1]


def _insertion_points(true: FloatArray, sent: FloatArray) -> NDArray[np.intp]:
    """How many of its row's sorted true values stand before every sent value; among equal ones any number."""
    m = true.shape[1]
    order = np.argsort(np.concatenate([true, sent], axis=1), axis=1)
    counts = np.cumsum(order < m, axis=1)
    places = np.empty_like(counts)
    np.put_along_axis(places, order, counts, axis=1)
    return places[:, m:]
