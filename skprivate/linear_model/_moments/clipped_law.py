# SPDX-License-Identifier: BSD-3-Clause
"""Means of clipped errors under a distribution, and location and scale from them."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..._typing import FloatArray
from .._distributions import ErrorDistribution

# Equally likely errors: the means of clipped ones are exact within 1e-6.
_N_NODES = 4000
# Clips that are tried, in standard deviations of the errors: below the least nothing is gained, as the noise
# over the share of unclipped rows has a limit; beyond the greatest errors are rare.
_CLIPS = np.geomspace(0.3, 3.0, 16)
# One look changes the scale by this factor at most, so that noise cannot throw the next.
_FACTOR = 4.0
_STEPS = 25


@dataclass(frozen=True, eq=False)
class ClippedLaw:
    """A distribution whose errors are clipped.

    Attributes
    ----------
    errors : ndarray of shape (n_nodes,)
        Equally likely.
    std : float
        Standard deviation of the error.
    """

    errors: FloatArray
    std: float

    def center(self, clip: float) -> float:
        """Return where the mean of errors about it, clipped to [-clip, clip], is 0."""
        # The mean falls with the centre; a bisection needs no derivative.
        low, high = float(self.errors[0]), float(self.errors[-1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            if np.clip(self.errors - middle, -clip, clip).mean() > 0.0:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)

    def choose_clip(self, scale: float, own: float, noise: float) -> float:
        """Return the clip at which slopes are most precise.

        Parameters
        ----------
        scale : float
        own : float
            Variance of a sum of errors times features, over that of one error: of the rows themselves.
        noise : float
            Variance of its noise, over the square of the clip.

        Notes
        -----
        A sum of clipped residuals has the variance own E[clipped^2] + noise clip^2, and moves by the share
        of unclipped rows: the ratio is least.
        """
        clips, squares, shares = self._table
        best = np.argmin((own * squares + noise * clips**2) / shares**2)
        return float(scale * clips[best])

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Clips, mean squares of clipped errors of scale 1, and shares of unclipped ones."""
        clips = _CLIPS * self.std
        squares = [self.spread(1.0, clip)[0, 0] for clip in clips]
        return clips, np.array(squares), np.array([self.share(1.0, clip) for clip in clips])

    def locate(self, mean: float, square: float, clip: float, scale: float) -> tuple[float, float]:
        """Return shift and scale of errors whose clipped mean and mean square are given.

        Parameters
        ----------
        mean, square : float
            Of residuals clipped to [-clip, clip]; noisy.
        clip : float
        scale : float
            By which the centre of the clip was chosen: residuals are those about
            ``location + scale * center(clip / scale)``.

        Returns
        -------
        shift : float
            Of the location, within the clip.
        scale : float
            Within a factor of 4.
        """
        start = self.center(clip / scale) * scale
        shift, log_factor = 0.0, 0.0
        limit = np.log(_FACTOR)
        for _ in range(_STEPS):
            values, jacobian = self._means(scale * np.exp(log_factor), shift - start, clip)
            # The diagonal keeps a step finite where hardly any error is unclipped.
            step = np.linalg.solve(
                jacobian.T @ jacobian + 1e-6 * np.diag([1.0, clip**2]),
                jacobian.T @ (np.array([mean, square]) - values),
            )
            shift = float(np.clip(shift + np.clip(step[0], -0.5 * clip, 0.5 * clip), -clip, clip))
            log_factor = float(np.clip(log_factor + np.clip(step[1], -0.5, 0.5), -limit, limit))
        return shift, float(scale * np.exp(log_factor))

    def jacobian(self, scale: float, clip: float) -> FloatArray:
        """Return derivatives of the clipped mean and mean square in location and log scale, at the centre."""
        return self._means(scale, -self.center(clip / scale) * scale, clip)[1]

    def share(self, scale: float, clip: float) -> float:
        """Return the share of unclipped rows about the centre."""
        k = clip / scale
        return float(np.mean(np.abs(self.errors - self.center(k)) < k))

    def spread(self, scale: float, clip: float) -> FloatArray:
        """Return the covariance matrix of a clipped residual about the centre and of its square."""
        k = clip / scale
        r = scale * np.clip(self.errors - self.center(k), -k, k)
        return np.cov(r, r**2, bias=True)

    def _means(self, scale: float, shift: float, clip: float) -> tuple[FloatArray, FloatArray]:
        u = scale * self.errors + shift
        inside = np.abs(u) < clip
        r = np.clip(u, -clip, clip)
        grown = scale * self.errors * inside
        jacobian = np.array(
            [[inside.mean(), grown.mean()], [2 * (r * inside).mean(), 2 * (r * grown).mean()]]
        )
        return np.array([r.mean(), (r**2).mean()]), jacobian


@lru_cache(maxsize=8)
def clipped_law(distribution: ErrorDistribution) -> ClippedLaw:
    """Return the clipped errors of a distribution."""
    errors = distribution.quantile((np.arange(_N_NODES) + 0.5) / _N_NODES)
    return ClippedLaw(errors, float(np.sqrt(distribution.variance)))
