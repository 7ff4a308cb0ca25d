# SPDX-License-Identifier: BSD-3-Clause
"""Client of a collection: one report for every specification, within a person's ceiling on epsilon."""

import base64
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypedDict

import numpy as np

from .._typing import FloatArray, IntArray, Protection
from ..accounting._privacy_amounts import from_text, show, to_text
from ..exceptions import BudgetExceededError
from ..noise import check_entropy
from ..utils import check_positive
from ..utils._files import OWNER_ONLY, locked, make_lasting, write_atomically
from ..utils._json_documents import (
    UNREADABLE,
    Fields,
    check_rewritten,
    read_sealed,
    seal_document,
    unpack_bytes,
)
from ..utils._public_module import public_module
from ._questions import read_number
from ._specification import TreeSpecification, check_protection

_FORMAT = "skprivate.client"
_VERSION = 1
_FIELDS = ("lifetime", "spent", "reports")


class ClientOptions(TypedDict, total=False):
    """Further parameters of a `TreeClient`."""

    memory: str | os.PathLike[str] | None
    lifetime_epsilon: float | Fraction | None
    protect: Protection


@public_module("skprivate.collection")
class TreeClient:
    """Answers a specification for ONE person, on that person's device.

    The first call of `randomize` draws the report. Every later call returns the same report, whatever its
    arguments are, because a second draw would cost a second epsilon. A new specification costs its own
    epsilon, up to a ceiling for the person's lifetime.

    Parameters
    ----------
    specification : TreeSpecification
        The curator's question.
    memory : str or path-like, default=None
        A file that stores reports and the budget spent, also over restarts. All clients of one person share
        it. It is created at the first answer. None: only this object stores them, and it draws nothing in a
        forked process. A client cannot be copied or pickled.
    lifetime_epsilon : float or Fraction, default=None
        Ceiling on the sum of epsilon over all specifications. It is fixed in the file when the file is
        created. None: the ceiling of the file; without a file the epsilon of this specification, so that no
        other question is answered.
    protect : {"record", "label"}, default="record"
        What must stay private. "record": a specification that protects only the label raises an error,
        because its reports reveal the leaf exactly, and therefore the features. "label": such a specification
        is answered too. Use it for a person whose features the curator already knows.

    Attributes
    ----------
    specification : TreeSpecification
        What the curator asks.
    lifetime_epsilon : Fraction
        Ceiling on the sum of epsilon over all specifications.
    spent_epsilon : Fraction
        Sum of epsilon over the specifications answered so far.

    Raises
    ------
    PrivacyLeakError
        The specification protects only the label, and ``protect`` is "record".
    TypeError
        `specification` is not a TreeSpecification.
    ValueError
        The memory is damaged, has another ceiling, or was deleted later. Or the ceiling is not positive and
        finite.

    See Also
    --------
    TreeSpecification : Where it comes from.
    TreeCurator : Where the report goes.

    Notes
    -----
    **Privacy.** Relation: "local". The report is a function of the operating system's entropy and of one
    category, the cell and the label. It is epsilon-private whatever the curator does. A number is rounded at
    random, once, to one of the levels between its bounds. The report of this level is drawn with other words
    of entropy. It is a mixture of epsilon-private reports, and therefore epsilon-private. With
    ``protect="label"`` the relation of a specification may be "label". Epsilon and the ceiling then bound the
    information about the label, and nothing bounds the information about the features. A client has no seed.
    The budget is stored as spent before the report is returned: a crash can lose a report, but never a
    charge. The memory file holds reports and amounts, and nothing else about the person. Values outside the
    partition's box count as values on its boundary, without a warning. A label outside the classes raises an
    error here, on the device.

    Proof: :doc:`/proofs/tree_release`.

    References
    ----------
    Erlingsson, Pihur, Korolova, RAPPOR, CCS 2014 (answers that are drawn once and repeated).

    Examples
    --------
    >>> from skprivate.randomizers import HadamardRandomizer
    >>> from skprivate.collection import TreeClient, TreeSpecification
    >>> from skprivate.partition import Partition
    >>> partition = Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0])
    >>> specification = TreeSpecification(
    ...     partition, HadamardRandomizer(1.0, n_cells=2), ["no", "yes"], ["age"], "smokes")
    >>> client = TreeClient(TreeSpecification.from_json(specification.to_json()))
    >>> report = client.randomize({"age": 34}, "yes")
    >>> len(report), client.randomize({"age": 35}, "no") == report
    (2, True)
    """

    def __init__(
        self,
        specification: TreeSpecification,
        *,
        memory: str | os.PathLike[str] | None = None,
        lifetime_epsilon: float | Fraction | None = None,
        protect: Protection = "record",
    ) -> None:
        if not isinstance(specification, TreeSpecification):
            raise TypeError("specification must be a TreeSpecification: read it with its from_json.")
        check_protection(specification, protect)
        self.specification = specification
        self._path = None if memory is None else Path(memory).absolute()
        wanted = lifetime_epsilon
        self._lifetime = None if wanted is None else check_positive(wanted, "lifetime_epsilon")
        self._lock, self._process = threading.Lock(), os.getpid()
        self._own = _Memory(self._lifetime or specification.randomizer.epsilon)
        self._has_file = self._is_lasting = False
        self._load()

    @property
    def lifetime_epsilon(self) -> Fraction:
        """Ceiling on the sum of epsilon over all specifications."""
        return self._load().lifetime

    @property
    def spent_epsilon(self) -> Fraction:
        """Sum of epsilon over the specifications answered so far."""
        return self._load().spent

    def randomize(self, x: Any, y: Any) -> bytes:
        """Return this person's report: drawn at the first call, and the same at every later one.

        Parameters
        ----------
        x : sequence or mapping
            The values, in the order of the specification's ``features`` or by their names. They are finite
            numbers; if the specification declares the columns, they may also be text, dates or missing. Not
            read if the report is already drawn.
        y : str, int, float or bool
            The label, one of the specification's ``classes``. If the specification asks for a number, a
            finite one, which is clipped to ``bounds_y`` without a warning. Not read if the report is already
            drawn.

        Returns
        -------
        report : bytes of length ``specification.randomizer.report_bytes``
            Send it to the curator.

        Raises
        ------
        ValueError
            A column is unknown, missing or repeated, or does not hold a finite number or a declared value.
            The label is not among the classes, or the target is not a finite number. Or the memory is
            damaged. Nothing is drawn or charged, and the message shows no value.
        BudgetExceededError
            The report would exceed the ceiling. Nothing is drawn or charged.
        RuntimeError
            The process was forked before the report was drawn, and there is no memory that the processes
            share. Or the lock file of the memory was deleted meanwhile. No report is returned, and nothing is
            charged.
        """
        if self._path is None:
            with self._lock:
                if os.getpid() != self._process and self.specification.hash not in self._own.reports:
                    raise RuntimeError("a fork copied this TreeClient: pass a memory to share.")
                return self._answer(self._own, x, y)
        with locked(self._path) as holds_lock:
            return self._answer(self._load(), x, y, holds_lock)

    def _answer(
        self, memory: "_Memory", x: Any, y: Any, holds_lock: Callable[[], bool] = lambda: True
    ) -> bytes:
        specification = self.specification
        if specification.hash in memory.reports:
            if self._path is not None and not self._is_lasting:
                # The process that wrote it may have failed before it was on disk, and has returned no report.
                make_lasting(self._path)
                self._is_lasting = True
            return memory.reports[specification.hash]
        cells, target = _place(specification, x, y)
        spent = memory.spent + specification.randomizer.epsilon
        if spent > memory.lifetime:
            raise BudgetExceededError(
                f"A report of epsilon {show(specification.randomizer.epsilon)} would exceed this person's "
                f"ceiling: spent so far {show(memory.spent)} of {show(memory.lifetime, down=True)}. "
                "Nothing was drawn."
            )
        report = specification.pack(specification._draw_reports(cells, target, check_entropy(None)))
        memory = replace(memory, spent=spent, reports={**memory.reports, specification.hash: report})
        # Stored with its cost before the report is returned: every report that is sent was charged.
        if self._path is None:
            self._own = memory
        else:
            if not holds_lock():
                # Another process may have answered meanwhile, and both reports together would cost twice.
                raise RuntimeError(
                    f"The lock file of the memory {self._path} was deleted while it was held; nothing was "
                    "answered. Try again, and do not delete that file."
                )
            write_atomically(self._path, memory.to_bytes(), mode=OWNER_ONLY)
            self._has_file = self._is_lasting = True
        return report

    def _load(self) -> "_Memory":
        """Return the current memory; another client of this person may have written it."""
        if self._path is None:
            return self._own
        if not os.path.lexists(self._path):
            if self._has_file:
                raise _damaged(self._path)
            # A new one each time: a report that could not be stored must not be returned later.
            return _Memory(self._own.lifetime)
        memory = _Memory.from_bytes(self._path.read_bytes(), self._path)
        self._has_file = True
        if self._lifetime not in (None, memory.lifetime):
            raise ValueError(
                f"The client's memory {self._path} has a ceiling of epsilon "
                f"{show(memory.lifetime, down=True)}, which is fixed; leave out lifetime_epsilon to use it."
            )
        answer = memory.reports.get(self.specification.hash)
        if answer is not None and len(answer) != self.specification.randomizer.report_bytes:
            raise _damaged(self._path)
        return memory

    def __reduce__(self) -> NoReturn:
        raise TypeError("a TreeClient cannot be copied or pickled, for a copy could answer a second time.")


