# SPDX-License-Identifier: BSD-3-Clause
"""A ledger on disk that adds up what every fit spent and refuses what would pass its ceiling."""

import contextlib
import math
import os
import sqlite3
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..exceptions import BudgetExceededError, LedgerError, PrivacyUnboundedError
from ..utils import check_positive, check_probability
from ..utils._files import write_atomically
from . import _store
from ._amounts import show, show_pair
from ._composition import Composition, Method, compose
from ._export import write_export
from ._fields import check_text
from ._ledger_entry import LedgerEntry, from_row, to_row
from ._report import write_report
from ._spent import PrivacySpent

_DECLARING = threading.Lock()


class PrivacyLedger:
    """A file that counts what fits spend, shared by threads and processes, with an optional ceiling.

    Parameters
    ----------
    path : str or path-like
        The ledger's file, on a local disk. It is created if there is none; otherwise it is opened, and its
        ceiling must be the one given here.
    epsilon : float, Fraction or None, default=None
        Ceiling on the sum of epsilon, above 0. None: there is no ceiling, on delta neither.
    delta : float or Fraction, default=0.0
        Ceiling on the sum of delta, in [0, 1). Must be 0 if ``epsilon`` is None.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of another type or out of its range.
    LedgerError
        If the file is missing, moved, copied, damaged, rolled back, read-only, another ledger's or on a
        network file system. Every method that reads or writes the file raises it.

    See Also
    --------
    PrivacySpent : What is charged.

    Notes
    -----
    Every operation opens the file, works in one transaction, and closes it. The object holds the path, the
    ledger's UUID and its ceiling, never a connection, and is the same ledger after pickling, in a worker
    process, and in scikit-learn's `clone`. A file that was deleted is not created again by an existing
    object. One that was moved or copied is refused: it records where it was created. An older state of the
    file, put in place of the present one, is noticed by objects that have seen more entries in it; pickles
    do not remember how many.

    Amounts are exact. ``0.1`` is a float slightly above 1/10, so that ten charges of it pass a ceiling of 1;
    give decimal amounts as ``Fraction("0.1")``.

    **Privacy**: totals are by basic composition over every entry, as if all touched the same rows;
    `composition` knows of disjoint data and of tighter methods, and no ceiling does. Names,
    times and amounts in the file are public by nature: labels must not hold private values. A run that is
    not private is charged its nominal amount and marked. What a search computes from private rows besides
    the fits, its scores and its choice, is not counted.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> from pathlib import Path
    >>> from skprivate.accounting import PrivacyLedger, PrivacySpent
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=Fraction(1, 2), relation="replace-one", noise_scale=4,
    ...     noise_source="os-entropy", deployment="curator", claim="dp",
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(Path(folder, "study.ledger"), epsilon=2)
    ...     ledger.charge(spent, "DPTreeClassifier")
    ...     ledger.remaining()
    (Fraction(3, 2), Fraction(0, 1))
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        epsilon: float | Fraction | None = None,
        delta: float | Fraction = 0.0,
    ) -> None:
        self._path = _resolve(path)
        ceiling = None if epsilon is None else check_positive(epsilon, "epsilon")
        ceiling_delta = check_probability(delta, "delta")
        if ceiling is None and ceiling_delta:
            raise ValueError("A ceiling on delta needs one on epsilon: without epsilon there is no ceiling.")
        self._label: str | None = None
        self._data: str | None = None
        self._seen = 0  # entries; fewer in the file mean that an older state was put in its place
        self._identity = self._create_or_open(ceiling, ceiling_delta)

    @property
    def path(self) -> Path:
        """The absolute path of the file."""
        return self._path

    @property
    def epsilon(self) -> Fraction | None:
        """The ceiling on epsilon, None without one."""
        return self._identity.epsilon

    @property
    def delta(self) -> Fraction:
        """The ceiling on delta; of no effect without one on epsilon."""
        return self._identity.delta

    def charge(self, spent: PrivacySpent, estimator: str) -> None:
        """Add one entry, or refuse and add nothing.

        Parameters
        ----------
        spent : PrivacySpent
            What is about to be spent. Charge before noise is drawn.
        estimator : str
            Name of the estimator.

        Raises
        ------
        BudgetExceededError
            If the total would pass the ceiling in epsilon or delta.
        PrivacyUnboundedError
            If the run's epsilon is infinite, with or without a ceiling.
        LedgerError
            If the file cannot be used.
        """
        if not isinstance(spent, PrivacySpent):
            raise TypeError(f"spent must be a PrivacySpent, got {type(spent).__name__}.")
        check_text(estimator, "estimator")
        amount = _finite(spent.epsilon)
        with self._transaction(write=True) as (connection, before):
            after = _store.Totals(before.count + 1, before.epsilon + amount, before.delta + spent.delta)
            self._check_ceiling(before, after)
            row = to_row(spent, amount, estimator, self._label, self._data)
            _store.insert(connection, row, after)

    def entries(self) -> list[LedgerEntry]:
        """Return every entry, oldest first."""
        return self._read()[0]

    def spent(self) -> tuple[Fraction, Fraction]:
        """Return the sums of epsilon and of delta over every entry."""
        with self._transaction() as (_, totals):
            return totals.epsilon, totals.delta

    def remaining(self) -> tuple[Fraction | float, Fraction | float]:
        """Return what the ceiling leaves of epsilon and of delta; infinities without a ceiling."""
        epsilon, delta = self.spent()
        return self._left(epsilon, delta)

    def report(self) -> str:
        """Return the entries by label and estimator, the totals, and what they do and do not cover."""
        entries, totals = self._read()
        return write_report(
            title=f"Privacy ledger {self._path}",
            entries=entries,
            spent=(totals.epsilon, totals.delta),
            ceiling=None if self.epsilon is None else (self.epsilon, self.delta),
            remaining=self._left(totals.epsilon, totals.delta),
        )

    @contextlib.contextmanager
    def label(self, label: str) -> Iterator["PrivacyLedger"]:
        """Mark the entries charged inside a ``with`` block; the innermost label counts.

        The label belongs to the object, not to the thread: it reaches the fits that joblib runs in threads
        and, pickled with the ledger, those in worker processes.

        Parameters
        ----------
        label : str
            A public text, not empty.
        """
        check_text(label, "label")
        outer, self._label = self._label, label
        try:
            yield self
        finally:
            self._label = outer

    @contextlib.contextmanager
    def data(self, group: str) -> Iterator["PrivacyLedger"]:
        """Declare which group of disjoint data the runs charged inside a ``with`` block touch.

        Totals, the ceiling and what remains count every entry, whatever its group; `composition` takes the
        dearest group, if no unit is in two of them. That is the user's declaration, and is printed as such.

        The group belongs to the object, like a label: it reaches threads and worker processes that this
        process starts. It does not outlive the block in a pickle: elsewhere, such an object charges without
        a group, which counts in all of them.

        Parameters
        ----------
        group : str
            A public text, not empty, such as "hospital A".

        Raises
        ------
        TypeError, ValueError
            The group is no text or empty, or the object is inside such a block already: groups do not
            overlap. Threads that work on different groups each need their own ``PrivacyLedger(path)``.
        """
        check_text(group, "group")
        with _DECLARING:
            if self._data is not None:
                raise ValueError(
                    f"This ledger object is inside data({self._data!r}) already, and groups of data do not "
                    "overlap. Leave that block first; in another thread, open the ledger anew."
                )
            self._data = group
        try:
            yield self
        finally:
            self._data = None

    def composition(self, method: Method = "basic", delta: float | Fraction | None = None) -> Composition:
        """Return what all entries cost together, with groups of disjoint data and kinds kept apart.

        Parameters
        ----------
        method : {"basic", "rdp", "pld"}, default="basic"
            See `compose`.
        delta : float or Fraction, default=None
            Delta of the result, for "rdp" and "pld" only.

        Returns
        -------
        composition : Composition
            Less than `spent` where data are disjoint; the ceiling does not know of it.
        """
        return compose(self.entries(), method, delta)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return every entry, the totals and the ceiling as JSON, with exact amounts as text.

        Parameters
        ----------
        path : str or path-like, default=None
            A file to write it to as well, which is replaced if it exists; never the ledger itself.

        Returns
        -------
        text : str
            An object of ``"format": "skprivate.ledger-export"`` and ``"version": 1``. It cannot be opened as
            a ledger: what is spent is in the ledger's file.
        """
        entries, totals = self._read()
        ceiling = None if self.epsilon is None else (self.epsilon, self.delta)
        spent = totals.epsilon, totals.delta
        text = write_export(self._identity.uuid, entries, spent, ceiling)
        if path is not None:
            target = _resolve(path)
            if target == self._path:
                raise ValueError("path is the ledger itself. Choose another one.")
            write_atomically(target, text.encode("utf-8"))
        return text

    def __sklearn_clone__(self) -> "PrivacyLedger":
        # clone copies parameters: a copied account would count what no one reads.
        return self

    def __copy__(self) -> "PrivacyLedger":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "PrivacyLedger":
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Without the entries seen: a fit must not change its parameters, and joblib hashes their pickles.
        state = {name: value for name, value in vars(self).items() if name not in ("_seen", "_data")}
        return state if self._data is None else {**state, "_data": (self._data, os.getpid())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The file is not touched: a fitted estimator predicts where its ledger is out of reach.
        # A declared group holds in the processes started by the one that declared it, and nowhere else: a fit
        # that came back, or was saved, must not go on charging to it.
        group, process = state.get("_data") or (None, None)
        vars(self).update(state, _seen=0, _data=group if process == os.getppid() else None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PrivacyLedger):
            return NotImplemented
        return (self._identity.uuid, self._path) == (other._identity.uuid, other._path)

    def __hash__(self) -> int:
        return hash((self._identity.uuid, self._path))

    def __repr__(self) -> str:
        if self.epsilon is None:
            return f"PrivacyLedger({str(self._path)!r})"
        return f"PrivacyLedger({str(self._path)!r}, epsilon={show(self.epsilon)}, delta={show(self.delta)})"

    def _create_or_open(self, epsilon: Fraction | None, delta: Fraction) -> _store.Identity:
        if not os.path.lexists(self._path):
            _store.create(self._path, epsilon, delta)
        with _store.transaction(self._path, write=False) as connection:
            _store.check_structure(connection, self._path)
            identity = _store.read_identity(connection, self._path)
            self._seen = _store.read_totals(connection, self._path).count
        if (identity.epsilon, identity.delta) != (epsilon, delta):
            raise LedgerError(
                f"The ledger {self._path} was created with {_ceiling(identity.epsilon, identity.delta)}, not "
                f"with {_ceiling(epsilon, delta)}. Open it with its own ceiling: that is fixed at creation."
            )
        return identity

    @contextlib.contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[tuple[sqlite3.Connection, _store.Totals]]:
        # Read first: an entry that another thread adds while this one waits is no roll-back.
        seen = self._seen
        with _store.transaction(self._path, write=write) as connection:
            if _store.read_identity(connection, self._path) != self._identity:
                raise LedgerError(
                    f"The file {self._path} is another ledger than the one this object was made for. Restore "
                    "that one, or make a new PrivacyLedger object."
                )
            totals = _store.read_totals(connection, self._path)
            if totals.count < seen:
                raise LedgerError(
                    f"The ledger {self._path} holds {totals.count} entries, but {seen} were seen in it: an "
                    "older state was put in its place. Restore the latest state."
                )
            yield connection, totals
        self._seen = max(self._seen, totals.count + write)

    def _read(self) -> tuple[list[LedgerEntry], _store.Totals]:
        with self._transaction() as (connection, totals):
            rows = _store.read_rows(connection, self._path)
        try:
            return [from_row(*row) for row in rows], totals
        except (TypeError, ValueError) as error:
            raise _store.damaged(self._path) from error

    def _check_ceiling(self, before: _store.Totals, after: _store.Totals) -> None:
        if self.epsilon is None:
            return
        excess = max(after.epsilon - self.epsilon, Fraction(0)), max(after.delta - self.delta, Fraction(0))
        if excess == (0, 0):
            return
        amount = after.epsilon - before.epsilon, after.delta - before.delta
        raise BudgetExceededError(
            f"A run of {show_pair(*amount)} would pass the ceiling of the ledger "
            f"{self._path} by {show_pair(*excess)}: spent so far {show_pair(before.epsilon, before.delta)}, "
            f"ceiling {show_pair(self.epsilon, self.delta)}. Nothing was spent. Ask for less, or run fewer "
            'fits; amounts are exact, so give decimals as Fraction("0.1").'
        )

    def _left(self, epsilon: Fraction, delta: Fraction) -> tuple[Fraction | float, Fraction | float]:
        if self.epsilon is None:
            return math.inf, math.inf
        return self.epsilon - epsilon, self.delta - delta


def _resolve(path: str | os.PathLike[str]) -> Path:
    if not isinstance(os.fspath(path), str):
        raise TypeError("path must be a str or a path-like of str.")
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:
        raise LedgerError(
            "The ledger's path cannot be resolved. Look for a loop of symbolic links."
        ) from error


def _finite(epsilon: Fraction | float) -> Fraction:
    if isinstance(epsilon, Fraction):
        return epsilon
    raise PrivacyUnboundedError(
        "A run of infinite epsilon has no amount that a ledger could add up; nothing was written. Run it "
        "without a ledger, or bound its sensitivity."
    )


def _ceiling(epsilon: Fraction | None, delta: Fraction) -> str:
    return "no ceiling" if epsilon is None else f"the ceiling {show_pair(epsilon, delta)}"
