# SPDX-License-Identifier: BSD-3-Clause
"""Specification of a collection, which a curator publishes: partition, randomizer, target and columns."""

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

# Format and version are part of every hash. Version 5 lacks the integers by which reports are drawn, and
# keeps its hash.
_FORMAT, _VERSION, _WITHOUT_INTEGERS = "skprivate.tree", 6, 5
_INTEGERS = ("threshold", "exponent", "noise_scale")
_FIELDS = ("partition", "randomizer", "target", "features", "label", "domain", "hash")
# Number of rows whose reports are drawn together, and of their bytes; only seeded results depend on them.
_ROWS_AT_ONCE, _BYTES_AT_ONCE = 2**16, 2**24


@public_module("skprivate.collection")
@dataclass(frozen=True, eq=False, repr=False)
class TreeSpecification:
    """The question to every client: its cell and target, and the randomizer of the report.

    The target is a label, one of ``classes``, or a number, which a client rounds at random to one of a few
    levels between the bounds ``bounds_y``.

    It is public. A curator makes it (`TreeCurator.specification`) and publishes its JSON. A client needs
    nothing else.

    Parameters
    ----------
    partition : Partition, ColumnBins or TableCells
        The cells. With `ColumnBins` a client has a cell in every column, and with `TableCells` in every
        declared column of the domain.
    randomizer : LocalRandomizer
        The mechanism. It has the partition's number of cells, and one label for each class, or for each level
        to which numbers are rounded. With `ColumnBins` or `TableCells` it is a `ColumnRandomizer` for the
        same columns.
    classes : sequence of str, int, float or bool, default=None
        Two or more labels: all text or all numbers, each once. White space around text is ignored, and True
        equals 1. None: the target is a number.
    features : sequence of str, default=None
        Names of the columns in the question, in the partition's order. None: those of `domain`, or without
        one "x0", "x1", ... ...
    label : str, default="label"
        Name of the target's column.
    domain : TableDomain, default=None
        Declared columns. The question is then about these, including text, dates and missing cells, and the
        partition's columns are the encoded ones. None: the columns are numbers.
    bounds_y : tuple of two floats, default=None
        Lower and upper bound of the target, if it is a number; ``classes`` must then be None.

    Attributes
    ----------
    hash : str
        64 hexadecimal digits over everything. Two specifications with one hash are the same question.

    Raises
    ------
    ValueError
        Parts do not fit together, or names or classes are empty, repeated or of another type.

    See Also
    --------
    TreeClient : Answers a specification, once.
    TreeCurator : Makes a specification and adds up the answers.

    Notes
    -----
    **Privacy**: a specification is made from public data alone. Clients should read the question in it, and
    compare the hash with one that was published elsewhere. Even a curator who gave every client another
    partition could learn no more from one report than epsilon allows. This holds if ``randomizer.relation``
    is "local". If it is "label", a report reveals the leaf exactly, and a `TreeClient` answers only if its
    owner agreed to that.

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
        """Return the content of `to_json` as plain lists, numbers and texts; `from_dict` restores it."""
        return self._content() | {"hash": self.hash}

    @classmethod
    def from_json(cls, source: str | bytes | os.PathLike[str]) -> Self:
        """Read a specification; everything in it is checked.

        Parameters
        ----------
        source : str, bytes or path-like
            JSON, or the path of a file that holds it. A str that begins with "{" is JSON, and any other str
            the name of a file. A byte-order mark is accepted.

        Returns
        -------
        specification : TreeSpecification

        Raises
        ------
        TypeError
            `source` is of another type.
        ValueError
            It is neither JSON nor the name of a file, not a specification, of another version, contradictory,
            or changed after it was written (by the hash).
        OSError
            The file cannot be read.
        """
        return restore_json(source, cls.from_dict, "specification")

    @classmethod
    def from_dict(cls, state: Any) -> Self:
        """Restore a specification from `to_dict`; ValueError for any other value."""
        older = isinstance(state, dict) and state.get("version") == _WITHOUT_INTEGERS
        check_envelope(state, _FORMAT, _WITHOUT_INTEGERS if older else _VERSION, _FIELDS)
        content = {name: value for name, value in state.items() if name != "hash"}
        if digest(content) != state["hash"]:
            raise ValueError("its content does not fit its hash: it was changed or damaged")
        fields = Fields(state, ("format", "version", *_FIELDS))
        partition = kind_of(state["partition"]).from_dict(state["partition"])
        asked = fields.mapping("target")
        target = LabelTarget.from_dict(asked) if "classes" in asked else NumberTarget.from_dict(asked)
        # Checked before the randomizer could allocate memory for its cells.
        plan = fields.mapping("randomizer")
        if (plan.get("n_cells"), plan.get("n_labels")) != (partition.n_leaves, target.n_labels):
            raise ValueError("its randomizer has another number of cells or labels")
        declared = state["domain"]
        # Computed and certified again, and compared with the rest by the hash.
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
            # Its reports would have another hash than the published one.
            raise ValueError("it is not in the one form that is written")
        return made

    def pack(self, reports: NDArray[Any]) -> bytes:
        """Return the raw bytes of reports in C order, little-endian, without anything between them.

        Parameters
        ----------
        reports : ndarray of shape (n, \\*report_shape)
            Reports of the randomizer.

        Returns
        -------
        data : bytes of length ``n * randomizer.report_bytes``
        """
        return reports.astype(self.randomizer.report_dtype.newbyteorder("<"), copy=False).tobytes()

    def unpack(self, data: bytes | bytearray | memoryview) -> NDArray[Any]:
        """Return the reports in bytes: the inverse of `pack`.

        Parameters
        ----------
        data : bytes-like
            A whole number of reports. Their values are not checked here, but by the randomizer's
            ``aggregate``.

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
            raise ValueError(f"{length} bytes are not a whole number of reports of {each} bytes")
        dtype = self.randomizer.report_dtype
        flat = np.frombuffer(data, dtype=dtype.newbyteorder("<")).astype(dtype, copy=False)
        return flat.reshape(-1, *self.randomizer.report_shape)

    def randomize_many(
        self, X: Any, y: Any = None, *, protect: Protection = "record", random_state: Any = None
    ) -> Iterator[NDArray[Any]]:
        """Draw one report for every row, for many people at once.

        It is for a trusted holder of the rows of many people: a gateway on their side, the operator of a
        fleet, or a simulation. Memory does not grow with the number of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features), data frame, Arrow data, or iterator of these
            One person in each row. Columns of arrays are in the order of ``features``. Columns of a frame of
            pandas or polars are found by their names, and other columns are not read. The same holds for an
            object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, which needs pyarrow. An iterator, for
            example a generator, returns tables with a column of labels, or pairs (X, y).
        y : array-like of shape (n,), default=None
            The labels or numbers. None: they are in the column ``label`` of X, or X is an iterator.
        protect : {"record", "label"}, default="record"
            What must stay private, as in `TreeClient`.
        random_state : None, int, RandomState or Generator, default=None
            None: entropy of the operating system. Any other value is reproducible and **not private**. Use it
            only in simulations and tests.

        Yields
        ------
        reports : ndarray of shape (k, \\*report_shape)
            Reports in the order of the rows; k is at most 2^16. `TreeCurator.update` accepts the whole
            iterator, and `ReportWriter.write` each array.

        Raises
        ------
        ImportError
            X is Arrow data, and pyarrow is not installed.
        PrivacyLeakError
            The specification protects only the label, and ``protect`` is "record".
        TypeError, ValueError
            The form, the columns or the types of columns of a table are not the expected ones. It is never
            raised for the value of a cell. In a stream it is raised when that table is reached.

        See Also
        --------
        TreeClient : The same for one person, on that person's device, with a memory of its answers.
        TreeCurator : Where the reports go.

        Notes
        -----
        **Privacy.** Relation: local. The category of a row is its cell and its label or level. It depends on
        that row, on the public specification and, for a number, on fresh randomness of its rounding. The
        report of the category is drawn with other fresh randomness, by the same mechanism as in a
        `TreeClient`. Each report is therefore epsilon-private, and the reports of different people have the
        same joint distribution as if each were drawn on its own device. But the caller sees the rows and must
        be trusted: the trust boundary runs around the caller, and only the yielded reports may leave it. If
        the curator is the caller, this is a simulation.

        This method does not remember who has answered: a row that is passed twice is answered twice, and
        costs 2 epsilon. The reports have the order and the number of the rows.

        Every row gets exactly one report, and no value raises an error, with or without strict mode: an error
        or a missing report would reveal information about a row without spending budget. Values that a
        `TreeClient` refuses are therefore replaced by public values. NaN, a missing cell and text that is not
        a number become the middle of the column's bounds, and infinity the bound on its side. A label outside
        the classes becomes the first class. A target that should be a number, but is not, becomes the middle
        of ``bounds_y``. With a domain, an invalid cell counts as missing. Check for such rows before.

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
        # Imported here: reading tables needs scikit-learn, which a client does not need.
        from ..rounds._tables import TableColumns
        from ._bulk_rows import read_numbers, read_rows, regroup

        check_protection(self, protect)
        entropy, randomizer = check_entropy(random_state), self.randomizer
        columns = TableColumns(self.features, self.label)
        encode = read_numbers if self.domain is None else partial(self.domain.encode, strict=True)
        rows = read_rows(X, y, columns, encode, self.partition, self._target.read_many, self.classes)
        size = max(min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // randomizer.report_bytes), 1)
        # Pieces of one size, so that seeded results do not depend on the batches of rows.
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
            Numbers are rounded by the first words, before those of the reports.

        Returns
        -------
        reports : ndarray of shape (n, \\*report_shape)
        """
        labels = self._target.draw(target, entropy.random_bytes)
        labels = labels if cells.ndim == 1 else labels[:, np.newaxis]
        return self.randomizer.randomize(self.randomizer.n_labels * cells + labels, entropy)

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
    """Refuse a specification that protects less than the person wants."""
    if protect not in ("record", "label"):
        raise ValueError(f"protect must be 'record' or 'label', got {protect!r}.")
    if protect == "record" and specification.randomizer.relation == "label":
        raise PrivacyLeakError(
            "This specification protects the label alone: a report reveals the leaf, and so the features, "
            'exactly. If the curator knows the features already, answer it with protect="label".'
        )


def _target_of(classes: Any, bounds_y: Any, randomizer: LocalRandomizer) -> LabelTarget | NumberTarget:
    if (classes is None) == (bounds_y is None):
        raise ValueError("pass either classes or bounds_y for the target, and not both")
    if classes is not None:
        return LabelTarget(classes)
    bounds = tuple(bounds_y)
    if len(bounds) != 2 or not all(isinstance(side, Real) for side in bounds):
        raise ValueError("bounds_y must be a pair of numbers")
    return NumberTarget(float(bounds[0]), float(bounds[1]), randomizer.n_labels)
