# SPDX-License-Identifier: BSD-3-Clause
"""Report-noisy-max with geometric noise: the number of the highest noisy score, and nothing else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._mechanisms import DiscreteLaplaceMechanism


class NoisyMax:
    """Choices by noisy scores.

    Parameters
    ----------
    mechanism : DiscreteLaplaceMechanism
        Of whose noise the geometric one is made; its scale is that of the noise.

    Notes
    -----
    **Privacy.** If all scores of a choice move by amounts within a range of r, the probability of no choice
    changes by more than the factor exp(r / scale).

    Proof: :doc:`/proofs/tree_release`.
    """

    def __init__(self, mechanism: DiscreteLaplaceMechanism) -> None:
        self._mechanism = mechanism
        self.scale = mechanism.scale

    def randomize(self, scores: NDArray[np.int64], entropy: Any) -> NDArray[np.int64]:
        """Return the number of the highest score with noise in every row, the first of equal ones.

        Parameters
        ----------
        scores : ndarray of int64 of shape (n_choices, n_candidates)
        entropy : Entropy

        Returns
        -------
        chosen : ndarray of int64 of shape (n_choices,)
        """
        noise = self._mechanism.randomize(np.zeros(scores.shape, dtype=np.int64), entropy)
        # Folded: x >= 0 gets the probability of x and of -1 - x, both proportional to exp(-x / scale).
        noisy = scores + np.where(noise < 0, ~noise, noise)
        return noisy.argmax(axis=1).astype(np.int64)