@dataclass(frozen=True)
class _Memory:
    """The reports of one person, and their cost.

    Attributes
    ----------
    lifetime, spent : Fraction
    reports : mapping of str to bytes
        Reports by the specification's hash.
    """

    lifetime: Fraction
    spent: Fraction = Fraction(0)
    reports: Mapping[str, bytes] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        content = {
            "lifetime": to_text(self.lifetime),
            "spent": to_text(self.spent),
            "reports": {key: base64.b64encode(report).decode() for key, report in self.reports.items()},
        }
        return seal_document(_FORMAT, _VERSION, content)

    @classmethod
    def from_bytes(cls, data: bytes, path: Path) -> "_Memory":
        try:
            state = read_sealed(data, _FORMAT, _VERSION, _FIELDS)
            texts = Fields(state, ("format", "version", *_FIELDS)).mapping("reports").items()
            lifetime = check_positive(from_text(state["lifetime"]), "lifetime")
            reports = {key: unpack_bytes(text) for key, text in texts}
            memory = cls(lifetime, from_text(state["spent"]), reports)
            if memory.spent > memory.lifetime:
                raise ValueError("more is spent than may be")
            check_rewritten(state, memory.to_bytes())
            return memory
        except UNREADABLE as error:
            raise _damaged(path) from error


