# SPDX-License-Identifier: BSD-3-Clause
"""Plans over codes: counts of rows in grids of cells, and sums of the residuals of an additive model."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...._typing import IntArray
from ....utils._json_documents import Fields
from ..grid import FINEST
from ..rows import PreparedRows
from .code_kernels import add_binary, add_softmax, add_squared
from .coded_rows import CodedRows
from .codes import CellGrid, FeatureCodes
from .scores import LIMIT, UNIT, AdditiveModel

# Most sums of a plan, 1 GiB; and most labels.
_MOST_SUMS = 2**27
# Largest exact sum.
_MOST_SUM = 2**62


@dataclass(frozen=True, eq=False)
class CodeCountsPlan:
    """Counts of rows by the cells of several grids.

    Attributes
    ----------
    codes : FeatureCodes
    grids : tuple of CellGrid

    Notes
    -----
    **Privacy.** A row is in one cell of every grid. Replacing it moves the counts of a grid by at most 2 in
    L1 and in squared L2, adding or removing it by 1; those of t grids together by t times as much.
    """

    codes: FeatureCodes
    grids: tuple[CellGrid, ...]
    kind: ClassVar[str] = "code-counts"

    @property
    def n_sums(self) -> int:
        """Number of counts."""
        return sum(grid.size for grid in self.grids)

    def by_grid(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the counts of every grid."""
        return np.split(values, np.cumsum([grid.size for grid in self.grids])[:-1])

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the counts, grid after grid."""
        return self.coded_sums(CodedRows(rows))

    def coded_sums(self, rows: CodedRows) -> IntArray:
        """Return the counts of rows whose codes are kept."""
        codes = rows.codes(self.codes)
        counts = [np.bincount(grid.cells(codes), minlength=grid.size) for grid in self.grids]
        return np.concatenate([*counts, np.zeros(0, dtype=np.int64)]).astype(np.int64, copy=False)

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse counts that no n_rows rows have."""
        if (values < 0).any() or any(int(counts.sum()) != n_rows for counts in self.by_grid(values)):
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for: counts have room for all."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "kind": self.kind,
            "features": self.codes.to_list(),
            "grids": [grid.to_dict() for grid in self.grids],
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "CodeCountsPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "features", "grids"), what="a plan")
        codes = FeatureCodes.from_list(fields.items("features"))
        plan = cls(codes, tuple(CellGrid.from_dict(grid) for grid in fields.items("grids")))
        for grid in plan.grids:
            grid.check(codes.sizes)
        if plan.n_sums > _MOST_SUMS:
            raise ValueError("a plan: it has too many cells")
        return plan


@dataclass(frozen=True)
class ClassLoss:
    """Residuals of labels: the label less its probability.

    Attributes
    ----------
    n_labels : int
        2: one score, that of the second label. More: one score a label.
    """

    n_labels: int
    kind: ClassVar[str] = "classes"

    @property
    def n_outputs(self) -> int:
        """Number of scores and of residuals."""
        return 1 if self.n_labels == 2 else self.n_labels

    def add(
        self, scores: IntArray, rows: PreparedRows, cells: NDArray[np.int32], one: int, out: IntArray
    ) -> None:
        """Add the residuals of rows to the sums of their cells."""
        if rows.labels is None:
            raise ValueError("the rows have no labels.")
        labels = np.ascontiguousarray(rows.labels, dtype=np.int32)
        if len(labels) and not (labels.min() >= 0 and labels.max() < self.n_labels):
            raise ValueError("the rows have more classes than the plan.")
        if self.n_labels == 2:
            add_binary(scores, labels, cells, UNIT, LIMIT, one, out)
        else:
            add_softmax(scores, labels, cells, UNIT, LIMIT, one, np.empty(self.n_labels), out)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "n_labels": self.n_labels}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ClassLoss":
        """Restore the loss."""
        return cls(Fields(content, ("kind", "n_labels"), what="a loss").integer("n_labels", 2, 2**16))


