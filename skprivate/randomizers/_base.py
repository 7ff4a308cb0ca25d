# SPDX-License-Identifier: BSD-3-Clause
"""The one interface of local randomizers."""

import hashlib
import json
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..utils import check_epsilon, check_int

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class LocalRandomizer(ABC):
    """Turns a client's (cell, label) into one epsilon-LDP report, and reports into unbiased estimates.

    A category is ``2 * cell + label`` with a label of 0 or 1. What is estimated is the signed sum of every
    cell, ``W_j = sum of (2 label - 1) over the clients in cell j``: its sign is the majority label.

    Parameters
    ----------
    epsilon : float or Fraction
        Bound on the log-ratio of the probabilities of any report under any two categories.
    n_cells : int
        Number of cells, at least 1.

    Attributes
    ----------
    epsilon : Fraction
        What a report costs: never above the request.
    epsilon_requested : Fraction
        The request, exactly.
    n_cells : int
        Number of cells.
    """

    #: Short name, as in the estimators' ``mechanism`` parameter.
    name: str

    def __init__(self, epsilon: float | Fraction, n_cells: int) -> None:
        self.epsilon_requested = check_epsilon(epsilon)
        self.epsilon = self.epsilon_requested
        self.n_cells = check_int(n_cells, "n_cells", least=1)

    @property
    def n_categories(self) -> int:
        """Number of categories, two per cell."""
        return 2 * self.n_cells

    @property
    def specification(self) -> str:
        """Hash over everything that a report depends on; two randomizers with one hash are the same."""
        text = json.dumps(self._specification(), sort_keys=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def _specification(self) -> dict[str, Any]:
        return {
            "format": "skprivate.randomizer",
            "version": 1,
            "mechanism": self.name,
            "epsilon": str(self.epsilon_requested),
            "n_cells": self.n_cells,
        }

    @abstractmethod
    def randomize(self, categories: ArrayLike, random_state: Any = None) -> NDArray[Any]:
        """Return one report per category."""

    @abstractmethod
    def aggregate(self, reports: ArrayLike, *, specification: str | None = None) -> IntArray:
        """Return the counts of a batch of reports; counts of batches add."""

    @abstractmethod
    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return the unbiased estimate of every cell's signed sum."""

    @abstractmethod
    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of every cell's estimate."""

    @abstractmethod
    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words."""

    #: Integer L1 sensitivity and scale of the noise, where there is noise; None for randomised response.
    sensitivity: int | None = None
    noise_scale: int | None = None

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return counts distributed as those of the reports of all these clients.

        A simulation: whoever calls this holds the categories of all clients.

        Parameters
        ----------
        categories : array-like of int of shape (n,)
        random_state : None, int, RandomState, Generator
            As in `randomize`.

        Returns
        -------
        counts : ndarray of int64
        """
        return self.aggregate(self.randomize(categories, random_state))

    def _check_categories(self, categories: ArrayLike) -> IntArray:
        array = np.asarray(categories)
        if array.ndim != 1:
            raise ValueError(f"categories must be one-dimensional, got {array.ndim} dimensions.")
        if array.size == 0:
            return np.zeros(0, dtype=np.int64)
        if array.dtype.kind not in "iu":
            raise TypeError(f"categories must be integers (2 * cell + label), not {array.dtype}.")
        if array.min() < 0 or array.max() >= self.n_categories:
            raise ValueError(f"categories must lie in 0..{self.n_categories - 1} (2 * cell + label).")
        return np.ascontiguousarray(array, dtype=np.int64)

    def _check_cell_counts(self, cell_counts: ArrayLike, n: int) -> FloatArray:
        array = np.asarray(cell_counts, dtype=np.float64)
        if array.shape != (self.n_cells,):
            raise ValueError(f"cell_counts must have shape ({self.n_cells},), got {array.shape}.")
        if not np.isfinite(array).all() or (array < 0).any() or not np.isclose(array.sum(), n):
            raise ValueError("cell_counts must be numbers of clients that add up to n.")
        return array

    def _check_specification(self, specification: str | None) -> None:
        if specification is not None and specification != self.specification:
            raise ValueError(
                "these reports were made for another specification (mechanism, epsilon or partition); "
                "aggregate them with the randomizer that they were made for."
            )

    def _check_counts(self, counts: ArrayLike, shape: tuple[int, ...], n: int) -> tuple[IntArray, int]:
        array = np.asarray(counts)
        if array.dtype.kind not in "iu" or array.shape != shape:
            raise ValueError(
                f"counts must be the integers of shape {shape} that aggregate returns, "
                f"got {array.dtype} of shape {array.shape}."
            )
        return array.astype(np.int64), check_int(n, "n", least=0)
