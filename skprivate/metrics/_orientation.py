# SPDX-License-Identifier: BSD-3-Clause
"""Correct orientation score: the share of values that a perturbation moved by little, per column."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..utils._private_fit import redact_errors
from ..utils._table_validation import check_array


@redact_errors
def correct_orientation_score(
    X: ArrayLike, X_perturbed: ArrayLike, *, mu: float | ArrayLike = 1e-3
) -> NDArray[np.float64]:
    """Return the share of values that a perturbation moved by at most ``2 * mu``, per column.

    An attacker whose own table is right to within `mu` links such a value: lower is better protected.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        The true values, of one column or several; NaN where a value is missing.
    X_perturbed : array-like of the shape of X
        What was sent instead, in the same order of rows and columns.
    mu : float or array-like of shape (n_features,), default=1e-3
        What the attacker's knowledge is right to, in the units of `X`; finite and at least 0.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        In percent, from 0 to 100. A pair with a missing value is left out; NaN for a column without a pair.

    Raises
    ------
    TypeError
        `mu` does not hold numbers.
    ValueError
        The tables do not agree in shape or names, are infinite somewhere or not numeric; `mu` is negative,
        not finite or of another length.

    See Also
    --------
    record_linkage_score : The same question about swapped responses.
    skprivate.preprocessing.TQMATransformer : A perturbation with a known score.

    Notes
    -----
    **Privacy.** The score is an exact function of the true rows: it is for those who hold them. It measures
    one attack, on one column at a time; it is not differential privacy.

    A column on a lattice, as age in decades, may have a score of 0 or of 100 % by where the lattice lies.

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
