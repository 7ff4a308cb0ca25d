# SPDX-License-Identifier: BSD-3-Clause
"""Interface of local randomizers: reports, their sums, unbiased estimates, variances and leakage."""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..accounting import Blanket, PrivacyGuarantee
from ..accounting._leakage import check_prior, describe_prior
from ..noise import check_entropy
from ..noise._mechanisms import Entropy
from ..utils import check_epsilon, check_int
from ..utils._public_module import public_module

# Number of bytes of reports that `simulate` holds at a time.
_BYTES_AT_ONCE = 2**26


@public_module("skprivate.randomizers")
class LocalRandomizer(ABC):
    """Turns a client's (cell, label) into one epsilon-LDP report, and reports into unbiased estimates.

    A category is ``n_labels * cell + label`` with a label of 0..n_labels - 1. With two labels the signed sum
    of every cell is estimated, ``W_j = sum of (2 label - 1) over the clients in cell j``. Its sign is the
    majority label. With more labels the number of clients of every category is estimated.

    Parameters
    ----------
    epsilon : float or Fraction
        Bound on the log-ratio of the probabilities of any report under any two categories.
    n_cells : int
        Number of cells, at least 1.
    n_labels : int, default=2
        Number of labels, at least 2; exactly 2 for mechanisms that are ``binary_only``.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report: never above the request.
    epsilon_requested : Fraction
        The exact request.
    n_cells : int
        Number of cells.
    n_labels : int
        Number of labels.
    report_dtype : dtype
        Type of the array of reports.
    report_shape : tuple of int
        Shape of one report, ``()`` for a number; n reports have the shape ``(n, *report_shape)``.
    counts_shape : tuple of int
        Shape of the result of `aggregate`.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range, or epsilon is too small for the integers of the mechanism.
    """

    #: Short name, as in the parameter ``mechanism`` of the estimators.
    name: str
    #: Neighbouring relation: "local", any two categories; "label", any two categories of one cell.
    relation: str = "local"
    #: Whether more than two labels are refused.
    binary_only: bool = False
    #: Integer L1 sensitivity and scale of the noise; None for randomised response.
    sensitivity: int | None = None
    noise_scale: int | None = None

    report_dtype: np.dtype[Any]
    report_shape: tuple[int, ...] = ()
    counts_shape: tuple[int, ...]

    # Further parameters beside the three of all mechanisms; each has an attribute with its name.
    _options: tuple[str, ...] = ()

    def __init__(self, epsilon: float | Fraction, n_cells: int, n_labels: int = 2) -> None:
        self.epsilon_requested = check_epsilon(epsilon)
        self.epsilon = self.epsilon_requested
        self.n_cells = check_int(n_cells, "n_cells", least=1)
        self.n_labels = check_int(n_labels, "n_labels", least=2)
        if self.binary_only and self.n_labels > 2:
            raise ValueError(f"Only binary classification is supported by mechanism={self.name!r}.")

    @property
    def n_categories(self) -> int:
        """Number of categories, ``n_labels`` per cell."""
        return self.n_labels * self.n_cells

    @property
    def report_bytes(self) -> int:
        """Bytes of one report."""
        return self.report_dtype.itemsize * math.prod(self.report_shape)

    @property
    def specification(self) -> str:
        """Hash over everything on which a report depends; two randomizers with one hash are the same."""
        content = {"format": "skprivate.randomizer", "version": 1, **self.to_dict()}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return everything on which a report depends, as JSON values.

        Returns
        -------
        description : dict
            ``mechanism``, ``epsilon`` (a Fraction as a string), ``n_cells``, ``n_labels`` and the mechanism's
            own parameters. `randomizer_from_dict` restores the randomizer.
        """
        return {
            "mechanism": self.name,
            "epsilon": str(self.epsilon_requested),
            "n_cells": self.n_cells,
            "n_labels": self.n_labels,
            **{option: getattr(self, option) for option in self._options},
        }

    def drawn_by(self) -> dict[str, str]:
        """Return the integers by which reports are drawn, for clients in other languages.

        Returns
        -------
        integers : dict of str to str
            ``threshold`` of randomised response, ``exponent`` and ``noise_scale`` of Laplace noise. They are
            decimal digits, because numbers in JSON may be doubles.
        """
        names = ("threshold", "exponent", "noise_scale")
        return {name: str(getattr(self, name)) for name in names if getattr(self, name, None) is not None}

    @abstractmethod
    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """

    def randomize(self, categories: ArrayLike, random_state: Any = None) -> NDArray[Any]:
        """Return one report per category.

        Parameters
        ----------
        categories : array-like of int of shape (n,)
            ``n_labels * cell + label`` of every client.
        random_state : None, int, RandomState or Generator, default=None
            None: entropy of the operating system. Any other value is reproducible and not private.

        Returns
        -------
        reports : ndarray of ``report_dtype`` and shape ``(n, *report_shape)``

        Raises
        ------
        TypeError, ValueError
            Categories are not integers, or out of range.
        """
        return self._randomize(self._check_categories(categories), check_entropy(random_state))

    def aggregate(self, reports: ArrayLike, *, specification: str | None = None) -> IntArray:
        """Return the counts of a batch of reports; counts of batches add up.

        Parameters
        ----------
        reports : array-like of shape ``(n, *report_shape)``
            Reports of `randomize`.
        specification : str, default=None
            ``specification`` of the randomizer that made them, to be compared with this one's. None: no
            comparison.

        Returns
        -------
        counts : ndarray of int64 of shape ``counts_shape``

        Raises
        ------
        TypeError, ValueError
            Reports have another type, shape or specification, or the mechanism never sends them. Nothing is
            counted.
        """
        if specification is not None and specification != self.specification:
            raise ValueError(
                "these reports were made for another specification (mechanism, epsilon or partition); "
                "aggregate them with their own randomizer."
            )
        if isinstance(reports, np.ma.MaskedArray):
            raise TypeError("reports must not be a masked array: a hidden report would be counted.")
        array = np.asarray(reports)
        if array.dtype != self.report_dtype:
            raise TypeError(f"reports must be {self.report_dtype}, not {array.dtype}: another specification?")
        if array.shape[1:] != self.report_shape or array.ndim == 0:
            wanted = "(n, " + ", ".join(map(str, self.report_shape)) + ")" if self.report_shape else "(n,)"
            raise ValueError(f"reports must have shape {wanted}, got {array.shape}: another specification?")
        # Bytes from the middle of a file may be unaligned, which the kernels do not support.
        return self._aggregate(np.require(array, requirements=["C", "A"]))

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> IntArray:
        """Return counts with the distribution of those of the reports of all these clients.

        This is a simulation: the caller holds the categories of all clients. Memory beyond these categories
        does not grow with the number of clients.

        Parameters
        ----------
        categories : array-like of int of shape (n,)
        random_state : None, int, RandomState or Generator, default=None
            As in `randomize`.

        Returns
        -------
        counts : ndarray of int64 of shape ``counts_shape``
        """
        checked, entropy = self._check_categories(categories), check_entropy(random_state)
        counts = np.zeros(self.counts_shape, dtype=np.int64)
        at_once = max(_BYTES_AT_ONCE // self.report_bytes, 1)
        for start in range(0, len(checked), at_once):
            counts += self._aggregate(self._randomize(checked[start : start + at_once], entropy))
        return counts

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return unbiased estimates of the signed sums (two labels) or of the numbers of clients by category.

        Parameters
        ----------
        counts : array-like of int of shape ``counts_shape``
            Sum of the counts of all batches.
        n : int
            Number of reports in them.

        Returns
        -------
        estimates : ndarray of shape (n_cells,), with more than two labels (n_cells, n_labels)

        Raises
        ------
        TypeError, ValueError
            The counts cannot come from n reports of this randomizer.
        """
        return self._estimate(*self._check_counts(counts, n))

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray | None:
        """Return the unbiased estimate of the number of clients in every cell.

        Parameters
        ----------
        counts : array-like of int of shape ``counts_shape``
            Sum of the counts of all batches.
        n : int
            Number of reports in them.

        Returns
        -------
        cell_counts : ndarray of shape (n_cells,) or None
            None if the reports do not depend on it.

        Raises
        ------
        TypeError, ValueError
            The counts cannot come from n reports of this randomizer.
        """
        return self._estimate_cells(*self._check_counts(counts, n))

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the exact variance of the difference of two labels' estimates in every cell.

        The variance is conditional on the clients' categories, and averaged over the pairs of labels. With
        two labels it is that of the signed sum.

        Parameters
        ----------
        n : int
            Number of reports.
        cell_counts : array-like of shape (n_cells,) or (n_cells, n_labels), default=None
            Number of clients in every cell (with equally frequent labels), or of every category; the sum is
            n. None: all categories have the same number of clients, including those that only pad a
            mechanism's table.

        Returns
        -------
        variance : ndarray of shape (n_cells,)

        Raises
        ------
        TypeError, ValueError
            The counts have another shape, are negative or not finite, or do not add up to n.
        """
        n = check_int(n, "n", least=0)
        if cell_counts is None:
            return np.full(self.n_cells, n * self._even_variance())
        return self._variance(self._check_cell_counts(cell_counts, n))

    def leakage(self, prior: ArrayLike) -> PrivacyGuarantee:
        """Return the exact pointwise maximal leakage of one report to an adversary with this prior.

        Parameters
        ----------
        prior : array-like of shape (n_categories,) or (n_cells, n_labels)
            Probabilities of the client's category, for the adversary before the report; they add up to 1.

        Returns
        -------
        guarantee : PrivacyGuarantee
            Its epsilon is the largest leakage over the reports of positive probability. It is at most
            ``self.epsilon`` if both cell and label are protected. It is attained, and computed in closed form
            up to the rounding of floats. ``statement()`` is the sentence for the client. The leakages of
            several reports of one client do not add up; `pml_from_ldp` of the sum of their epsilons bounds
            them.

        Raises
        ------
        TypeError, ValueError
            The prior has another shape or a negative or infinite entry, or does not add up to 1 within 1e-9.

        Notes
        -----
        Proof: :doc:`/proofs/leakage`.

        Examples
        --------
        >>> from skprivate.randomizers import KRRRandomizer
        >>> print(KRRRandomizer(1.0, 2).leakage([0.4, 0.3, 0.2, 0.1]))
        Guarantee: pointwise maximal leakage of your report
          epsilon: 0.841435 nats
          status: exact: no smaller bound holds
          prior: 4 values with probabilities 0.4, 0.3, 0.2 and 0.1
          method: closed form for 4-ary randomised response on (cell, label)
        """
        shapes = (self.n_categories,), (self.n_cells, self.n_labels)
        probabilities = check_prior(prior, shapes=shapes)
        return PrivacyGuarantee(
            epsilon=self._leakage(probabilities),
            status="exact",
            criterion="pml",
            subject="your report",
            prior=describe_prior(probabilities),
            method=f"closed form for {self.describe()}",
            report_epsilon=self.epsilon,
        )

    def blanket(self) -> Blanket | None:
        """Return the common part of all clients' reports, which hides each of them after shuffling.

        Returns
        -------
        blanket : Blanket or None
            For `shuffle_amplification`, the blanket of the two categories whose reports are easiest to
            distinguish. None if it is not implemented, or the report shows its cell.
        """
        return None

    @abstractmethod
    def _leakage(self, prior: FloatArray) -> float:
        """`leakage` for probabilities of the categories, which may be 0."""

    @abstractmethod
    def _randomize(self, categories: IntArray, entropy: Entropy) -> NDArray[Any]: ...

    @abstractmethod
    def _aggregate(self, reports: NDArray[Any]) -> IntArray: ...

    @abstractmethod
    def _estimate(self, counts: IntArray, n: int) -> FloatArray: ...

    def _estimate_cells(self, counts: IntArray, n: int) -> FloatArray | None:
        return None

    @abstractmethod
    def _even_variance(self) -> float:
        """`variance` per report with equally full categories, without arrays of their size."""

    @abstractmethod
    def _variance(self, label_counts: FloatArray) -> FloatArray:
        """`variance` for clients by (cell, label)."""

    def _possible(self, counts: IntArray, n: int) -> bool:
        """Whether n reports can have these counts."""
        return True

    def _check_categories(self, categories: ArrayLike) -> IntArray:
        array = np.asarray(categories)
        if array.ndim != 1:
            raise ValueError(f"categories must be one-dimensional, got {array.ndim} dimensions.")
        if array.size == 0:
            return np.zeros(0, dtype=np.int64)
        layout = f"({self.n_labels} * cell + label)"
        if array.dtype.kind not in "iu":
            raise TypeError(f"categories must be integers {layout}, not {array.dtype}.")
        if array.min() < 0 or array.max() >= self.n_categories:
            raise ValueError(f"categories must lie in 0..{self.n_categories - 1} {layout}.")
        return np.ascontiguousarray(array, dtype=np.int64)

    def _check_cell_counts(self, cell_counts: ArrayLike, n: int) -> FloatArray:
        array = np.asarray(cell_counts, dtype=np.float64)
        shape = (self.n_cells, self.n_labels)
        if array.shape not in (shape, shape[:1]):
            raise ValueError(f"cell_counts must have shape {shape[:1]} or {shape}, got {array.shape}.")
        if not np.isfinite(array).all() or (array < 0).any() or not np.isclose(array.sum(), n):
            raise ValueError("cell_counts must be numbers of clients that add up to n.")
        if array.ndim == 2:
            return array
        return np.repeat(array[:, None] / self.n_labels, self.n_labels, axis=1)

    def _check_counts(self, counts: ArrayLike, n: int) -> tuple[IntArray, int]:
        array = np.asarray(counts)
        if array.dtype.kind not in "iu" or array.shape != self.counts_shape:
            raise ValueError(
                f"counts must be the integers of shape {self.counts_shape} that aggregate returns, "
                f"got {array.dtype} of shape {array.shape}."
            )
        checked, n = array.astype(np.int64), check_int(n, "n", least=0)
        if not self._possible(checked, n):
            raise ValueError("these counts cannot come from n reports: n, or a merge, is wrong.")
        return checked, n