def _damaged(path: Path) -> ValueError:
    return ValueError(
        f"The client's memory {path} is damaged, missing, of a newer version, or not such a memory. No new "
        "one is created, because it holds the budget that this person has spent: restore it from a backup."
    )


def _place(specification: TreeSpecification, x: Any, y: Any) -> tuple[IntArray, FloatArray]:
    """Return the cell and the target of one row; ValueError, which shows no value, if it is invalid.

    Cells are of shape (1,), or (1, n_columns) if there is one in every column.
    """
    values = _values(specification, x)
    domain, names = specification.domain, specification.features
    if domain is None:
        columns = zip(values, names, strict=True)
        row: FloatArray = np.array([read_number(value, f"x: column {name!r}") for value, name in columns])
    else:
        try:
            # With or without strict mode, a device refuses an invalid value.
            row = domain.encode([values], strict=False)[0]
        except (TypeError, ValueError) as error:
            raise ValueError(f"x: {error}") from None
    target = np.array([specification._target.read(y, specification.label)])
    return specification.partition.apply(row[None]).astype(np.int64), target


def _values(specification: TreeSpecification, x: Any) -> list[Any]:
    """Return the values in the order of the specification's columns."""
    names = specification.features
    if isinstance(x, np.ma.MaskedArray):
        raise ValueError("x must not be a masked array: fill its hidden values first.")
    if isinstance(x, Mapping) or hasattr(x, "keys"):
        given = list(x.keys())
        unknown = [key for key in given if key not in names]
        missing = [name for name in names if name not in given]
        repeated = [name for name in names if given.count(name) > 1]
        for problem, found in (("unknown", unknown), ("missing", missing), ("repeated", repeated)):
            if found:
                raise ValueError(f"x: column {found[0]!r} is {problem}; the columns are {', '.join(names)}.")
        return [x[name] for name in names]
    if isinstance(x, str | bytes) or not hasattr(x, "__len__") or not hasattr(x, "__getitem__"):
        raise ValueError("x must be a sequence of values, or a mapping from names of columns to values.")
    if len(x) != len(names):
        raise ValueError(f"x must hold {len(names)} values ({', '.join(names)}), got {len(x)}.")
    return list(x)
