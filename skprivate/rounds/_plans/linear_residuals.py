# SPDX-License-Identifier: BSD-3-Clause
"""Plan of residuals times numbers that represent the codes of all columns: gradients of a linear part."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..._typing import FloatArray, IntArray
from ...utils._json_documents import Fields
from .._codec import Record, of_kind, record, records, refuse_sums, stored
from .._rows import PreparedRows
from .boosting import AdditiveModel, ClassLoss, CodedRows, FeatureCodes
from .code_kernels import add_numbers
from .moments import FINEST

#: Largest magnitude of a basis, also of that of the constant.
MOST_BASIS = 2**14
# Factors are reduced by much more than their rounding errors.
_BELOW = 1 - 2.0**-40
# Largest exact sum.
_MOST_SUM = 2**62


def _read_basis(numbers: Any) -> IntArray:
    whole = type(numbers) is list and all(
        type(one) is int and -MOST_BASIS <= one <= MOST_BASIS for one in numbers
    )
    if not whole:
        raise ValueError("a plan: a basis must hold whole numbers")
    return np.array(numbers, dtype=np.int64)


def _read_loss(content: Any) -> Any:
    return of_kind(content, (ClassLoss,), "a plan has a loss of an unknown kind")


@dataclass(frozen=True, eq=False)
class LinearResidualsPlan(Record):
    """Sums of the residuals of an additive model times the basis of a row: the constant, then every column.

    Attributes
    ----------
    model : AdditiveModel
        Public: a function of earlier releases.
    loss : ClassLoss
    constant : int
        The basis of the constant.
    basis : tuple of ndarray of int64 of shape (n_cells * n_directions,)
        For every feature, the numbers that represent its codes, with the directions of a code side by side.
        Empty for a feature without directions.
    radius : int
        Rows whose basis has a larger norm get a smaller weight.
    bits : int
        Residuals are multiples of 2^-bits.

    Notes
    -----
    A row of basis z and residuals r adds r' z, where r' = r min(1, radius^2 / |z|^2). The row and its
    residual are both multiplied by radius / |z|. The row thus has a weight, and the sums still have mean 0 at
    the best parameters.

    **Privacy.** z, a function of the row and the plan, and r' are integers. Let ``one = 2**bits``. The
    squared norm of r is at most ``one**2`` for two labels and ``2 * one**2`` for more (`ResidualsPlan`). r'
    is truncated toward zero, so that |r'| <= min(1, radius^2 / |z|^2) |r|. The norm of r' z is |r'| |z|, at
    most ``radius`` times the bound on |r|. Adding or removing a row changes the sums by at most this in L2;
    replacing it, by at most twice as much.
    """

    model: AdditiveModel = stored(record, AdditiveModel.from_dict)
    loss: ClassLoss = stored(record, _read_loss)
    constant: int = stored(Fields.integer, 0, MOST_BASIS)
    basis: tuple[IntArray, ...] = stored(records, _read_basis)
    radius: int = stored(Fields.integer, 1, MOST_BASIS)
    bits: int = stored(Fields.integer, 0, FINEST)
    kind: ClassVar[str] = "linear-residuals"

    @property
    def coding(self) -> FeatureCodes | None:
        """Coding of the rows that are kept; None with offsets, which are columns of X."""
        return None if self.model.offsets else self.model.codes

    @cached_property
    def directions(self) -> tuple[IntArray, ...]:
        """The basis of every feature, of shape (n_cells, n_directions)."""
        return tuple(
            one.reshape(size, -1) for one, size in zip(self.basis, self.model.codes.sizes, strict=True)
        )

    @property
    def n_columns(self) -> int:
        """Number of directions, with the constant."""
        return 1 + sum(one.shape[1] for one in self.directions)

    @property
    def n_sums(self) -> int:
        """Number of sums: one for every direction and output, the outputs slowest."""
        return self.n_columns * self.loss.n_outputs

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums."""
        return self.coded_sums(CodedRows(rows))

    def coded_sums(self, rows: CodedRows) -> IntArray:
        """Return the sums over rows whose codes and scores are kept."""
        codes, n_outputs = rows.codes(self.model.codes), self.loss.n_outputs
        n_rows = codes.shape[1]
        residuals = np.zeros((n_rows, n_outputs), dtype=np.int64)
        each = np.arange(n_rows, dtype=np.int32)
        self.loss.add(rows.scores(self.model), rows.rows, each, 2**self.bits, residuals)
        factors = rows.kept(self.basis, lambda: self._factors(codes))
        # The conversion truncates toward zero.
        weighted = (residuals * factors[:, np.newaxis]).astype(np.int64)
        found = [self.constant * weighted.sum(axis=0)[np.newaxis]]
        for code, basis in zip(codes, self.directions, strict=True):
            if basis.shape[1]:
                cells = np.zeros((len(basis), n_outputs), dtype=np.int64)
                add_numbers(code, weighted, cells)
                found.append(basis.T @ cells)
        return np.concatenate(found).T.ravel()

    def _factors(self, codes: Any) -> FloatArray:
        """Return min(1, radius^2 / |z|^2) of every row, from exact squared norms."""
        squares = np.full(codes.shape[1], self.constant**2, dtype=np.int64)
        for code, basis in zip(codes, self.directions, strict=True):
            if basis.shape[1]:
                squares += (basis**2).sum(axis=1)[code]
        return np.minimum(1.0, self.radius**2 / np.maximum(squares, 1)) * _BELOW

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        most = n_rows * self.radius * 2**self.bits
        refuse_sums(any(abs(int(value)) > most for value in values))

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        if n_rows * self.radius * 2**self.bits > _MOST_SUM:
            raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")

    def _check_fields(self) -> None:
        sizes = self.model.codes.sizes
        fits = len(self.basis) == len(sizes) and all(
            not len(one) % size for one, size in zip(self.basis, sizes, strict=True)
        )
        self._require(fits, "its basis is not that of its features")
        self._require(self.loss.n_outputs == self.model.n_outputs, "its loss and its model do not fit")
