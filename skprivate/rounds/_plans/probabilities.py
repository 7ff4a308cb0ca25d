# SPDX-License-Identifier: BSD-3-Clause
"""Sums of the probabilities that a model predicts, each row's no more than a public amount."""

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
        Rows are put within them; both empty: they are not.
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
        """Return the logits of rows, of shape (n, n_logits); 0 where they are no numbers."""
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
    """Return the probabilities of all classes, of shape (n, n_labels); one logit is that of the second."""
    if logits.shape[1] == 1:
        logits = np.column_stack([np.zeros(len(logits)), logits])
    return softmax(logits)


def capped(probabilities: FloatArray, but: int, most: float) -> FloatArray:
    """Return the probabilities of all classes but one, their sum in a row brought down to `most`."""
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
        Public: made of what was released before.
    but : int
        The class that is left out.
    most : float
        From above 0 to 1: the most that the probabilities of a row add up to; larger ones are scaled down.
    bits : int
        Sums are in units of ``most * 2**-bits``, the probabilities of a row rounded down.

    Notes
    -----
    **Privacy.** In these units a row adds whole numbers q_k >= 0 with a sum of at most ``one = 2**bits``,
    which is enforced on the integers. So adding or removing a row moves the sums by at most ``one`` in L1,
    and ``one**2`` in squared L2. Replacing it moves them by q - q': with two classes one number, between
    -one and one; with more at most ``2 * one`` in L1, and |q|^2 + |q'|^2 - 2 q.q' <= ``2 * one**2``.
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
        """What is kept of rows; without it they are read."""
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
        # Whatever floating point did, the sum is no larger than one.
        return np.diff(np.minimum(np.cumsum(whole, axis=1), one), axis=1, prepend=0)

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        refuse_sums((values < 0).any() or sum(map(int, values)) > n_rows * 2**self.bits)

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        if n_rows * 2**self.bits > 2**SUM_BITS:
            raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")

    def _check_fields(self) -> None:
        self._require(0 < self.most <= 1, "most must be above 0, and 1 at most")
        self._require(self.but < max(self.model.n_outputs, 2), "but must be a class")
