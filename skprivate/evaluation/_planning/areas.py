# SPDX-License-Identifier: BSD-3-Clause
"""How well probabilities tell classes apart, and numbers other numbers: AUC and R2, with weights."""

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray


def area(proba: FloatArray, weights: FloatArray) -> float:
    """Return the mean over classes of the AUC of one against the rest; two classes have one AUC.

    Parameters
    ----------
    proba, weights : ndarray of shape (n, k)
        Predictions, and the share in which each row belongs to each class: indicators where labels are known,
        the predictions themselves where labels are drawn from these.
    """
    columns = (1,) if proba.shape[1] == 2 else range(proba.shape[1])
    found = [_area_of_one(proba[:, k], weights[:, k]) for k in columns]
    known = [one for one in found if np.isfinite(one)]
    return float(np.mean(known)) if known else 0.5


def _area_of_one(scores: FloatArray, positive: FloatArray) -> float:
    _, places = np.unique(scores, return_inverse=True)
    of_class = np.bincount(places, weights=positive)
    of_others = np.bincount(places, weights=1 - positive)
    pairs = of_class.sum() * of_others.sum()
    if pairs <= 0:
        return float("nan")
    return float(of_class @ (np.cumsum(of_others) - of_others / 2) / pairs)


def indicators(codes: IntArray, n_classes: int) -> FloatArray:
    """Return rows of 0 and one 1."""
    result: FloatArray = (codes[:, np.newaxis] == np.arange(n_classes)).astype(np.float64)
    return result


def explained(found: FloatArray, y: NDArray[np.float64]) -> float:
    """Return R2."""
    spread = float(np.var(y))
    return 1 - float(np.mean((found - y) ** 2)) / spread if spread > 0 else 0.0
