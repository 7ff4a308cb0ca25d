# SPDX-License-Identifier: BSD-3-Clause
"""Leaf x label counts that somebody else made private, as a release that a tree can take over."""

import math
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..accounting import PrivacySpent
from ..randomizers import LocalRandomizer

FloatArray = NDArray[np.float64]

_LARGEST = 2**53


class DeclaredCounts:
    """Noisy numbers of rows by leaf and label, with the noise that their source declares.

    Parameters
    ----------
    randomizer : LocalRandomizer
        Of the specification that they were counted for: it tells their shape.
    privacy : PrivacySpent
        What their source claims.
    noise_variance : float
        Variance of the noise in one count.
    """

    name = "declared"

    def __init__(self, randomizer: LocalRandomizer, privacy: PrivacySpent, noise_variance: float) -> None:
        if not isinstance(privacy, PrivacySpent):
            raise TypeError(f"privacy must be a PrivacySpent, not {type(privacy).__name__}.")
        if not 0 <= noise_variance < math.inf:
            raise ValueError("noise_variance must be finite and at least 0.")
        if privacy.private and noise_variance == 0:
            raise ValueError('a claim of "dp" needs noise: noise_variance must be positive.')
        if not isinstance(privacy.epsilon, Fraction):
            raise ValueError("privacy must have a finite epsilon: a tree adds up what it spends.")
        self.n_cells, self.n_labels = randomizer.n_cells, randomizer.n_labels
        self.relation: str = privacy.relation
        self.epsilon = privacy.epsilon
        self.noise_variance = float(noise_variance)
        self.privacy = privacy

    sensitivity: int | None = None
    noise_scale: int | None = None

    def describe(self) -> str:
        """Return the mechanism, as declared."""
        return self.privacy.mechanism

    def check(self, counts: ArrayLike) -> tuple[Any, int]:
        """Return usable counts, and the number of rows that they add up to."""
        array = np.asarray(counts)
        if array.dtype.kind not in "iuf" or array.shape != (self.n_cells, self.n_labels):
            raise ValueError(
                f"counts must be numbers of shape ({self.n_cells}, {self.n_labels}), leaf x label, got "
                f"{array.dtype} of shape {array.shape}."
            )
        total = float(array.sum(dtype=np.float64))
        # False for NaN too. Unsigned integers beyond int64 would come out negative.
        if not np.abs(array.astype(np.float64)).max() <= _LARGEST or round(total) < 1:
            raise ValueError("counts must be finite, at most 2^53 in magnitude, with a sum of at least 1.")
        return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64), round(total)

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> NoReturn:
        """Refuse: these counts come from elsewhere."""
        raise TypeError("declared counts are not drawn here.")

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return signed sums for two labels, else the counts as they are: they are unbiased."""
        array = np.asarray(counts, dtype=np.float64)
        return array[:, 1] - array[:, 0] if self.n_labels == 2 else array

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the numbers of rows in the leaves."""
        return np.asarray(counts, dtype=np.float64).sum(axis=1)

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of the difference of two labels' counts, whatever the rows."""
        return np.full(self.n_cells, 2 * self.noise_variance)
