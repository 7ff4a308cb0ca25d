# SPDX-License-Identifier: BSD-3-Clause
"""The warning that the noise hides the effect of the features, from released values and the known noise."""

import numpy as np

from ..._typing import FloatArray
from ...base._likely_mistakes import no_effect
from .release import MomentRelease
from .solve import ScaledFit, noise_level

# Standard errors by which slopes have to be better than none. Of 750 simulated fits that lost to a constant,
# most of them nearly even with it, this finds 95 % (and .75 finds 91 %); of 690 that kept four fifths of what
# can be explained it suspects 5 %.
_CLEARLY = 1.0
# A direction is told if its variance is so many standard deviations of its own noise above 0, and so many
# times the typical norm of the noise of all: with many features the noise lowers the least variance by that
# norm. Simulations with 72 cells of nine designs (narrow, skewed, heavy-tailed, one-hot, nearly dependent and
# normal columns) that had 3 to 15 of the first: 90 % intervals held in .89 of the quiet fits on average, in
# .64 to .79 in the seven worst cells, where a part of the fits warned. Below 3: in 0 to .8. At 4 or 5 as many
# cells are bad: those that pass by chance have small intervals wherever the limit is. Ten normal columns:
# slopes .90, scale .87, quantiles .88 beyond 1.5 of the second; .85, .45 and .7 below 1.
_CLEAR = 3.0
_ABOVE = 1.5
# Slopes in scaled units beyond it have no meaning; keeps their squares finite (of a double's 2^1023).
_LARGEST = 2.0**64

#: The warning.
HIDDEN = no_effect("numbers")

#: The warning that slopes are shrunk by an unknown amount.
UNTOLD = (
    "by the released values, the noise hides how much some combination of the features varies. Slopes along "
    "it are pulled toward zero, and intervals do not account for that. Leave out one of columns that nearly "
    "determine each other (of one-hot coded columns that add up to one, a level: their slopes are not "
    "determined, only predictions are), or tighten the bounds; more rows or a larger epsilon would help, too."
)


def explained_share(release: MomentRelease, fit: ScaledFit) -> tuple[float, float]:
    """Estimate by how much the fitted slopes lower the mean squared error of new rows, compared with none.

    Parameters
    ----------
    release : MomentRelease
    fit : ScaledFit
        One fit to the release; what matters is its slopes.

    Returns
    -------
    gain, error : float
        The estimate, in squared scaled units of the target, below 0 where the best constant is better; and
        its standard error.

    Notes
    -----
    With exact centred moments C of the features and c of features and target, slopes b gain
    ``2 b'c - b'C b``. Read off the released C + E and c + e, that is too large by ``2 b'e - b'E b``. As b is
    off by C^-1 (e - E b), to first order, this is ``2 (e - E b)' C^-1 (e - E b)`` on average, which follows
    from the known noise, with the sampling error of the rows added. Directions of C that are below the noise
    count as raised to its level: so much curvature cannot be distinguished from none; slopes along them
    follow e but hardly E. The error of the intercept goes off as well.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.release import MomentRelease
    >>> from skprivate.linear_model._moments.solve import ScaledFit
    >>> from skprivate.linear_model._moments.utility import explained_share
    >>> matrix = 1000 * np.array([[1, 0, 0], [0, 0.25, 0.1], [0, 0.1, 0.2]])
    >>> fit = ScaledFit(0.0, np.array([0.5]), 0.4)
    >>> [round(x, 3) for x in explained_share(MomentRelease(matrix, np.zeros((3, 3)), "laplace"), fit)]
    [0.05, 0.006]
    """
    n = max(float(release.matrix[0, 0]), 1.0)
    moments = np.clip(release.matrix / n, -1.0, 1.0)
    centred = moments - np.outer(moments[0], moments[0])
    coef = np.clip(fit.coef, -_LARGEST, _LARGEST)
    values, vectors = np.linalg.eigh(centred[2:, 2:])
    raised = np.maximum(values, max(noise_level(release) / n, 1.0 / n))
    gain = float(2.0 * coef @ centred[2:, 1] - (vectors.T @ coef) ** 2 @ raised)
    residual = max(float(centred[1, 1]) - gain, 0.0)
    own, bent = _noise_of_equations(release, coef**2)
    followed = (vectors**2).T @ np.column_stack([own[1:], bent[1:]])
    taken = (followed[:, 0] + (values >= raised) * followed[:, 1]) / raised + residual / n
    intercept = float(own[0] + bent[0])
    straight = 4.0 * (own + bent)[1:] @ coef**2 + 4.0 * residual * max(gain, 0.0) / n
    variance = straight + 8.0 * taken @ taken + 2.0 * intercept**2
    return gain - 2.0 * float(taken.sum()) - intercept, float(np.sqrt(variance))


