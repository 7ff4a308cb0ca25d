# SPDX-License-Identifier: BSD-3-Clause
"""The scale of ``method="taylor"``, the paper's truncated likelihood; it is here for comparison only."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Minus the second derivative of the log density at 0; Algorithms 1 and 2 of the paper, and the normal
# distribution, of which only log q has to be expanded.
_CURVATURE_AT_0 = {"sev": 1.0, "logistic": 0.5, "normal": 1.0}


def taylor_scale(residual: NDArray[np.float64], distribution: str, scale_bounds: tuple[float, float]) -> Any:
    """Maximise the log-likelihood truncated at second order around z = 0 and 1 / scale = 1 [1]_.

    With ``q = 1 / scale``, ``p = q * coef`` and ``z = q y - p . x``, the truncated log-likelihood is

        ``n (2 q - q**2 / 2) - (c / 2) sum(z**2)``    + a constant,

    where c is minus the second derivative of the log density at 0. At any q the best p is q times least
    squares; hence ``q = 2 / (1 + c RSS / n)``, and without noise the scale stays between 1/2 and (1 + c) / 2
    of the target's half-width whatever the data are. The intercept is that of the regression line, so that
    the location of every distribution is where the mean should be: unlike `solve_moments`, this is not
    consistent.

    Parameters
    ----------
    residual : ndarray of shape () or (n_fits,)
        RSS / n about the line, in scaled units.
    distribution : {"sev", "logistic", "normal"}
        Name of the distribution of the error.
    scale_bounds : tuple of two floats
        The scale is clipped to them.

    Returns
    -------
    scale : float or ndarray of shape (n_fits,)

    References
    ----------
    .. [1] Sheng, Fang: "Differentially private log-location-scale regression using functional mechanism".

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.linear_model._moments.taylor import taylor_scale
    >>> float(taylor_scale(np.array(0.2), "logistic", (0.001, 2.0)))
    0.55
    """
    return np.clip(0.5 * (1.0 + _CURVATURE_AT_0[distribution] * residual), *scale_bounds)
