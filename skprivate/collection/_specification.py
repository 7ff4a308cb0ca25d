# SPDX-License-Identifier: BSD-3-Clause
"""Specification of a collection: partition, randomizer, target and columns that a curator publishes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray, Protection
from ..domain import TableDomain
from ..domain._labels import Label
from ..exceptions import PrivacyLeakError
from ..noise import check_entropy
from ..noise._mechanisms import Entropy
from ..partition import ColumnBins, Partition, TableCells
from ..randomizers import LocalRandomizer, randomizer_from_dict
from ..utils._json_documents import Fields, canonical, check_envelope, digest, restore_json
from ..utils._public_module import public_module
from ._questions import LabelTarget, NumberTarget, check_columns, check_domain, check_names, kind_of

# Both are part of every hash. Version 5 lacks the integers that reports are drawn by, and keeps its hash.
_FORMAT, _VERSION, _WITHOUT_INTEGERS = "skprivate.tree", 6, 5
_INTEGERS = ("threshold", "exponent", "noise_scale")
_FIELDS = ("partition", "randomizer", "target", "features", "label", "domain", "hash")
# Rows whose reports are drawn together, and bytes of such reports: no result but a seeded one depends on it.
_ROWS_AT_ONCE, _BYTES_AT_ONCE = 2**16, 2**24


@public_module("skprivate.collection")
@dataclass(frozen=True, eq=False, repr=False)
class TreeSpecification:
    """What every client is asked to report, its cell and target, and how the report is randomised.

    The target is a label, one of ``classes``, or a number, which a client rounds at random to one of a few
    levels between the bounds ``bounds_y``.

    It is public. A curator makes it (`TreeCurator.specification`) and publishes its JSON; a client needs
    nothing else.

    Parameters
    ----------
    partition : Partition, ColumnBins or TableCells
        The cells; with `ColumnBins` a client has a cell in every column, with `TableCells` in every declared
        column of the domain.
    randomizer : LocalRandomizer
        The mechanism, with the partition's number of cells and as many labels as there are classes, or as
        there are levels that numbers are rounded to. With `ColumnBins` or `TableCells` a `ColumnRandomizer`
        for as many columns.
    classes : sequence of str, int, float or bool, default=None
        Two or more labels: all text or all numbers, none of them twice. White space around text does not
        count, and True equals 1. None: the target is a number.
    features : sequence of str, default=None
        Names of the columns that are asked for, in the partition's order. None: those of `domain`; without
        one "x0", "x1", ...
    label : str, default="label"
        Name of the target's column.
    domain : TableDomain, default=None
        Declared columns: what is asked for are then these, text, dates and missing cells included, and the
        partition's columns are the encoded ones. None: the columns are numbers.
    bounds_y : tuple of two floats, default=None
        Lower and upper bound of the target, where it is a number; then ``classes`` is None.

    Attributes
    ----------
    hash : str
        64 hexadecimal digits over everything; two specifications of one hash are the same question.

    Raises
    ------
    ValueError
        Parts that do not fit together, or names or classes that are empty, repeated or of another type.

    See Also
    --------
    TreeClient : Answers a specification, once.
    TreeCurator : Makes a specification and adds up the answers.

    Notes
    -----
    **Privacy**: a specification is made from public data alone. Clients should read in it what they are
    asked, and compare the hash with one that was published at a second place: a curator who gave every
    client another partition could still learn no more than epsilon allows from one report. That is so where
    ``randomizer.relation`` is "local"; where it is "label", a report tells the leaf exactly, and a
    `TreeClient` answers only if its owner agreed to that.

    Examples
    --------
    >>> from skprivate.randomizers import HadamardRandomizer
    >>> from skprivate.collection import TreeSpecification
    >>> from skprivate.partition import Partition
    >>> partition = Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0])
    >>> specification = TreeSpecification(
    ...     partition, HadamardRandomizer(1.0, n_cells=2), ["no", "yes"], ["age"], "smokes")
    >>> again = TreeSpecification.from_json(specification.to_json())
    >>> again.features, again.label, again.classes, again.hash == specification.hash
    (('age',), 'smokes', ('no', 'yes'), True)

    A number of cigarettes a day, rounded to 0, 20 or 40:

    >>> randomizer = HadamardRandomizer(1.0, n_cells=2, n_labels=3)
    >>> number = TreeSpecification(partition, randomizer, features=["age"], label="smokes", bounds_y=(0, 40))
    >>> number.classes, number.bounds_y, number.to_dict()["target"]["levels"]
    (None, (0.0, 40.0), 3)
    """

    partition: Partition | ColumnBins | TableCells
    randomizer: LocalRandomizer
    classes: tuple[Label, ...] | None
    features: tuple[str, ...]
    label: str
    domain: TableDomain | None
    bounds_y: tuple[float, float] | None = None

    def __init__(
        self,
        partition: Partition | ColumnBins | TableCells,
        randomizer: LocalRandomizer,
        classes: Sequence[Label] | NDArray[Any] | None = None,
        features: Sequence[str] | None = None,
        label: str = "label",
        domain: TableDomain | None = None,
        *,
        bounds_y: tuple[float, float] | None = None,
    ) -> None:
        target = _target_of(classes, bounds_y, randomizer)
        if (randomizer.n_cells, randomizer.n_labels) != (partition.n_leaves, target.n_labels):
            raise ValueError(
                f"the randomizer is for {randomizer.n_cells} cells and {randomizer.n_labels} labels, but "
                f"there are {partition.n_leaves} cells and {target.n_labels} classes"
            )
        check_columns(partition, randomizer)
        check_domain(domain, partition, features)
        own = [f"x{i}" for i in range(partition.n_features)] if domain is None else domain.names
        names = check_names(own if features is None else features, label, len(own))
        values = (partition, randomizer, target.classes, names, label, domain, target.bounds)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)
        self.__dict__["_version"] = _VERSION

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the canonical JSON of everything else, in hexadecimal digits."""
        return digest(self._content())

    def to_json(self) -> str:
        """Return the canonical JSON text; `from_json` restores it.

        Returns
        -------
        text : str
            ASCII on one line.
        """
        return canonical(self.to_dict()).decode("ascii")

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes, as plain lists, numbers and texts; `from_dict` restores it."""
        return self._content() | {"hash": self.hash}

    @classmethod
    def from_json(cls, source: str | bytes | os.PathLike[str]) -> Self:
        """Read a specification; everything in it is checked.

        Parameters
        ----------
        source : str, bytes or path-like
            JSON, or the path of a file that holds it. A str that begins with "{" is JSON; any other str is
            the name of a file. A byte-order mark is read.

        Returns
        -------
        specification : TreeSpecification

        Raises
        ------
        TypeError
            `source` is of another type.
        ValueError
            Neither JSON nor the name of a file; not a specification, of another version, changed since it
            was written (the hash), or contradictory.
        OSError
            The file cannot be read.
        """
        return restore_json(source, cls.from_dict, "specification")

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore a specification from `to_dict`; ValueError for anything that is not such a dictionary."""
        older = isinstance(state, dict) and state.get("version") == _WITHOUT_INTEGERS
        check_envelope(state, _FORMAT, _WITHOUT_INTEGERS if older else _VERSION, _FIELDS)
        content = {name: value for name, value in state.items() if name != "hash"}
        if digest(content) != state["hash"]:
            raise ValueError("its content does not fit its hash: it was changed or damaged")
        fields = Fields(state, ("format", "version", *_FIELDS))
        partition = kind_of(state["partition"]).from_dict(state["partition"])
        asked = fields.mapping("target")
        target = LabelTarget.from_dict(asked) if "classes" in asked else NumberTarget.from_dict(asked)
        # Before the randomizer may think of allocating anything for its cells.
        plan = fields.mapping("randomizer")
        if (plan.get("n_cells"), plan.get("n_labels")) != (partition.n_leaves, target.n_labels):
            raise ValueError("its randomizer is for another number of cells or labels")
        declared = state["domain"]
        # Computed anew, certified, and compared with the rest by the hash.
        plan = {name: value for name, value in plan.items() if older or name not in _INTEGERS}
        made = cls(
            partition,
            randomizer_from_dict(plan),
            target.classes,
            fields.texts("features"),
            state["label"],
            None if declared is None else TableDomain.from_dict(declared),
            bounds_y=target.bounds,
        )
        made.__dict__["_version"] = state["version"]
        if made.hash != state["hash"]:
            # Its reports would bear another hash than the one that was published.
            raise ValueError("it is not in the one form that is written")
        return made

    def pack(self, reports: NDArray[Any]) -> bytes:
        """Return the raw bytes of reports: C order, little-endian, nothing between them.

        Parameters
        ----------
        reports : ndarray of shape (n, \\*report_shape)
            As the randomizer returns them.

        Returns
        -------
        data : bytes of length ``n * randomizer.report_bytes``
        """
        return reports.astype(self.randomizer.report_dtype.newbyteorder("<"), copy=False).tobytes()

    def unpack(self, data: bytes | bytearray | memoryview) -> NDArray[Any]:
        """Return the reports that bytes hold; `pack` backwards.

        Parameters
        ----------
        data : bytes-like
            A whole number of reports. Their values are not checked; the randomizer's ``aggregate`` does that.

        Returns
        -------
        reports : ndarray of shape (n, \\*report_shape)

        Raises
        ------
        ValueError
            Part of a report is missing.
        """
        length, each = memoryview(data).nbytes, self.randomizer.report_bytes
        if length % each:
            raise ValueError(f"{length} bytes are no whole number of reports of {each} bytes")
        dtype = self.randomizer.report_dtype
        flat = np.frombuffer(data, dtype=dtype.newbyteorder("<")).astype(dtype, copy=False)
        return flat.reshape(-1, *self.randomizer.report_shape)

    def randomize_many(
        self, X: Any, y: Any = None, *, protect: Protection = "record", random_state: Any = None
    ) -> Iterator[NDArray[Any]]:
        """Draw one report for every row, for many people at once.

        For whoever holds the rows of many people and is trusted with them: a gateway on their side, the
        operator of a fleet, a simulation. Memory does not grow with the number of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features), data frame, Arrow data, or iterator of these
            One person a row. Columns of arrays are in the order of ``features``; those of a frame of pandas
            or polars, and of an object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, which needs
            pyarrow, are found by their names, and others are not looked at. An iterator, a generator for
            example, returns tables with a column of labels, or pairs (X, y).
        y : array-like of shape (n,), default=None
            The labels or numbers. None: they are the column ``label`` of X, or X is an iterator.
        protect : {"record", "label"}, default="record"
            What must stay private; as in `TreeClient`.
        random_state : None, int, RandomState or Generator, default=None
            None: entropy of the operating system. Anything else is reproducible and **not private**; for
            simulations and tests.

        Yields
        ------
        reports : ndarray of shape (k, \\*report_shape)
            In the order of the rows; k is at most 2^16. `TreeCurator.update` takes the whole iterator, and
            `ReportWriter.write` each of these.

        Raises
        ------
        ImportError
            Arrow data, and pyarrow is not installed.
        PrivacyLeakError
            The specification protects the label alone, and ``protect`` is "record".
        TypeError, ValueError
            A table of another form, or with other columns or types of columns, than wanted; never for the
            value of a cell. In a stream, when that table is reached.

        See Also
        --------
        TreeClient : The same for one person, on that person's device, with a memory of what was answered.
        TreeCurator : Where the reports go.

        Notes
        -----
        **Privacy.** Relation: local. The category of a row, its cell and label or level, depends on that row,
        on the public specification and, for a number, on fresh randomness of its rounding; its report is
        drawn from that category with other fresh randomness, by the same mechanism as a `TreeClient`'s: each
        report is epsilon-private, and a list of reports of different people has the law that it has if each
        draws on a device of their own. What differs is who must be trusted: the caller sees the rows, so the
        boundary runs around the caller, and only what this method yields may leave it. If the curator is the
        caller, this is a simulation.

        Nobody remembers here who has answered: a row that is passed twice is answered twice, and costs
        2 epsilon. The order of the reports is that of the rows, and their number that of the rows.

        Every row gets exactly one report, and no value makes the method fail, inside strict mode and outside:
        an error, or a report that is not there, would tell of a row for nothing. So what a `TreeClient`
        refuses counts as a public value here: NaN, a missing cell and text that is no number as the middle of
        the column's bounds, infinity as the bound on its side, a label outside the classes as the first
        class, a target that is no number, where one is asked for, as the middle of ``bounds_y``; with a
        domain, a cell that is no value of its column as a missing one. Look for such rows before.

        Proof: :doc:`/proofs/tree_release`.

        Examples
        --------
        >>> import numpy as np
        >>> from skprivate.randomizers import HadamardRandomizer
        >>> from skprivate.collection import TreeSpecification
        >>> from skprivate.partition import Partition
        >>> partition = Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0])
        >>> specification = TreeSpecification(
        ...     partition, HadamardRandomizer(1.0, n_cells=2), ["no", "yes"], ["age"], "smokes")
        >>> ages = np.linspace(0, 100, 100_000)[:, None]
        >>> [len(reports) for reports in specification.randomize_many(ages, np.full(100_000, "no"))]
        [65536, 34464]
        """
        # Reading tables needs scikit-learn, which a client has no use for.
        from ..rounds._tables import TableColumns
        from ._bulk_rows import read_numbers, read_rows, regroup

        check_protection(self, protect)
        entropy, randomizer = check_entropy(random_state), self.randomizer
        columns = TableColumns(self.features, self.label)
        encode = read_numbers if self.domain is None else partial(self.domain.encode, strict=True)
        rows = read_rows(X, y, columns, encode, self.partition, self._target.read_many, self.classes)
        size = max(min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // randomizer.report_bytes), 1)
        # Pieces of one size, so that with a seed nothing depends on how the rows come.
        place: Any = 0 if isinstance(self.partition, Partition) else slice(-1)
        return (
            self._draw_reports(piece[:, place].astype(np.int64), piece[:, -1], entropy)
            for piece in regroup(rows, size)
        )

    def _draw_reports(self, cells: IntArray, target: FloatArray, entropy: Entropy) -> NDArray[Any]:
        """Draw one report for every row.

        Parameters
        ----------
        cells : ndarray of int64 of shape (n,), or (n, n_columns) where there is a cell in every column
        target : ndarray of float64 of shape (n,)
            Positions of labels, or numbers as shares of the width between their bounds.
        entropy : Entropy
            Numbers are rounded by words of it that come before those of the reports.

        Returns
        -------
        reports : ndarray of shape (n, \\*report_shape)
        """
        labels = self._target.draw(target, entropy.random_bytes)
        labels = labels if cells.ndim == 1 else labels[:, np.newaxis]
        return self.randomizer.randomize(self.randomizer.n_labels * cells + labels, entropy)

    def _read_target(self, y: Any) -> float:
        """Return one person's target, as `_draw_reports` takes it; ValueError, which shows no value."""
        return self._target.read(y, self.label)

    @cached_property
    def _target(self) -> LabelTarget | NumberTarget:
        return _target_of(self.classes, self.bounds_y, self.randomizer)

    def _content(self) -> dict[str, Any]:
        version: int = self.__dict__.get("_version", _WITHOUT_INTEGERS)  # pickles of version 5 have none
        integers = {} if version == _WITHOUT_INTEGERS else self.randomizer.drawn_by()
        return {
            "format": _FORMAT,
            "version": version,
            "partition": self.partition.to_dict(),
            "randomizer": {**self.randomizer.to_dict(), **integers},
            "target": self._target.document,
            "features": list(self.features),
            "label": self.label,
            "domain": None if self.domain is None else self.domain.to_dict(),
        }

    def __eq__(self, other: object) -> bool:
        return self.hash == other.hash if isinstance(other, TreeSpecification) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        return (
            f"TreeSpecification({self.partition.n_leaves} cells of {len(self.features)} columns, "
            f"{self._target.describe()}, {self.randomizer.name}, "
            f"epsilon={float(self.randomizer.epsilon):g}, "
            f"hash={self.hash[:8]}...)"
        )


def check_protection(specification: TreeSpecification, protect: str) -> None:
    """Refuse to answer what does not protect as much as the person wants."""
    if protect not in ("record", "label"):
        raise ValueError(f"protect must be 'record' or 'label', got {protect!r}.")
    if protect == "record" and specification.randomizer.relation == "label":
        raise PrivacyLeakError(
            "This specification protects the label alone: a report reveals the leaf, and so the features, "
            'exactly. If the curator knows the features already, answer it with protect="label".'
        )


def _target_of(classes: Any, bounds_y: Any, randomizer: LocalRandomizer) -> LabelTarget | NumberTarget:
    if (classes is None) == (bounds_y is None):
        raise ValueError("either classes or bounds_y says what the target is, and never both")
    if classes is not None:
        return LabelTarget(classes)
    bounds = tuple(bounds_y)
    if len(bounds) != 2 or not all(isinstance(side, Real) for side in bounds):
        raise ValueError("bounds_y must be a pair of numbers")
    return NumberTarget(float(bounds[0]), float(bounds[1]), randomizer.n_labels)
