# SPDX-License-Identifier: BSD-3-Clause
"""Tables of rows in CSV files, read in chunks; an error names the file and the line, never a value."""

from __future__ import annotations

import contextlib
import csv
import functools
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from ..domain import TableDomain
from ..domain._labels import Label, class_positions
from ..utils._tables import table_domain
from ._questions import NumberTarget
from ._specification import TreeSpecification

_ROWS_AT_ONCE = 2**13


@dataclass
class RowChunk:
    """Some rows of a table.

    Attributes
    ----------
    lines : tuple of int
        Line of the file on which each row ends.
    columns : list of tuple of str
        The cells, by column.
    """

    lines: tuple[int, ...]
    columns: list[tuple[str, ...]]


class CsvTable:
    """An open CSV file with a header, in UTF-8; use it in a ``with`` block.

    Parameters
    ----------
    path : str or path-like

    Attributes
    ----------
    header : list of str
        Names of the columns, all different.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with contextlib.ExitStack() as stack:
            # utf-8-sig: spreadsheets write a byte-order mark at the start.
            file = stack.enter_context(open(path, newline="", encoding="utf-8-sig"))
            self._reader = csv.reader(file, strict=True)
            self.header = self._read_header()
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def error(self, line: int, problem: str) -> ValueError:
        """Return the error that names the file and the line."""
        return ValueError(f"{self.path}, line {line}: {problem}.")

    def check_columns(self, wanted: Sequence[str]) -> None:
        """Refuse a table without exactly these columns, in any order."""
        unknown = [name for name in self.header if name not in wanted]
        missing = [name for name in wanted if name not in self.header]
        for problem, names in (("missing", missing), ("unknown", unknown)):
            if names:
                raise self.error(1, f"column {names[0]!r} is {problem}; wanted are {', '.join(wanted)}")

    def chunks(self) -> Iterator[RowChunk]:
        """Yield all rows, some thousands at a time; blank lines are skipped."""
        rows = self._rows()
        while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            lines, cells = zip(*some, strict=True)
            yield RowChunk(lines, list(zip(*cells, strict=True)))

    def numbers(self, chunk: RowChunk, names: Sequence[str], *, remedy: bool = False) -> FloatArray:
        """Return the cells of some columns as finite numbers, shape (n_rows, n_names).

        With `remedy`, for public rows, an error shows a domain for the columns.
        """
        out = np.empty((len(chunk.lines), len(names)))
        for position, name in enumerate(names):
            cells = chunk.columns[self.header.index(name)]
            try:
                out[:, position] = [float(cell) for cell in cells]
                finite = np.isfinite(out[:, position])
            except ValueError:
                finite = np.array([_is_finite(cell) for cell in cells])
            if not finite.all():
                line = chunk.lines[int(np.argmin(finite))]
                # Outside the handler, so that NumPy's message with the cell is not the context of this error.
                said = self._remedy(chunk, names) if remedy else ""
                raise self.error(line, f"column {name!r} must hold a finite number{said}")
        return out

    def _remedy(self, chunk: RowChunk, names: Sequence[str]) -> str:
        types = {
            name: np.dtype(float if all(map(_is_finite, chunk.columns[self.header.index(name)])) else object)
            for name in names
        }
        return (
            "; text, dates and missing cells are declared by --domain DOMAIN.json, a file with the text of "
            f"{table_domain(types)}.to_json()"
        )

    def encoded(self, chunk: RowChunk, domain: TableDomain) -> FloatArray:
        """Return the cells of declared columns as numbers, shape (n_rows, d)."""
        cells = [list(chunk.columns[self.header.index(name)]) for name in domain.names]
        with contextlib.suppress(TypeError, ValueError):
            return domain.encode(dict(zip(domain.names, cells, strict=True)), strict=False)
        # Rows are read one by one to find the one that fails.
        problems = (
            (line, _problem(domain, row))
            for line, row in zip(chunk.lines, zip(*cells, strict=True), strict=True)
        )
        raise self.error(*next((line, problem) for line, problem in problems if problem is not None))

    def labels(self, chunk: RowChunk, name: str, classes: Sequence[Label]) -> IntArray:
        """Return the positions in `classes` of a column's cells, shape (n_rows,)."""
        position = _label_reader(tuple(classes))
        found = np.array([position(cell) for cell in chunk.columns[self.header.index(name)]], dtype=np.int64)
        if (found < 0).any():
            line = chunk.lines[int(np.argmax(found < 0))]
            raise self.error(line, f"column {name!r} must hold one of the classes")
        return found

    def target(self, chunk: RowChunk, specification: TreeSpecification) -> FloatArray:
        """Return the target of every row for the reports of a specification, shape (n_rows,)."""
        name, asked = specification.label, specification._target
        if isinstance(asked, NumberTarget):
            return asked.shares(self.numbers(chunk, [name])[:, 0])
        return self.labels(chunk, name, asked.classes).astype(np.float64)

    def _read_header(self) -> list[str]:
        header = next(self._guarded(), None)
        if not header:
            raise self.error(1, "the header with the names of the columns is missing")
        # By number: if the header is missing, these are a person's values.
        first: dict[str, int] = {}
        for number, name in enumerate(header, start=1):
            if first.setdefault(name, number) != number:
                raise self.error(1, f"columns {first[name]} and {number} have the same name")
        return header

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        width = len(self.header)
        for row in self._guarded():
            if not row:
                continue
            if len(row) != width:
                raise self.error(self._reader.line_num, f"{len(row)} cells, but there are {width} columns")
            yield self._reader.line_num, row

    def _guarded(self) -> Iterator[list[str]]:
        """Yield rows; the messages of codec and parser, which show bytes of the data, are replaced."""
        problem = None
        try:
            yield from self._reader
        except UnicodeDecodeError:
            problem = "the file is not in UTF-8 near here"
        except csv.Error:
            problem = "this is not CSV: look for an odd quotation mark, or one cell that is huge"
        if problem is not None:
            raise self.error(self._reader.line_num + 1, problem)


def guess_labels(cells: Sequence[str]) -> NDArray[Any]:
    """Return labels as ints if all are ints, or else as floats or texts."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return np.array([kind(cell) for cell in cells])
    return np.array(cells)


def _problem(domain: TableDomain, row: Sequence[str]) -> str | None:
    try:
        domain.encode([row], strict=False)
    except (TypeError, ValueError) as error:
        return str(error).rstrip(".")
    return None


def _is_finite(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _label_reader(classes: tuple[Label, ...]) -> Callable[[str], int]:
    """Return a function from a cell to its position among the classes, -1 for other cells."""
    positions = class_positions(classes)
    if isinstance(classes[0], str):
        return lambda cell: positions.get(cell.strip(), -1)
    words = {"false": False, "true": True} if all(isinstance(label, bool) for label in classes) else {}

    @functools.lru_cache(maxsize=1024)
    def read(cell: str) -> int:
        if cell.lower() in words:
            return positions[words[cell.lower()]]
        for kind in (int, float):
            with contextlib.suppress(ValueError):
                return positions.get(kind(cell), -1)
        return -1

    return read