def _noise_of_equations(release: MomentRelease, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variances, per row, of e and of E b, for the constant and then the features."""
    n = max(float(release.matrix[0, 0]), 1.0)
    variances = np.delete(release.noise_std / n, 1, axis=0) ** 2
    return variances[:, 1], variances[:, 2:] @ squares


def varying_directions(n_features: int, constant: FloatArray | None) -> FloatArray:
    """Return an orthonormal basis of the directions that are not constant by declaration.

    Parameters
    ----------
    n_features : int
    constant : ndarray of shape (k, n_features) or None
        Orthonormal directions along which the features of all rows are equal, as the levels of a category
        add up to one.

    Returns
    -------
    varying : ndarray of shape (n_features - k, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.utility import varying_directions
    >>> varying = varying_directions(3, np.sqrt([[0.5, 0.5, 0.0]]))
    >>> varying.shape, bool(np.allclose(varying @ [1.0, 1.0, 0.0], 0.0))
    ((2, 3), True)
    """
    if constant is None:
        return np.eye(n_features)
    return np.asarray(np.linalg.svd(constant)[2][len(constant) :], dtype=np.float64)


def slopes_are_told(release: MomentRelease, constant: FloatArray | None = None) -> bool:
    """Return whether every combination of the features varies clearly more than its noise.

    Parameters
    ----------
    release : MomentRelease
        Of one fit.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`: combinations of the others are judged. Slopes along constant directions
        move no prediction.

    Notes
    -----
    The released equations c + e = (C + E) b of the slopes have noise of mean 0 at the true b. An interval of
    the slope along a direction w is the set of those that they do not contradict (of Fieller, or Anderson and
    Rubin): it is finite where w'(C + E) w is clear of its noise; elsewhere any slope may be true. That noise
    is w'E w - 2 (w'm) (w'e_0) + (w'm)^2 e_00, with m the means, e_0 the noise of the features' sums and e_00
    that of the number of rows.

    **Privacy**: a function of released values.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.release import MomentRelease
    >>> from skprivate.linear_model._moments.utility import slopes_are_told
    >>> features = np.array([[0.30, 0.29], [0.29, 0.30]])
    >>> matrix = np.eye(4)
    >>> matrix[2:, 2:] = features
    >>> [slopes_are_told(MomentRelease(1000 * matrix, np.full((4, 4), s), "laplace")) for s in (1.0, 10.0)]
    [True, False]
    """
    n = max(float(release.matrix[0, 0]), 1.0)
    means = np.clip(release.matrix[0, 2:] / n, -1.0, 1.0)
    varying = varying_directions(len(means), constant)
    centred = release.matrix[2:, 2:] - n * np.outer(means, means)
    values, turned = np.linalg.eigh(varying @ centred @ varying.T)
    vectors = varying.T @ turned
    variances, squares, along = release.noise_std**2, vectors**2, (means @ vectors) ** 2
    # An entry and its mirror image carry one noise, which counts twice.
    entries = 2.0 * variances[2:, 2:] - np.diag(np.diagonal(variances)[2:])
    noise = np.einsum("jk,jk->k", squares, entries @ squares)
    noise += 4.0 * along * (variances[0, 2:] @ squares) + along**2 * variances[0, 0]
    least = max(_ABOVE * noise_level(release), 1e-9 * n)
    return bool(np.all(values >= np.maximum(_CLEAR * np.sqrt(noise), least)))


def moments_warning(release: MomentRelease, fit: ScaledFit, constant: FloatArray | None = None) -> str | None:
    """Return why a constant may predict better than a fit, or why intervals are too narrow, or None.

    Parameters
    ----------
    release : MomentRelease
    fit : ScaledFit
        One fit to the release.
    constant : ndarray of shape (k, n_features), default=None
        As in `varying_directions`.

    Returns
    -------
    reason : str or None
        Without a number: it is a warning to be shown.

    Notes
    -----
    **Privacy**: a function of released values.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.release import MomentRelease
    >>> from skprivate.linear_model._moments.solve import ScaledFit
    >>> from skprivate.linear_model._moments.utility import moments_warning
    >>> matrix = 1000 * np.array([[1, 0, 0], [0, 0.25, 0.1], [0, 0.1, 0.2]])
    >>> fit = ScaledFit(0.0, np.array([0.5]), 0.4)
    >>> noise = np.ones((3, 3))
    >>> moments_warning(MomentRelease(matrix, noise, "laplace"), fit) is None
    True
    >>> moments_warning(MomentRelease(matrix, 100 * noise, "laplace"), fit) is None
    False
    """
    gain, error = explained_share(release, fit)
    if gain > _CLEARLY * error:
        return None if slopes_are_told(release, constant) else UNTOLD
    return HIDDEN
