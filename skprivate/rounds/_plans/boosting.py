# SPDX-License-Identifier: BSD-3-Clause
"""Columns as codes, additive integer scores over them, and plans of their residuals."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...utils._json_documents import Fields, digest, pack_integers, unpack_integers
from ...utils._public_module import public_module
from .._codec import Record, array, integers, maybe, of_kind, record, records, refuse_sums, spread, stored
from .._rows import PreparedRows
from .code_kernels import (
    add_binary,
    add_cell_weights,
    add_cells,
    add_code_weights,
    add_softmax,
    add_squared,
    fill_codes,
)
from .moments import FINEST

#: Most cells of one feature: codes have 16 bits.
MOST_CELLS = 2**16
#: Scores are multiples of it: it is finer than any noise, and a score of 2^31 fits in 64 bits.
UNIT = 2.0**-32
#: Largest magnitude of a score, to which it is clipped before it is turned into a probability.
LIMIT = 16.0
# Largest magnitude of one weight; 64 bits hold the sum of more weights than any model has.
_MOST_WEIGHT = 2.0**20
# Most columns of a plan, as in `cells`; and most cells of a grid: memory for their sums is allocated before
# rows are read.
_MOST = 2**24
# Most sums of a plan, 1 GiB.
_MOST_SUMS = 2**27
# Largest exact sum.
_MOST_SUM = 2**62
_NONE = np.empty(0)


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class CodedFeature(Record):
    """A column of numbers in bins, or a category with one column of X a level.

    Attributes
    ----------
    column : int
        Column of X; for a category, the first of its columns.
    thresholds : ndarray of shape (n_bins - 1,)
        Ascending; empty for a category. The bin of a number is the number of thresholds at or below it.
    n_levels : int
        Number of levels of a category; 0: the column holds numbers.
    missing : int or None
        Column of X that is above 0.5 if the value is missing. The value that was filled in is then ignored.
    no_level : bool
        Whether a row without a level counts as missing. Otherwise it is in the first cell.
    """

    column: int = stored(Fields.integer, 0, _MOST)
    thresholds: FloatArray = stored(array)
    n_levels: int = stored(Fields.integer, 0, MOST_CELLS - 1, default=0)
    missing: int | None = stored(maybe, Fields.integer, 0, _MOST, default=None)
    no_level: bool = stored(Fields.flag, default=False)
    _what: ClassVar[str] = "a feature"

    @classmethod
    def of_levels(
        cls, column: int, n_levels: int, missing: int | None = None, no_level: bool = False
    ) -> "CodedFeature":
        """Return a category."""
        return cls(column, np.empty(0), n_levels, missing, no_level)

    @property
    def is_number(self) -> bool:
        """Whether cells are bins, which have an order."""
        return self.n_levels == 0

    @property
    def has_missing(self) -> bool:
        """Whether the last cell is that of missing values."""
        return self.missing is not None or self.no_level

    @property
    def n_bins(self) -> int:
        """Number of bins, or of levels."""
        return self.n_levels or len(self.thresholds) + 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.n_bins + self.has_missing

    @property
    def end(self) -> int:
        """Least number of columns of X."""
        last = self.column + max(self.n_levels, 1)
        return last if self.missing is None else max(last, self.missing + 1)

    def fill(self, X: NDArray[Any], codes: NDArray[Any]) -> None:
        """Write the cell of every row, uint8 or uint16."""
        if self.is_number:
            fill_codes(np.ascontiguousarray(X[:, self.column], dtype=np.float64), self.thresholds, codes)
        else:
            levels = X[:, self.column : self.column + self.n_levels] > 0.5
            # The first level of a row; 0 for rows without a level.
            codes[:] = np.argmax(levels, axis=1)
            if self.no_level:
                codes[~levels.any(axis=1)] = self.n_levels
        if self.missing is not None:
            codes[X[:, self.missing] > 0.5] = self.n_bins

    def _check_fields(self) -> None:
        most = 0 if self.n_levels else MOST_CELLS - 2
        ascend = (np.diff(self.thresholds) > 0).all()
        self._require(
            ascend and len(self.thresholds) <= most, "thresholds must ascend, and categories have none"
        )


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class FeatureCodes(Record):
    """Public description of the code, a small integer, of every feature of a row.

    Attributes
    ----------
    features : tuple of CodedFeature

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._plans.boosting import CodedFeature, FeatureCodes
    >>> colour = CodedFeature.of_levels(1, 2, no_level=True)
    >>> layout = FeatureCodes((CodedFeature(0, np.array([0.5])), colour))
    >>> layout.codes(np.array([[0.2, 0, 1], [0.5, 1, 0], [0.7, 0, 0]]))
    array([[0, 1, 1],
           [1, 0, 2]], dtype=uint8)
    """

    features: tuple[CodedFeature, ...] = stored(records, CodedFeature.from_dict)
    is_small: ClassVar[bool] = True

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of every feature."""
        return tuple(feature.size for feature in self.features)

    @property
    def n_columns(self) -> int:
        """Number of columns of X that features read."""
        return max((feature.end for feature in self.features), default=0)

    @cached_property
    def key(self) -> str:
        """A hash of the description."""
        return digest(self.to_dict())

    def code(self, rows: PreparedRows) -> "CodedRows":
        """Return the codes and the targets of rows; plans over codes read nothing else."""
        coded = CodedRows(rows)
        coded.codes(self)
        coded.X = coded.X[:, :0].copy()
        return coded

    def holds(self, other: Any) -> bool:
        """Return whether the cells of another description are unions of these."""
        same = isinstance(other, FeatureCodes) and len(other.features) == len(self.features)
        return same and all(
            replace(mine, thresholds=_NONE).to_dict() == replace(its, thresholds=_NONE).to_dict()
            and np.isin(its.thresholds, mine.thresholds).all()
            for mine, its in zip(self.features, other.features, strict=True)
        )

    def joined(self, finer: "FeatureCodes", codes: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of rows, from their codes by a finer description."""
        found = np.empty(codes.shape, dtype=self._dtype)
        for code, before, feature, fine in zip(found, codes, self.features, finer.features, strict=True):
            levels = np.arange(feature.size)
            if feature.is_number:
                bins = np.searchsorted(feature.thresholds, fine.thresholds, side="right")
                levels = np.array([0, *bins, feature.n_bins])
            np.take(levels.astype(self._dtype), before, out=code)
        return found

    @property
    def _dtype(self) -> type[Any]:
        return np.uint8 if max(self.sizes, default=0) <= 2**8 else np.uint16

    def codes(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the codes, uint8 or uint16 of shape (n_features, n); those of a row depend on it alone."""
        if X.shape[1] < self.n_columns:
            raise ValueError("the rows have too few columns.")
        found = np.empty((len(self.features), len(X)), dtype=self._dtype)
        for code, feature in zip(found, self.features, strict=True):
            feature.fill(X, code)
        return found


def _read_group(group: Any) -> NDArray[np.int32]:
    whole = type(group) is list and group and all(type(value) is int for value in group)
    # Every group must occur: otherwise memory would be allocated for unused groups.
    if not whole or sorted(set(group)) != list(range(len(set(group)))):
        raise ValueError("cells: groups must be whole numbers from 0")
    return np.array(group, dtype=np.int32)


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class CellGrid(Record):
    """A partition of rows by groups of the codes of some features; a feature may occur more than once.

    Attributes
    ----------
    features : tuple of int
        Numbers of the features.
    groups : tuple of ndarray of int32
        For each feature, the group of every code, from 0.

    Notes
    -----
    The groups of a row are the digits of its cell; the last one changes fastest. Without features there is
    one cell.
    """

    features: tuple[int, ...] = stored(integers, 0, _MOST - 1, "cells: features and groups belong together")
    groups: tuple[NDArray[np.int32], ...] = stored(records, _read_group)
    _what: ClassVar[str] = "cells"

    @classmethod
    def of_feature(cls, number: int, size: int) -> "CellGrid":
        """Return the cells of one feature."""
        return cls((number,), (np.arange(size, dtype=np.int32),))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of groups of every feature."""
        return tuple(int(groups.max()) + 1 for groups in self.groups)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    def cells(self, codes: NDArray[Any]) -> NDArray[np.int32]:
        """Return the cell of every row."""
        found = np.zeros(codes.shape[1], dtype=np.int32)
        for number, groups, size in zip(self.features, self.groups, self.shape, strict=True):
            add_cells(codes[number], groups, size, found)
        return found

    def check(self, sizes: tuple[int, ...]) -> None:
        """Raise ValueError if the features have other numbers of cells."""
        fits = all(
            number < len(sizes) and len(groups) == sizes[number]
            for number, groups in zip(self.features, self.groups, strict=True)
        )
        if not fits or self.size > _MOST:
            raise ValueError("a plan: cells are not those of its features")

    def _check_fields(self) -> None:
        self._require(len(self.features) == len(self.groups), "features and groups belong together")


def _read_base(fields: Fields, name: str) -> IntArray:
    most, problem = int(_MOST_WEIGHT / UNIT), "a model: its constants must be whole numbers"
    base = integers(fields, name, -most, most, problem)
    if not base:
        raise ValueError(problem)
    return np.array(base, dtype=np.int64)


def _read_tables(fields: Fields, name: str) -> tuple[IntArray, ...]:
    (codes, n_outputs), tables = _layout(fields), fields.texts(name)
    if len(tables) != len(codes.features):
        raise ValueError("a model must have a table for every feature")
    return tuple(
        _read_weights(table, size, n_outputs) for table, size in zip(tables, codes.sizes, strict=True)
    )


def _read_terms(fields: Fields, name: str) -> tuple[tuple[CellGrid, IntArray], ...]:
    (codes, n_outputs), terms = _layout(fields), []
    for term in fields.items(name):
        if type(term) is not list or len(term) != 2:
            raise ValueError("a model: a term must be cells and weights")
        cells = CellGrid.from_dict(term[0])
        cells.check(codes.sizes)
        terms.append((cells, _read_weights(term[1], cells.size, n_outputs)))
    return tuple(terms)


def _layout(fields: Fields) -> tuple[FeatureCodes, int]:
    """Return the codes, and the number of outputs."""
    return FeatureCodes.from_dict({"features": fields.items("features")}), len(fields.items("base"))


def _read_weights(text: str, size: int, n_outputs: int) -> IntArray:
    weights = unpack_integers(text, (size, n_outputs))
    if (np.abs(weights) > _MOST_WEIGHT / UNIT).any():
        raise ValueError("a model: a weight is too large")
    return weights


@public_module("skprivate.ensemble")
@dataclass(frozen=True, eq=False)
class AdditiveModel(Record):
    """Scores of rows: a constant, a table of weights for every feature, and one for every grid of cells.

    Attributes
    ----------
    codes : FeatureCodes
    base : ndarray of int64 of shape (n_outputs,)
        Constant, in units of 2^-32, like all weights.
    tables : tuple of ndarray of int64 of shape (n_cells, n_outputs)
        One table for every feature.
    terms : tuple of pairs (CellGrid, ndarray of int64 of shape (n_cells, n_outputs))
    offsets : tuple of int
        Columns of X whose numbers are added to the scores: one for each output, or none.

    Notes
    -----
    Sums of integers do not depend on the order: scores that are updated after every change of the model equal
    scores that are computed again, bit by bit.
    """

    codes: FeatureCodes = spread(FeatureCodes)
    base: IntArray = stored(_read_base)
    tables: tuple[IntArray, ...] = stored(_read_tables)
    terms: tuple[tuple[CellGrid, IntArray], ...] = stored(_read_terms, default=())
    offsets: tuple[int, ...] = stored(integers, 0, _MOST - 1, "a model: offsets must be columns", default=())
    _what: ClassVar[str] = "a model"

    @classmethod
    def constant(
        cls, codes: FeatureCodes, base: FloatArray, offsets: tuple[int, ...] = ()
    ) -> "AdditiveModel":
        """Return the model that predicts a constant, plus the offsets."""
        tables = tuple(np.zeros((size, len(base)), dtype=np.int64) for size in codes.sizes)
        return cls(codes, to_units(base), tables, (), offsets)

    @property
    def n_outputs(self) -> int:
        """Number of scores of a row."""
        return len(self.base)

    @cached_property
    def marks(self) -> list[tuple[Any, ...]]:
        """Features, groups and weights of the terms, by which they are compared."""
        return [
            (cells.features, *(groups.tobytes() for groups in cells.groups), weights.tobytes())
            for cells, weights in self.terms
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            **self.codes.to_dict(),
            "base": self.base.tolist(),
            "tables": [pack_integers(table) for table in self.tables],
            "terms": [[cells.to_dict(), pack_integers(weights)] for cells, weights in self.terms],
            "offsets": list(self.offsets),
        }

    def _check_fields(self) -> None:
        self._require(len(self.offsets) in (0, self.n_outputs), "offsets must be columns")

    def with_table(self, number: int, table: IntArray) -> "AdditiveModel":
        """Return the model with another table of one feature."""
        return replace(self, tables=(*self.tables[:number], table, *self.tables[number + 1 :]))

    def with_term(self, cells: CellGrid, weights: IntArray) -> "AdditiveModel":
        """Return the model with one more grid of cells."""
        return replace(self, terms=(*self.terms, (cells, weights)))

    def start(self, X: NDArray[Any]) -> IntArray:
        """Return scores of the constant and the offsets, of shape (n, n_outputs)."""
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


def to_units(values: Any) -> IntArray:
    """Return weights as integers; large ones are clipped, and NaN becomes 0."""
    numbers = np.nan_to_num(np.asarray(values, dtype=np.float64))
    return np.rint(np.clip(numbers, -_MOST_WEIGHT, _MOST_WEIGHT) / UNIT).astype(np.int64)


class CodedRows:
    """Rows that count, their codes, and their scores by the last model.

    Parameters
    ----------
    rows : PreparedRows

    Notes
    -----
    Results equal those of a new object: codes of a row depend on the row and the description, and scores are
    sums of integers.
    """

    def __init__(self, rows: PreparedRows) -> None:
        rows = rows.only_kept()
        # If only codes are kept, X has no column.
        self.X, self._y, self._labels = rows.X, rows.y, rows.labels
        #: Lookups a row since scores were last read or written.
        self.work = 0
        self._layout: FeatureCodes | None = None
        self._codes: Any = None
        self._model: AdditiveModel | None = None
        self._scores: Any = None
        self._grid: CellGrid | None = None
        self._cells: Any = None
        self._kept_for: Any = None
        self._kept: Any = None

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the result that was made for the same object before, or make it."""
        if self._kept_for is not key:
            self._kept_for, self._kept = key, make()
        return self._kept

    def strip(self) -> None:
        """Drop what is quickly made again, before the rest is written."""
        self.work, self._grid, self._cells, self._kept_for, self._kept = 0, None, None, None, None

    @property
    def rows(self) -> PreparedRows:
        """The rows, with their targets."""
        return PreparedRows(self.X, y=self._y, labels=self._labels)

    def codes(self, layout: FeatureCodes) -> NDArray[Any]:
        """Return the codes of the rows, of shape (n_features, n)."""
        before, anew = self._layout, self.X.shape[1] > 0
        if before is None or (layout is not before and (anew or layout.key != before.key)):
            self._model, self._layout, self.work = None, layout, self.work + len(layout.features)
            self._grid = self._cells = self._kept_for = self._kept = None
            anew = anew or before is None
            self._codes = layout.codes(self.X) if anew else layout.joined(before, self._codes)  # type: ignore[arg-type]
        return self._codes

    def cells(self, grid: CellGrid) -> NDArray[np.int32]:
        """Return the cells of the rows; those of a grid of several features are kept, for its term."""
        if grid is self._grid:
            return self._cells
        assert self._codes is not None
        found = grid.cells(self._codes)
        self._grid, self._cells = (grid, found) if len(grid.features) > 1 else (None, None)
        self.work += len(grid.features)
        return found

    def scores(self, model: AdditiveModel) -> IntArray:
        """Return the scores of the rows by a model; later calls change the array."""
        codes = self.codes(model.codes)
        before, self._model = self._model, None
        if before is None or not _continues(before, model):
            self._scores = model.scores(self.X, codes)
            self.work += len(codes) + sum(len(cells.features) for cells, _ in model.terms)
        else:
            self._add_changes(before, model, codes)
        self._model = model
        return self._scores

    def _add_changes(self, before: AdditiveModel, model: AdditiveModel, codes: NDArray[Any]) -> None:
        if before.base is not model.base:
            self._scores += model.base - before.base
        for code, old, new in zip(codes, before.tables, model.tables, strict=True):
            if not (old is new or np.array_equal(old, new)):
                add_code_weights(code, np.ascontiguousarray(new - old), self._scores)
                self.work += 1
        for cells, weights in model.terms[len(before.terms) :]:
            add_cell_weights(self.cells(cells), weights, self._scores)


def _continues(before: AdditiveModel, model: AdditiveModel) -> bool:
    """Return whether a model is `before` with another base, other tables and further terms."""
    return (
        before.offsets == model.offsets
        and len(before.terms) <= len(model.terms)
        and (
            all(old[1] is new[1] for old, new in zip(before.terms, model.terms, strict=False))
            # Workers read every round's model from bytes.
            or before.marks == model.marks[: len(before.terms)]
        )
    )


@dataclass(frozen=True, eq=False)
class CodeCountsPlan(Record):
    """Counts of rows by the cells of several grids.

    Attributes
    ----------
    codes : FeatureCodes
    grids : tuple of CellGrid

    Notes
    -----
    **Privacy.** A row is in one cell of every grid. Replacing it changes the counts of a grid by at most 2 in
    L1 and in squared L2; adding or removing it, by 1. The counts of t grids together change by t times as
    much.
    """

    codes: FeatureCodes = spread(FeatureCodes)
    grids: tuple[CellGrid, ...] = stored(records, CellGrid.from_dict)
    kind: ClassVar[str] = "code-counts"

    @property
    def coding(self) -> FeatureCodes:
        """Coding of the rows that are kept."""
        return self.codes

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
        """Raise ValueError if counts are impossible for n_rows rows."""
        refuse_sums((values < 0).any() or any(int(counts.sum()) != n_rows for counts in self.by_grid(values)))

    def check_room(self, n_rows: int) -> None:
        """Counts never overflow."""

    def _check_fields(self) -> None:
        for grid in self.grids:
            grid.check(self.codes.sizes)
        self._require(self.n_sums <= _MOST_SUMS, "it has too many cells")


@dataclass(frozen=True)
class ClassLoss(Record):
    """Residuals of labels: the label minus its probability.

    Attributes
    ----------
    n_labels : int
        Number of labels. With 2, there is one score, that of the second label; otherwise one score a label.
    """

    n_labels: int = stored(Fields.integer, 2, 2**16)
    kind: ClassVar[str] = "classes"
    _what: ClassVar[str] = "a loss"

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


@dataclass(frozen=True)
class NumberLoss(Record):
    """Residuals of numbers: the number, scaled to [-1, 1], minus its score, clipped.

    Attributes
    ----------
    center, half : float
        Middle and half-width of the bounds of the target.
    clip : float
        Largest magnitude of a residual, in half-widths.
    """

    center: float = stored(Fields.number)
    half: float = stored(Fields.number)
    clip: float = stored(Fields.number)
    n_outputs: ClassVar[int] = 1
    kind: ClassVar[str] = "numbers"
    _what: ClassVar[str] = "a loss"

    def add(
        self, scores: IntArray, rows: PreparedRows, cells: NDArray[np.int32], one: int, out: IntArray
    ) -> None:
        """Add the residuals of rows to the sums of their cells."""
        if rows.y is None:
            raise ValueError("the rows have no target.")
        target = np.ascontiguousarray(rows.y, dtype=np.float64)
        add_squared(scores, target, cells, UNIT, self.center, self.half, self.clip, one, out)

    def _check_fields(self) -> None:
        self._require(self.half > 0 and self.clip > 0, "half and clip must be above 0")


Loss = ClassLoss | NumberLoss


def _read_loss(content: Any) -> Any:
    return of_kind(content, (ClassLoss, NumberLoss), "a plan has a loss of an unknown kind")


@dataclass(frozen=True, eq=False)
class ResidualsPlan(Record):
    """Sums of the residuals of an additive model by the cells of a grid.

    Attributes
    ----------
    model : AdditiveModel
        Public: a function of earlier releases.
    loss : ClassLoss or NumberLoss
    grid : CellGrid
    bits : int
        Residuals are multiples of 2^-bits (for numbers, of ``clip * 2**-bits``), rounded toward zero.

    Notes
    -----
    **Privacy.** A row adds an integer vector r to the sums of one cell. Let ``one = 2**bits``. For two
    labels, and for numbers, r is one number of magnitude at most ``one``. For more labels, r is -q_i with q_i
    >= 0 for every other label, and the sum of these q_i, at most ``one``, for the row's own label. The L1
    norm of r is then at most ``2 * one``, and its squared L2 norm at most ``2 * one**2``. All of this is
    enforced on the integers. Adding or removing a row changes the sums by r. Replacing it changes them by r -
    r', in one cell or in two: at most twice the L1 norm, and four times the squared L2 norm.
    """

    model: AdditiveModel = stored(record, AdditiveModel.from_dict)
    loss: Loss = stored(record, _read_loss)
    grid: CellGrid = stored(record, CellGrid.from_dict)
    bits: int = stored(Fields.integer, 0, FINEST)
    kind: ClassVar[str] = "residuals"

    @property
    def coding(self) -> FeatureCodes | None:
        """Coding of the rows that are kept; None with offsets, which are columns of X."""
        return None if self.model.offsets else self.model.codes

    @property
    def n_sums(self) -> int:
        """Number of sums: one for every cell and output."""
        return self.grid.size * self.loss.n_outputs

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums; the index of the output changes fastest."""
        return self.coded_sums(CodedRows(rows))

    def coded_sums(self, rows: CodedRows) -> IntArray:
        """Return the sums over rows whose codes and scores are kept."""
        scores = rows.scores(self.model)
        out = np.zeros((self.grid.size, self.loss.n_outputs), dtype=np.int64)
        self.loss.add(scores, rows.rows, rows.cells(self.grid), 2**self.bits, out)
        return out.ravel()

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        table = values.reshape(-1, self.loss.n_outputs)
        most = n_rows * 2**self.bits
        norm = 1 if self.loss.n_outputs == 1 else 2
        zero = self.loss.n_outputs == 1 or not table.sum(axis=1).any()
        refuse_sums(not zero or sum(abs(int(value)) for value in values) > norm * most)

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        if n_rows * 2**self.bits > _MOST_SUM:
            raise OverflowError("too many rows for the grid: its exact sums do not fit 64-bit integers.")

    def _check_fields(self) -> None:
        self.grid.check(self.model.codes.sizes)
        same = self.loss.n_outputs == self.model.n_outputs and self.n_sums <= _MOST_SUMS
        self._require(same, "its loss and its model have different numbers of outputs")


@dataclass(frozen=True, eq=False)
class ColumnResidualsPlan(Record):
    """Sums of the residuals of an additive model by the cells of several grids, one after the other.

    Attributes
    ----------
    model : AdditiveModel
    loss : ClassLoss or NumberLoss
    grids : tuple of CellGrid
    bits : int
        As in `ResidualsPlan`.

    Notes
    -----
    **Privacy.** A row changes the sums of every grid as it changes those of a `ResidualsPlan`.
    """

    model: AdditiveModel = stored(record, AdditiveModel.from_dict)
    loss: Loss = stored(record, _read_loss)
    grids: tuple[CellGrid, ...] = stored(records, CellGrid.from_dict)
    bits: int = stored(Fields.integer, 0, FINEST)
    kind: ClassVar[str] = "column-residuals"

    @property
    def coding(self) -> FeatureCodes | None:
        """Coding of the rows that are kept."""
        return self.parts[0].coding

    @cached_property
    def parts(self) -> tuple[ResidualsPlan, ...]:
        """Plans of single grids."""
        return tuple(ResidualsPlan(self.model, self.loss, grid, self.bits) for grid in self.grids)

    @property
    def n_sums(self) -> int:
        """Number of sums of all grids."""
        return sum(part.n_sums for part in self.parts)

    def by_grid(self, values: IntArray) -> list[IntArray]:
        """Return the sums of every grid."""
        return np.split(values, np.cumsum([part.n_sums for part in self.parts])[:-1])

    def sums(self, rows: PreparedRows) -> IntArray:
        """Return the sums, grid after grid."""
        return self.coded_sums(CodedRows(rows))

    def coded_sums(self, rows: CodedRows) -> IntArray:
        """Return the sums over rows whose codes and scores are kept."""
        return np.concatenate([part.coded_sums(rows) for part in self.parts])

    def check_sums(self, values: IntArray, n_rows: int) -> None:
        """Raise ValueError if sums are impossible for n_rows rows."""
        for part, sums in zip(self.parts, self.by_grid(values), strict=True):
            part.check_sums(sums, n_rows)

    def check_room(self, n_rows: int) -> None:
        """Raise OverflowError if the sums of so many rows might overflow."""
        self.parts[0].check_room(n_rows)

    def _check_fields(self) -> None:
        self._require(bool(self.grids) and self.n_sums <= _MOST_SUMS, "it has no cells, or too many")
