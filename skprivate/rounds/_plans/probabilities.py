# SPDX-License-Identifier: BSD-3-Clause
"""Sums of the probabilities that a model predicts; those of a row add up to at most a public limit."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...metrics._probabilities import products, softmax
from ...utils._json_documents import Fields
from .._codec import Record, array, refuse_sums, stored
from .._rows import PreparedRows
from .boosting import LIMIT, UNIT, AdditiveModel, CodedRows, FeatureCodes
from .moments import BLOCK_ROWS, FINEST, SUM_BITS

_LARGEST = 1e300


@dataclass(frozen=True, eq=False)
class LinearModel(Record):
    """Logits of rows by a linear model.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_features,)
        Rows are clipped to them. Both empty: rows are not clipped.
    intercepts : ndarray of shape (n_logits,)
    slopes : ndarray of shape (n_logits * n_features,)
    """

    lower: FloatArray = stored(array)
    upper: FloatArray = stored(array)
    intercepts: FloatArray = stored(array)
    slopes: FloatArray = stored(array)
    _what: ClassVar[str] = "a model"

    @property
    def n_outputs(self) -> int:
        """Number of logits of a row."""
        return len(self.intercepts)

    def logits(self, X: NDArray[Any]) -> FloatArray:
        """Return the logits of rows, of shape (n, n_logits); 0 replaces NaN."""
        rows = np.clip(X, self.lower, self.upper) if len(self.lower) else X
        with np.errstate(over="ignore", invalid="ignore"):
            found = products(rows, self.slopes.reshape(self.n_outputs, -1).T) + self.intercepts
        # Differences of logits stay finite.
        return np.clip(np.nan_to_num(found), -_LARGEST, _LARGEST)

    def _check_fields(self) -> None:
        self._require(len(self.lower) == len(self.upper), "it needs as many lower as upper bounds")
        n_features, rest = divmod(len(self.slopes), max(self.n_outputs, 1))
        fits = self.n_outputs and not rest and len(self.lower) in (0, n_features)
        self._require(fits, "it needs a slope for every column and intercept")


def _logits(scores: IntArray) -> FloatArray:
    return np.clip(scores.astype(np.float64) * UNIT, -LIMIT, LIMIT)


def class_probabilities(logits: FloatArray) -> FloatArray:
    """Return the probabilities of all classes, (n, n_labels); a single logit is that of the second class."""
    if logits.shape[1] == 1:
        logits = np.column_stack([np.zeros(len(logits)), logits])
    return softmax(logits)


def capped(probabilities: FloatArray, but: int, most: float) -> FloatArray:
    """Return the probabilities of all classes but one, scaled down so that their sum is at most `most`."""
    others = np.delete(probabilities, but, axis=1)
    return others * np.minimum(1.0, most / np.maximum(others.sum(axis=1, keepdims=True), 1e-300))


def _read_model(fields: Fields, name: str) -> LinearModel | AdditiveModel:
    content = fields.mapping(name)
    return (AdditiveModel if "tables" in content else LinearModel).from_dict(content)


@dataclass(frozen=True, eq=False)
class ProbabilitiesPlan(Record):
    """The sums, over rows, of the probabilities of all classes but one.

    Attributes
    ----------
    model : LinearModel or AdditiveModel
        Public: a function of earlier releases.
    but : int
        The class that is left out.
    most : float
        Limit of the sum of a row's probabilities, in (0, 1]. Larger sums are scaled down to it.
    bits : int
        Sums are in units of ``most * 2**-bits``. The probabilities of a row are rounded down.

    Notes
    -----
    **Privacy.** In these units, a row adds integers q_k >= 0 with a sum of at most ``one = 2**bits``, which
    is enforced on the integers. Adding or removing a row therefore changes the sums by at most ``one`` in L1,
    and ``one**2`` in squared L2. Replacing it changes them by q - q'. With two classes, this is one number
    between -one and one. With more classes, it is at most ``2 * one`` in L1, and the squared L2 norm is |q|^2
    + |q'|^2 - 2 q.q' <= ``2 * one**2``.
    """

    model: LinearModel | AdditiveModel = stored(_read_model)
    but: int = stored(Fields.integer, 0, 2**16 - 1)
    most: float = stored(Fields.number)
    bits: int = stored(Fields.integer, 0, FINEST)
    kind: ClassVar[str] = "probabilities"

    @property
    def n_sums(self) -> int:
        """Number of classes whose probabilities are added up."""
        return max(self.model.n_outputs - 1, 1)

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums of the classes in their order."""
        X, total = rows.only_kept().X, np.zeros(self.n_sums, dtype=np.int64)
        for first in range(0, len(X), BLOCK_ROWS):
            here, model = X[first : first + BLOCK_ROWS], self.model
            logits = model.logits(here) if isinstance(model, LinearModel) else _logits(model.scores(here))
            total += self._integers(logits).sum(axis=0)
        return total

    @property
    def coding(self) -> FeatureCodes | None:
        """Coding of the rows that are kept; None: rows are read again."""
        return self.model.codes if isinstance(self.model, AdditiveModel) and not self.model.offsets else None

    def coded_sums(self, rows: CodedRows) -> IntArray:
        """Return the sums over rows whose codes and scores are kept."""
        assert isinstance(self.model, AdditiveModel)
        scores, total = rows.scores(self.model), np.zeros(self.n_sums, dtype=np.int64)
        for first in range(0, len(scores), BLOCK_ROWS):
            total += self._integers(_logits(scores[first : first + BLOCK_ROWS])).sum(axis=0)
        return total

    def _integers(self, logits: FloatArray) -> IntArray:
        one, shares = 2**self.bits, capped(class_probabilities(logits), self.but, self.most) / self.most
        whole = np.floor(np.clip(np.nan_to_num(shares), 0.0, 1.0) * one).astype(np.int64)
        # Enforced on the integers, so that no rounding error can exceed it.
        return np.diff(np.minimum(np.cumsum(whole, axis=1), one), axis=1, prepend=0)

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        refuse_sums((values < 0).any() or sum(map(int, values)) > n_rows * 2**self.bits)

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        if n_rows * 2**self.bits > 2**SUM_BITS:
            raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")

    def _check_fields(self) -> None:
        self._require(0 < self.most <= 1, "most must be above 0, and 1 at most")
        self._require(self.but < max(self.model.n_outputs, 2), "but must be a class")
