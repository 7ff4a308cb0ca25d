# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the parties' responses and sizes, the rules of active parties, and shares of a synthesis."""

from typing import Any

import numpy as np
from sklearn.utils import Tags

from .._typing import BoolArray, FloatArray
from ..exceptions import UtilityWarning
from ..utils._table_validation import read_numbers, validate_data
from ..utils._user_frame import warn_user


def check_party_sizes(party_sizes: Any, n_parties: int) -> FloatArray:
    """Return how many rows each party holds, or any other weights in proportion to that.

    Parameters
    ----------
    party_sizes : array-like of shape (n_parties,) or None
        Finite and positive, whole or not. None: one each.
    n_parties : int

    Returns
    -------
    sizes : ndarray of shape (n_parties,)

    Raises
    ------
    TypeError
        Not numbers.
    ValueError
        Another length, or a size that is not finite and positive.

    Examples
    --------
    >>> from skprivate.collaborative._active_parties import check_party_sizes
    >>> check_party_sizes(None, 3)
    array([1., 1., 1.])
    """
    if party_sizes is None:
        return np.ones(n_parties)
    sizes = np.asarray(party_sizes)
    if sizes.dtype.kind not in "iuf":
        raise TypeError("party_sizes must hold numbers.")
    if sizes.shape != (n_parties,):
        raise ValueError(
            f"party_sizes must have shape ({n_parties},), one size per column of X, not {sizes.shape}."
        )
    sizes = sizes.astype(np.float64)
    if not (np.isfinite(sizes).all() and (sizes > 0).all() and np.isfinite(sizes.sum())):
        raise ValueError("party_sizes must be finite and greater than 0, and so must be their sum.")
    return sizes


def relative_sizes(sizes: FloatArray) -> FloatArray:
    """Return sizes over their mean: exactly 1 for equal parties, whose responses then stay as they are."""
    if (sizes == sizes[0]).all():
        return np.ones(len(sizes))
    return sizes / (sizes.sum() / len(sizes))


def validate_responses(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> FloatArray:
    """Return the responses as a C-contiguous float64 array; NaN may stand where the rule is "support".

    Parameters
    ----------
    estimator : estimator
        With ``active_rule``.
    X : array-like of shape (n_queries, n_parties)
    y : array-like of shape (n_queries,), default=None
        Checked where it is given (length, one dimension, finite), and then forgotten.
    reset : bool
        True in ``fit``.

    Returns
    -------
    responses : ndarray of shape (n_queries, n_parties)
        In strict mode what is no finite number is no answer, which counts as 0 where the rule is another: no
        cell makes a step in front of a private estimator fail.
    """
    if estimator.is_strict():
        found = read_numbers(estimator, X, reset=reset)
        return np.where(np.isfinite(found), found, np.nan if estimator.active_rule == "support" else 0.0)
    options: dict[str, Any] = {
        "dtype": np.float64,
        "order": "C",
        "reset": reset,
        "ensure_all_finite": "allow-nan" if estimator.active_rule == "support" else True,
    }
    if y is None:
        return validate_data(estimator, X, **options)
    X, y = validate_data(estimator, X, y, y_numeric=True, **options)
    if np.asarray(y).dtype.kind not in "biuf":
        raise ValueError("y must hold numbers.")
    return X


def aggregator_tags(tags: Tags, active_rule: str | None) -> Tags:
    """Set the tags of an estimator that combines responses and learns nothing from y."""
    tags.input_tags.allow_nan = active_rule == "support"
    tags.target_tags.required = False
    tags.regressor_tags.poor_score = True
    return tags


def shares(
    responses: FloatArray, sizes: FloatArray, rule: str | None, *, total: float | None = None
) -> tuple[FloatArray, BoolArray]:
    """Return each party's share n_j f_j of the synthesis, 0 where it is not active, and who is.

    The synthesis is the sum of the shares over the sum of the active parties' sizes, and 0 where nobody is
    active.

    Parameters
    ----------
    responses : ndarray of shape (n_queries, n_parties)
        f_j, in the units of y; NaN is a party without an answer (rule "support").
    sizes : ndarray of shape (n_parties,)
        n_j, or a multiple of it.
    rule : {"support", "box", "receiver", None}
        "box": active where abs(f_j) >= 1 / n, the same as abs(a_j) >= n_j / n^2 for a_j = n_j f_j / n;
        "support": active where there is an answer; None: always. "receiver" decides after the swap: every
        share is kept here.
    total : float, default=None
        n, where `sizes` do not add up to it.

    Returns
    -------
    values : ndarray of shape (n_queries, n_parties)
    active : ndarray of bool, of shape (n_queries, n_parties)

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative._active_parties import shares
    >>> shares(np.array([[1.0, 0.001, -2.0]]), np.array([10.0, 20.0, 30.0]), "box")
    (array([[ 10.,   0., -60.]]), array([[ True, False,  True]]))
    """
    if rule == "box":
        active = np.abs(responses) >= 1.0 / (sizes.sum() if total is None else total)
    elif rule == "support":
        active = ~np.isnan(responses)
    else:
        return responses * sizes, np.ones(responses.shape, dtype=bool)
    return np.where(active, responses * sizes, 0.0), active


def warn_few_active(active: BoolArray) -> None:
    """Warn, once for all queries, where a prediction rests on few parties.

    Of m parties few are at most m / 4, since the standard error of a mean of k equally good, independent
    responses falls with the square root of k, and is then at least twice that of all m; and at most two,
    where there are more than two, since one's response is the prediction, and of two each learns the other's
    from it; of one or two parties none. How many parties are active is public to the platform: the swapped
    responses show it as zeros, the sum of sizes in the open. The message names neither a number nor a query.

    Parameters
    ----------
    active : ndarray of bool, of shape (n_queries, n_parties)
    """
    n_parties = active.shape[1]
    few = max(2, n_parties // 4) if n_parties > 2 else 0
    if not active.all() and (active.sum(axis=1) <= few).any():
        warn_user(
            "A prediction rests on few parties: on no more than a quarter of them, or than two; where nobody "
            "is active it is zero, and no estimate. Take active_rule='support' for targets in small units, "
            "local models whose kernel reaches further, or queries where the parties have rows.",
            UtilityWarning,
        )
