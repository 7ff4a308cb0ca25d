# SPDX-License-Identifier: BSD-3-Clause
"""Disclosure metrics: shares of values and of responses that an attacker links after a perturbation."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ..utils._private_fit import redact_errors
from ..utils._tables import check_array

# Correct orientation score: the share of values that a perturbation moved by little, per column.


@redact_errors
def correct_orientation_score(
    X: ArrayLike, X_perturbed: ArrayLike, *, mu: float | ArrayLike = 1e-3
) -> NDArray[np.float64]:
    """Return the share of values that a perturbation moved by at most ``2 * mu``, per column.

    An attacker whose own table is exact to within `mu` links such a value: a lower score is better protected.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        The true values, of one column or several; NaN if a value is missing.
    X_perturbed : array-like of the shape of X
        The values that were sent instead, in the same order of rows and columns.
    mu : float or array-like of shape (n_features,), default=1e-3
        Largest error of the attacker's knowledge, in the units of `X`; finite and at least 0.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        In percent, from 0 to 100. A pair with a missing value is left out; NaN for a column without a pair.

    Raises
    ------
    TypeError
        `mu` does not hold numbers.
    ValueError
        The tables have different shapes or names, are infinite somewhere or not numeric; or `mu` is negative,
        not finite or of another length.

    See Also
    --------
    record_linkage_score : The same question about swapped responses.
    skprivate.preprocessing.TQMATransformer : A perturbation with a known score.

    Notes
    -----
    **Privacy.** The score is an exact function of the true rows: it is for those who hold them. It measures
    one attack, on one column at a time. It is not differential privacy.

    The values of a column may be on a lattice, such as age in decades. Its score may then be 0 or 100 %,
    depending on the place of the lattice.

    References
    ----------
    Lin, Liu and Wang, Striking the perfect balance: preserving privacy while boosting utility in
    collaborative medical prediction platforms, Definition 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.metrics import correct_orientation_score
    >>> X = np.array([[0.10, 55.0], [0.20, np.nan], [0.30, 71.0], [0.40, 38.0]])
    >>> X_perturbed = np.array([[0.10, 57.5], [0.25, np.nan], [0.25, 72.5], [0.45, 37.5]])
    >>> correct_orientation_score(X, X_perturbed, mu=[0.01, 0.5])
    array([25.        , 33.33333333])
    """
    true, sent = _table(X), _table(X_perturbed)
    names = [list(getattr(table, "columns", ())) for table in (X, X_perturbed)]
    if true.shape != sent.shape or (all(names) and names[0] != names[1]):
        raise ValueError("X and X_perturbed must have the same rows and columns.")
    radius = 2.0 * _check_mu(mu, true.shape[1])
    # A comparison with NaN is False.
    close = np.abs(true - sent) <= radius
    n_pairs = np.count_nonzero(~np.isnan(true) & ~np.isnan(sent), axis=0)
    with np.errstate(invalid="ignore"):
        return 100.0 * (np.count_nonzero(close, axis=0) / n_pairs)


def _table(X: ArrayLike) -> NDArray[np.float64]:
    column = np.ndim(X) == 1
    table = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_2d=not column)
    return table[:, None] if column else table


def _check_mu(mu: float | ArrayLike, n_features: int) -> NDArray[np.float64]:
    values = np.asarray(mu)
    if values.dtype.kind not in "iuf":
        raise TypeError("mu must hold numbers.")
    if values.shape not in ((), (n_features,)):
        raise ValueError(f"mu must be a number or of shape ({n_features},), got shape {values.shape}.")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("mu must be finite and at least 0.")
    return values.astype(np.float64)


# Record linkage score: the share of perturbed responses that distance links to their party.

#: Number of values that are sorted at once, with their indices and distances: some tens of megabytes.
CHUNK = 1 << 19


@redact_errors
def record_linkage_score(responses: ArrayLike, swapped: ArrayLike) -> float:
    """Return the share of perturbed responses that distance links to the party that gave them.

    Within a query, the perturbed response of party i is linked if the party's own response is at most as far
    from it as the second nearest of all responses. Ties count as linked. The share is averaged over queries.

    Parameters
    ----------
    responses : array-like of shape (n_queries, n_parties)
        Answers of the parties, in the units that were perturbed.
    swapped : array-like of shape (n_queries, n_parties)
        Perturbed answers, in the place of each party.

    Returns
    -------
    score : float
        In percent, from 0 to 100. A lower score is better protected. With one party it is 100.

    Raises
    ------
    ValueError
        The shapes differ, or a value is not a finite number.

    See Also
    --------
    correct_orientation_score : The same question about the columns of queries.
    skprivate.collaborative.BSTDAggregator : Swaps responses.

    Notes
    -----
    Let every row of `swapped` be a permutation of the row of `responses`, with no two responses to a query
    equal and none moved to a neighbouring rank (``p_lower`` of at least 2). Then the score is the share of
    responses that kept their value. A response that moved is nearest to itself, then to one of its two
    neighbours by rank, and further from all others.

    **Privacy.** The score is an exact function of the responses: it is for those who hold them. It measures
    one attack on one query. It is not differential privacy.

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
    n_linked = 0
    for start in range(0, len(true), step):
        ours, theirs = (table[start : start + step] for table in (true, sent))
        # Without one that has the least distance, the least is the second least of all, also for ties.
        n_linked += int(np.count_nonzero(np.abs(theirs - ours) <= _second_nearest(ours, theirs)))
    return 100.0 * n_linked / true.size


def _second_nearest(true: FloatArray, sent: FloatArray) -> FloatArray:
    """Return the distance of sent values to the second nearest of their row's true values, or infinity."""
    # Rounding keeps the order of distances, so the two nearest are among two neighbours on each side.
    ends = np.full((len(true), 2), np.inf)
    padded = np.concatenate([-ends, np.sort(true, axis=1), ends], axis=1)
    # How many of its row's sorted true values are below every sent value; among equal ones any number.
    m = true.shape[1]
    order = np.argsort(np.concatenate([true, sent], axis=1), axis=1)
    counts = np.cumsum(order < m, axis=1)
    places = np.empty_like(counts)
    np.put_along_axis(places, order, counts, axis=1)
    places = places[:, m:]
    distances = np.stack(
        [np.abs(np.take_along_axis(padded, places + shift, axis=1) - sent) for shift in range(4)]
    )
    return np.partition(distances, 1, axis=0)[1]