@dataclass(frozen=True)
class NumberLoss:
    """Residuals of numbers: the number, scaled to [-1, 1], less its score, clipped.

    Attributes
    ----------
    center, half : float
        Middle and half-width of the bounds of the target.
    clip : float
        Largest magnitude of a residual, in half-widths.
    """

    center: float
    half: float
    clip: float
    n_outputs: ClassVar[int] = 1
    kind: ClassVar[str] = "numbers"

    def add(
        self, scores: IntArray, rows: PreparedRows, cells: NDArray[np.int32], one: int, out: IntArray
    ) -> None:
        """Add the residuals of rows to the sums of their cells."""
        if rows.y is None:
            raise ValueError("the rows have no target.")
        target = np.ascontiguousarray(rows.y, dtype=np.float64)
        add_squared(scores, target, cells, UNIT, self.center, self.half, self.clip, one, out)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"kind": self.kind, "center": self.center, "half": self.half, "clip": self.clip}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "NumberLoss":
        """Restore the loss."""
        fields = Fields(content, ("kind", "center", "half", "clip"), what="a loss")
        half, clip = fields.number("half"), fields.number("clip")
        if half <= 0 or clip <= 0:
            raise ValueError("a loss: half and clip must be above 0")
        return cls(fields.number("center"), half, clip)


Loss = ClassLoss | NumberLoss


@dataclass(frozen=True, eq=False)
class ResidualsPlan:
    """Sums of the residuals of an additive model by the cells of a grid.

    Attributes
    ----------
    model : AdditiveModel
        Public: made of what was released before.
    loss : ClassLoss or NumberLoss
    grid : CellGrid
    bits : int
        Residuals are multiples of 2^-bits (of numbers: times ``clip``), rounded toward zero.

    Notes
    -----
    **Privacy.** In whole numbers, with ``one = 2**bits``, a row adds a vector r to the sums of one cell: for
    two labels, and for numbers, one number of magnitude ``one`` at most; for more labels -q_i, q_i >= 0, for
    those that are not the row's, and the sum of these q_i, at most ``one``, for the row's own. So the L1 norm
    of r is at most ``2 * one`` then, and its squared L2 norm at most ``2 * one**2``. All of this is enforced
    on the integers. Adding or removing a row moves the sums by r. Replacing it moves them by r - r', whether
    in one cell or in two: at most twice the L1 norm, and four times the squared L2 norm.
    """

    model: AdditiveModel
    loss: Loss
    grid: CellGrid
    bits: int
    kind: ClassVar[str] = "residuals"

    @property
    def n_sums(self) -> int:
        """Number of sums: one for every cell and output."""
        return self.grid.size * self.loss.n_outputs

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums, the outputs fastest."""
        return self.coded_sums(CodedRows(rows))

    def coded_sums(self, rows: CodedRows) -> IntArray:
        """Return the sums over rows whose codes and scores are kept."""
        cells = self.grid.cells(rows.codes(self.model.codes))
        out = np.zeros((self.grid.size, self.loss.n_outputs), dtype=np.int64)
        self.loss.add(rows.scores(self.model), rows.rows, cells, 2**self.bits, out)
        return out.ravel()

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Refuse sums that no n_rows rows have."""
        table = np.abs(values.reshape(-1, self.loss.n_outputs))
        most = n_rows * 2**self.bits
        norm = 1 if self.loss.n_outputs == 1 else 2
        zero = self.loss.n_outputs == 1 or not values.reshape(table.shape).sum(axis=1).any()
        if not zero or sum(map(int, table.ravel())) > norm * most:
            raise ValueError("the sums are not those of so many rows")

    def check_room(self, n_rows: int) -> None:
        """Refuse rows that the sums have no room for."""
        if n_rows * 2**self.bits > _MOST_SUM:
            raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "kind": self.kind,
            "model": self.model.to_dict(),
            "loss": self.loss.to_dict(),
            "grid": self.grid.to_dict(),
            "bits": self.bits,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "ResidualsPlan":
        """Restore the plan; ValueError for what `to_dict` would not write."""
        fields = Fields(content, ("kind", "model", "loss", "grid", "bits"), what="a plan")
        model, grid = AdditiveModel.from_dict(fields.mapping("model")), CellGrid.from_dict(content["grid"])
        loss = fields.mapping("loss")
        kinds: dict[Any, Any] = {one.kind: one for one in (ClassLoss, NumberLoss)}
        if loss.get("kind") not in kinds:
            raise ValueError("a plan has a loss of an unknown kind")
        plan = cls(model, kinds[loss["kind"]].from_dict(loss), grid, fields.integer("bits", 0, FINEST))
        grid.check(model.codes.sizes)
        if plan.loss.n_outputs != model.n_outputs or plan.n_sums > _MOST_SUMS:
            raise ValueError("a plan: its loss and its model have different numbers of outputs")
        return plan
