# SPDX-License-Identifier: BSD-3-Clause
"""Simulated rows of several parties that follow one regression function."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, RandomSource
from ..utils import check_int
from ._random_source import make_random_source


def make_parties(
    n_samples: int = 10_000,
    n_parties: int = 20,
    *,
    n_features: int = 5,
    noise: float = 0.1,
    random_state: RandomSource = None,
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Simulate parties whose rows follow one regression function: the collaborative prediction paper's toy.

    X is uniform on the unit cube, so ``bounds=(0, 1)`` holds exactly, and y is f(x) plus normal noise, with
    ``|x|`` the Euclidean norm and ::

        f(x) = max(0, 1 - |x|)^5 (1 + 5 |x|) + |x|^2 / 5

    All parties but the last have between .8 and 1 times ``n_samples / n_parties`` rows, each such number
    being equally likely; the last one, the largest, has the rest. Rows of all parties stand in random order.

    Parameters
    ----------
    n_samples : int, default=10000
        Number of rows of all parties together, at least `n_parties`.
    n_parties : int, default=20
        Number of parties, at least 1.
    n_features : int, default=5
        Number of columns, at least 1.
    noise : float, default=0.1
        Standard deviation of the noise, at least 0. With 0, y is f(x): what a test of predictions needs.
    random_state : None, int, RandomState or Generator, default=None
        Makes the rows reproducible; X and the parties do not depend on `noise`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    sites : ndarray of int of shape (n_samples,)
        The party of every row, from 0 to ``n_parties - 1``.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.

    References
    ----------
    Lin, Liu, Wang, Striking the perfect balance: preserving privacy while boosting utility in collaborative
    medical prediction platforms, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.datasets import make_parties
    >>> X, y, sites = make_parties(1000, 4, random_state=0)
    >>> X.shape, bool(np.bincount(sites).argmax() == 3)
    ((1000, 5), True)
    >>> queries, truth, _ = make_parties(100, 1, noise=0, random_state=1)
    >>> queries.shape, truth.shape
    ((100, 5), (100,))
    """
    n_parties = check_int(n_parties, "n_parties", least=1)
    n_samples = check_int(n_samples, "n_samples", least=n_parties)
    n_features = check_int(n_features, "n_features", least=1)
    if isinstance(noise, bool) or not isinstance(noise, Real) or not 0 <= noise < np.inf:
        raise ValueError("noise must be a number of at least 0, and finite.")
    rng = make_random_source(random_state)
    X = rng.uniform(size=(n_samples, n_features))
    sites = rng.permutation(np.repeat(np.arange(n_parties), _sizes(n_samples, n_parties, rng)))
    y = _regression_function(X)
    if noise > 0:
        y += rng.normal(scale=noise, size=n_samples)
    return X, y, sites


def _sizes(n_samples: int, n_parties: int, rng: Any) -> NDArray[np.intp]:
    most = n_samples // n_parties
    # A whole number of rows between .8 and 1 times the share need not exist when the share is small.
    least = min(-(-4 * n_samples // (5 * n_parties)), most)
    # Not integers() nor randint(): a Generator has only the first, a RandomState only the second.
    drawn = least + (rng.uniform(size=n_parties - 1) * (most - least + 1)).astype(np.intp)
    return np.append(drawn, n_samples - drawn.sum())


def _regression_function(X: FloatArray) -> FloatArray:
    norm = np.sqrt(np.square(X).sum(axis=1))
    return np.maximum(0.0, 1.0 - norm) ** 5 * (1.0 + 5.0 * norm) + norm**2 / 5.0
