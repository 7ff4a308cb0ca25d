# SPDX-License-Identifier: BSD-3-Clause
"""Rows whose codes and scores are kept from one round to the next."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...._typing import IntArray
from ..rows import PreparedRows
from .code_kernels import add_cell_weights, add_code_weights
from .codes import FeatureCodes
from .scores import AdditiveModel


class CodedRows:
    """Rows that count, their codes, and their scores by the last model that asked.

    Parameters
    ----------
    rows : PreparedRows

    Notes
    -----
    What it returns is what would be made anew: codes of a row follow from the row and the description, and
    scores are sums of whole numbers.
    """

    def __init__(self, rows: PreparedRows) -> None:
        self.rows = rows.only_kept()
        self._layout: FeatureCodes | None = None
        self._codes: Any = None
        self._model: AdditiveModel | None = None
        self._scores: Any = None

    def codes(self, layout: FeatureCodes) -> NDArray[Any]:
        """Return the codes of the rows, of shape (n_features, n)."""
        if layout is not self._layout:
            self._layout, self._codes, self._model = layout, layout.codes(self.rows.X), None
        codes: NDArray[Any] = self._codes
        return codes

    def scores(self, model: AdditiveModel) -> IntArray:
        """Return the scores of the rows by a model; the array is changed by later calls."""
        codes = self.codes(model.codes)
        before = self._model
        if before is None or not _continues(before, model):
            self._scores = model.scores(self.rows.X, codes)
        else:
            self._add_changes(before, model, codes)
        self._model = model
        scores: IntArray = self._scores
        return scores

    def _add_changes(self, before: AdditiveModel, model: AdditiveModel, codes: NDArray[Any]) -> None:
        for code, old, new in zip(codes, before.tables, model.tables, strict=True):
            if old is not new:
                add_code_weights(code, np.ascontiguousarray(new - old), self._scores)
        for cells, weights in model.terms[len(before.terms) :]:
            add_cell_weights(cells.cells(codes), weights, self._scores)


def _continues(before: AdditiveModel, model: AdditiveModel) -> bool:
    """Tell whether a model is another one with other tables and further terms."""
    return (
        before.base is model.base
        and before.offsets == model.offsets
        and len(before.terms) <= len(model.terms)
        and all(old[1] is new[1] for old, new in zip(before.terms, model.terms, strict=False))
    )
