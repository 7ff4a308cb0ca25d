# SPDX-License-Identifier: BSD-3-Clause
"""An additive model over codes in whole numbers, whose scores do not depend on the order of additions."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...._typing import FloatArray, IntArray
from ....utils._json_documents import Fields, pack_integers, unpack_integers
from ....utils._public_module import public_module
from .code_kernels import add_cell_weights, add_code_weights
from .codes import CellGrid, FeatureCodes

#: Scores are multiples of it: finer than any noise, and 2^31 fit in 64 bits.
UNIT = 2.0**-32
#: Largest magnitude of a score, to which it is clipped where it becomes a probability.
LIMIT = 16.0
# Largest magnitude of one weight; more of them than any model has add up within 64 bits.
_MOST_WEIGHT = 2.0**20
# Largest numbers of outputs, columns and terms that a plan may name.
_MOST = 2**24


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """Scores of rows: a constant, a table of weights for every feature, and one for every grid of cells.

    Attributes
    ----------
    codes : FeatureCodes
    base : ndarray of int64 of shape (n_outputs,)
        In units of 2^-32, as all weights.
    tables : tuple of ndarray of int64 of shape (n_cells, n_outputs)
        For every feature.
    terms : tuple of pairs (CellGrid, ndarray of int64 of shape (n_cells, n_outputs))
    offsets : tuple of int
        Columns of X whose numbers are added to the scores, one an output, or none.

    Notes
    -----
    Whole numbers add up to the same in any order: scores that grow with every change of the model are those
    that are added up anew, bit by bit.
    """

    codes: FeatureCodes
    base: IntArray
    tables: tuple[IntArray, ...]
    terms: tuple[tuple[CellGrid, IntArray], ...] = ()
    offsets: tuple[int, ...] = ()

    @classmethod
    def constant(
        cls, codes: FeatureCodes, base: FloatArray, offsets: tuple[int, ...] = ()
    ) -> "AdditiveModel":
        """Return the model that predicts a constant, beside the offsets."""
        tables = tuple(np.zeros((size, len(base)), dtype=np.int64) for size in codes.sizes)
        return cls(codes, to_units(base), tables, (), offsets)

    @property
    def n_outputs(self) -> int:
        """Number of scores of a row."""
        return len(self.base)

    def with_table(self, number: int, table: IntArray) -> "AdditiveModel":
        """Return the model with another table of one feature."""
        return replace(self, tables=(*self.tables[:number], table, *self.tables[number + 1 :]))

    def with_term(self, cells: CellGrid, weights: IntArray) -> "AdditiveModel":
        """Return the model with one more grid of cells."""
        return replace(self, terms=(*self.terms, (cells, weights)))

    def start(self, X: NDArray[Any]) -> IntArray:
        """Return scores of constant and offsets alone, of shape (n, n_outputs)."""
        scores = np.tile(self.base, (len(X), 1))
        if self.offsets:
            scores += to_units(X[:, list(self.offsets)])
        return scores

    def scores(self, X: NDArray[Any], codes: NDArray[Any] | None = None) -> IntArray:
        """Return the scores of rows, int64 of shape (n, n_outputs)."""
        codes = self.codes.codes(X) if codes is None else codes
        scores = self.start(X)
        for code, table in zip(codes, self.tables, strict=True):
            if table.any():
                add_code_weights(code, table, scores)
        for cells, weights in self.terms:
            add_cell_weights(cells.cells(codes), weights, scores)
        return scores

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "features": self.codes.to_list(),
            "base": self.base.tolist(),
            "tables": [pack_integers(table) for table in self.tables],
            "terms": [[cells.to_dict(), pack_integers(weights)] for cells, weights in self.terms],
            "offsets": list(self.offsets),
        }

    @classmethod
    def from_dict(cls, content: Any) -> "AdditiveModel":
        """Restore the model; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("features", "base", "tables", "terms", "offsets"), what="a model")
        codes = FeatureCodes.from_list(fields.items("features"))
        base, tables = fields.items("base"), fields.texts("tables")
        terms, offsets = fields.items("terms"), fields.items("offsets")
        most = int(_MOST_WEIGHT / UNIT)
        if not base or not all(type(value) is int and abs(value) <= most for value in base):
            raise ValueError("a model: its constants must be whole numbers")
        if len(tables) != len(codes.features):
            raise ValueError("a model must have a table for every feature")
        known = all(type(column) is int and 0 <= column < _MOST for column in offsets)
        if not known or len(offsets) not in (0, len(base)):
            raise ValueError("a model: offsets must be columns")
        return cls(
            codes,
            np.array(base, dtype=np.int64),
            tuple(
                _read_weights(table, size, len(base)) for table, size in zip(tables, codes.sizes, strict=True)
            ),
            tuple(_read_term(term, codes.sizes, len(base)) for term in terms),
            tuple(offsets),
        )


def to_units(values: Any) -> IntArray:
    """Return weights as whole numbers; what is too large, or NaN, is cut off."""
    numbers = np.nan_to_num(np.asarray(values, dtype=np.float64))
    units: IntArray = np.rint(np.clip(numbers, -_MOST_WEIGHT, _MOST_WEIGHT) / UNIT).astype(np.int64)
    return units


def _read_weights(text: str, size: int, n_outputs: int) -> IntArray:
    weights = unpack_integers(text, (size, n_outputs))
    if (np.abs(weights) > _MOST_WEIGHT / UNIT).any():
        raise ValueError("a model: a weight is too large")
    return weights


def _read_term(term: Any, sizes: tuple[int, ...], n_outputs: int) -> tuple[CellGrid, IntArray]:
    if type(term) is not list or len(term) != 2:
        raise ValueError("a model: a term must be cells and weights")
    cells = CellGrid.from_dict(term[0])
    cells.check(sizes)
    return cells, _read_weights(term[1], cells.size, n_outputs)
