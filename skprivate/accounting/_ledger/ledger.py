# SPDX-License-Identifier: BSD-3-Clause
"""A ledger on disk that adds up what every fit spent, and its view for an auditor, which charges nothing."""

import contextlib
import hmac
import os
import sqlite3
import threading
import uuid
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from ...exceptions import BudgetExceededError, LedgerError, PrivacyUnboundedError
from ...utils._json_documents import UNREADABLE, is_json_text, parse_json
from ...utils._public_module import public_module
from .._privacy_amounts import Remaining, Spent, show
from .._statements.fields import check_text, describe_error
from .._statements.spent import NO_RECORD, RECORD, PrivacySpent, same_charge, to_row
from . import state as states
from .records import SQLiteRecords, recorded_path, verify
from .report import Account, LedgerViews, account_of, read_export
from .sqlite_store import SQLiteStore, backup, opened, restore

_DECLARING = threading.Lock()
#: Label, purpose, person, approver and expiry of a charge, where they were said.
Said = tuple[str | None, ...]
NOTHING_SAID: Said = (None, *NO_RECORD)
# What a pickle does not hold.
_OF_THIS_OBJECT = ("_verified", "_data", "_pickled_by", "_blocks")


@public_module("skprivate.accounting")
class PrivacyLedger(LedgerViews):
    """A file that counts what fits spend, shared by threads and processes, with an optional ceiling.

    Parameters
    ----------
    path : str or path-like
        The ledger's file, on a local disk. It is created if there is none, with the limits given here, which
        are fixed from then on. Otherwise it is opened: ``PrivacyLedger(path)`` takes over the limits of the
        file. A limit that is given must be that of the file: give it where others can write the file.
    epsilon : float, Fraction or None, default=None
        Ceiling on the sum of epsilon, above 0. None: a new ledger has no ceiling, on delta neither.
    delta : float or Fraction, default=0.0
        Ceiling on the sum of delta, in [0, 1). Must be 0 if ``epsilon`` is None.
    max_failures : int or None, default=None
        How many fits may fail, at least 0: one more, and everything is refused. At most ``max_failures + 1``
        fits run at once, see Notes. None: in a new ledger they are only counted.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of another type or out of its range.
    LedgerError
        If the file has other limits than those given, is missing, moved, copied, damaged, rolled back,
        read-only, another ledger's or on a network file system, or if its lock stays held. Every method that
        reads or writes the file raises it.

    See Also
    --------
    PrivacySpent : What is charged.

    Notes
    -----
    Every operation takes the ledger's lock, opens the file, works in one transaction, and closes it. The
    object holds the path, the ledger's UUID and its limits, never a connection, and is the same ledger after
    pickling, in a worker process, and in scikit-learn's `clone`.

    **Files**: beside ``study.ledger`` stay ``study.ledger.lock``, which keeps other processes out, and
    ``study.ledger.mark``, which holds the state that was last acknowledged. All three may be read while fits
    run. Copy a ledger with `backup` only: ``cp`` may catch it between two pages, and what it made cannot be
    told from an older state. A file that was moved or copied is refused, because it records where it was
    created. An older state put in place of the present one, a file created anew and one that is gone are
    noticed by the mark, in every process. An older ledger restored together with its mark is noticed only by
    an object that has seen more; a mark that was deleted starts anew from the file as it is. Do not delete
    the lock: a charge that finds it gone is undone, but another process is let in.

    **Checks**: a charge checks the entries after the state that the object, or else the mark, has verified,
    in time that does not depend on their number. Opening the ledger, `entries`, `report`, `composition`,
    `to_json` and `backup` check all of them; an older entry that was altered shows then. The hash that links
    the entries has no key: it finds accidents, not adversaries. Whoever may write the file may cheat.

    **Amounts** are exact. ``0.1`` is a float slightly above 1/10, so that ten charges of it pass a ceiling of
    1; give decimal amounts as ``Fraction("0.1")``. Where the common denominator of all amounts passes 2,048
    bits, amounts that would lengthen it are rounded up in the sums by less than 2**-1200 each: the ceiling
    is not passed, and a million charges lose less than 2**-1180 of it. Floats and decimals alone never get
    there; add up `entries` for the exact sum of any others.

    **Failed fits** are counted by `count_failure`, beside the entries: that a fit failed may reveal something
    of the rows, and no epsilon covers it. With ``max_failures``, every fit reserves a place among the
    ``max_failures + 1`` failures before it looks at rows, and gives it back if it does not fail. A fit that
    finds no place is refused with `BudgetExceededError`, so that threads and processes together never reveal
    more failures. A fit that is interrupted counts as failed. A fit whose process is killed, or whose machine
    loses power, keeps its place for good, because nobody knows whether it failed; `report` shows how many.
    Choose ``max_failures`` with room for such stops and for the fits that run at once (``n_jobs``).
    **Refused charges** are kept beside them, see `refusals`: they cost
    nothing, and follow from public amounts alone. Neither is covered by the hash.

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
    Remaining(epsilon=1.5, delta=0)
    """

    _heading = "Privacy ledger"

    def __init__(
        self,
        path: str | os.PathLike[str],
        epsilon: float | Fraction | None = None,
        delta: float | Fraction = 0.0,
        *,
        max_failures: int | None = None,
    ) -> None:
        self._path = states.resolve(path)
        self._said = NOTHING_SAID
        self._blocks: tuple[list[Said], ...] = ()  # what open blocks say, oldest first
        self._data: tuple[str, str] | None = None  # the declared group of data, and the id of its block
        self._pickled_by: int | None = None  # the process whose pickle brought that group, None: no pickle
        self._verified: states.LedgerState | None = None
        self._identity = self._create_or_open(
            states.check_limits(uuid.uuid4().hex, epsilon, delta, max_failures)
        )

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

    @property
    def max_failures(self) -> int | None:
        """The number of failed fits that the ledger allows, None without a limit."""
        return self._identity.max_failures

    @property
    def n_failures(self) -> int:
        """The number of failed fits, read from the file."""
        with self._transaction() as records:
            return records.state.failures

    def charge(self, spent: PrivacySpent, estimator: str, *, charge_id: str | None = None) -> bool | None:
        """Add one entry, or refuse and add nothing.

        Parameters
        ----------
        spent : PrivacySpent
            What is about to be spent. Charge before noise is drawn.
        estimator : str
            Name of the estimator.
        charge_id : str, default=None
            A public text, not empty, that names this charge among all of the ledger. The first charge with an
            id adds an entry; a later one with the same id and amount adds nothing and is refused by no limit,
            so that a program that was stopped after its charge may be started again. None: every call counts.

        Returns
        -------
        charged : bool or None
            True if an entry was added by ``charge_id``; False if the ledger had counted that id before. None
            without an id: an entry was added.

        Raises
        ------
        BudgetExceededError
            If the total would pass the ceiling in epsilon or delta, or more fits failed than the limit
            allows. The refusal is kept, see `refusals`; where the file refuses even that, a note of the
            error says so.
        PrivacyUnboundedError
            If the run's epsilon is infinite, with or without a ceiling.
        LedgerError
            If the file cannot be used; the message says whether something was charged. If ``charge_id`` was
            used for an entry that differs in more than its time, its label and its record.

        Notes
        -----
        **Privacy.** One entry pays for one release. Charge an id again only if nothing that was computed with
        noise after the first charge has left the program: noise that is drawn a second time is a second
        release of the same rows, for which the entry does not pay. The id is stored in the file as it is.
        """
        if not isinstance(spent, PrivacySpent):
            raise TypeError(f"spent must be a PrivacySpent, got {type(spent).__name__}.")
        check_text(estimator, "estimator")
        if charge_id is not None:
            check_text(charge_id, "charge_id")
        if not isinstance(spent.epsilon, Fraction):
            raise PrivacyUnboundedError(
                "A run of infinite epsilon has no amount that a ledger could add up; nothing was written. "
                "Run it without a ledger, or bound its sensitivity."
            )
        label, record = self._said[0], self._said[1:]
        row = to_row(spent, spent.epsilon, estimator, label, self._group, record)
        refusal: BudgetExceededError | None = None
        try:
            with self._transaction(write=True) as records:
                if charge_id is not None and self._holds(records.charged(charge_id), row, charge_id):
                    return False
                before, after = records.state, records.state.after(row)
                try:
                    states.require_few_failures(self._identity, before, self._path)
                    states.require_below_ceiling(self._identity, before, after, self._path)
                except BudgetExceededError as error:
                    # Raised below: an error in this block would undo its record.
                    refusal = error
                    records.add_refusal(row)
                else:
                    records.append(row, after, charge_id)
        except LedgerError as error:
            if refusal is None:
                raise
            refusal.add_note(f"The ledger could not record the refusal. {error}")
        if refusal is not None:
            raise refusal
        return None if charge_id is None else True

    def _holds(self, charged: states.Row | None, row: states.Row, charge_id: str) -> bool:
        """Return whether an id has its entry already; LedgerError if that is another one."""
        if charged is not None and not same_charge(charged, row):
            raise LedgerError(
                f"The charge_id {charge_id!r} was used in the ledger {self._path} for an entry of another "
                "estimator, mechanism, amount, relation, unit or group of data; nothing was charged. Give "
                "each charge an id of its own, and repeat it in the same group of data."
            )
        return charged is not None

    def count_failure(self, estimator: str) -> int:
        """Count one failed fit, which costs no epsilon and may reveal something about the rows.

        Parameters
        ----------
        estimator : str
            Name of the estimator.

        Returns
        -------
        n_failures : int
            How many fits failed, this one included.

        Raises
        ------
        LedgerError
            If the file cannot be used.
        """
        check_text(estimator, "estimator")
        with self._transaction(write=True) as records:
            records.add_failure(estimator)
            return records.state.failures

    def check_failures(self) -> None:
        """Refuse to go on when more fits failed than the limit allows; it reserves no place for a fit.

        Raises
        ------
        BudgetExceededError
            If `n_failures` is above `max_failures`.
        LedgerError
            If the file cannot be used.
        """
        if self.max_failures is None:
            return
        with self._transaction() as records:
            states.require_few_failures(self._identity, records.state, self._path)

    def _take_place(self, estimator: str) -> bool:
        """Reserve one of the failures that the limit allows for a fit that begins; False without a limit."""
        check_text(estimator, "estimator")
        if self.max_failures is None:
            return False
        records: SQLiteRecords | None = None
        try:
            with self._transaction(write=True) as records:
                states.require_place(self._identity, records.state, self._path)
                records.take_place()
        except Exception:
            raise
        except BaseException:
            # Nobody but the caller knows of the place, which the interrupt has kept from it.
            if records is not None and records.is_kept:
                self._return_place(None)
            raise
        return True

    def _return_place(self, failed: str | None) -> None:
        """End a fit that had a place, and count it if the estimator of that name failed."""
        with self._transaction(write=True) as records:
            if failed is not None:
                records.add_failure(failed)
            records.return_place()

    def spent(self) -> Spent:
        """Return the sums of epsilon and of delta over every entry, or upper bounds on them: see Notes.

        Returns
        -------
        spent : named tuple (epsilon, delta) of Fraction
            Exact. Its text shows six digits, rounded up.
        """
        with self._transaction() as records:
            return records.state.spent

    def remaining(self) -> Remaining:
        """Return what the ceiling leaves of epsilon and of delta.

        Returns
        -------
        remaining : named tuple (epsilon, delta) of Fraction
            Exact; infinities without a ceiling. Its text shows six digits, rounded down.
        """
        return states.left_of(self._identity, self.spent())

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to another file, whole or not at all; no other way of copying it is safe.

        The copy cannot be opened as a ledger where it is. `restore` puts it back.

        Parameters
        ----------
        path : str or path-like
            Where. An earlier backup of this ledger is replaced; any other file that is there is an error.

        Raises
        ------
        ValueError
            If ``path`` is the ledger itself, or a file beside it that belongs to it.
        LedgerError
            If the ledger is damaged, another file is there, or the copy cannot be written.
        """
        target = states.resolve(path)
        with self._transaction(full=True) as records:
            backup(records, self._path, target)

    @classmethod
    def restore(
        cls, backup: str | os.PathLike[str], path: str | os.PathLike[str], *, discard_newer: bool = False
    ) -> "PrivacyLedger":
        """Put a backup back where its ledger was, and return the ledger.

        Parameters
        ----------
        backup : str or path-like
            What `PrivacyLedger.backup` wrote; it stays. The ledger's own file if a backup was copied over it.
        path : str or path-like
            Where the ledger was created.
        discard_newer : bool, default=False
            Whether to forget entries that the backup does not hold, by the file in place and by its mark.
            What they spent is spent; count it by other means.

        Returns
        -------
        ledger : PrivacyLedger
            The ledger, with the ceiling of the backup.

        Raises
        ------
        LedgerError
            If entries would be forgotten and ``discard_newer`` is False, if the backup is of another ledger
            or place, or if a file cannot be used. The ledger in place is then as it was.
        """
        target = states.resolve(path)
        limits = restore(states.resolve(backup), target, discard_newer=discard_newer)
        return cls(target, limits.epsilon, limits.delta, max_failures=limits.max_failures)

    def _account(self) -> Account:
        with self._transaction(full=True) as records:
            return account_of(records, self._path)

    def label(self, label: str) -> contextlib.AbstractContextManager[Self]:
        """Mark the entries charged inside a ``with`` block; the innermost label counts.

        The label belongs to the object, not to the thread: it reaches the fits that joblib runs in threads
        and, pickled with the ledger, those in worker processes.

        Parameters
        ----------
        label : str
            A public text on one line, not empty.
        """
        check_text(label, "label")
        return self._saying((label, *NO_RECORD))

    def record(
        self,
        *,
        purpose: str | None = None,
        person: str | None = None,
        approver: str | None = None,
        expiry: str | None = None,
    ) -> contextlib.AbstractContextManager[Self]:
        """Say for what, by whom and with whose approval the charges inside a ``with`` block are made.

        The texts are stored with every entry, in the file and in its hash, and printed by every report. They
        are what the user says: nothing checks them, and none refuses a charge. Of nested blocks the innermost
        text of each counts. Like a label they belong to the object, and travel in its pickles.

        Parameters
        ----------
        purpose : str, default=None
            What the result is for, such as "Table One".
        person : str, default=None
            Who runs it, and sees what comes out.
        approver : str, default=None
            Who allowed it, such as a committee and its reference.
        expiry : str, default=None
            Until when it is allowed: an ISO date or date and time, of which reports show when its day is
            over, in UTC; or any other text, which never expires. None of the four: what the outer block said.

        Raises
        ------
        TypeError, ValueError
            If a text is none, empty or not on one line, or if all four are None.

        Notes
        -----
        **Privacy**: all four are public by nature. They must not be chosen by looking at private rows.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from skprivate.accounting import PrivacyLedger, PrivacySpent
        >>> spent = PrivacySpent(
        ...     mechanism="discrete Laplace", epsilon=1, relation="replace-one", noise_scale=4,
        ...     noise_source="os-entropy", deployment="curator", claim="dp",
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = PrivacyLedger(Path(folder, "study.ledger"))
        ...     with ledger.record(person="A. Statistician", approver="Ethics board, 12/26"):
        ...         with ledger.record(purpose="risk model"):
        ...             ledger.charge(spent, "DPTreeClassifier")
        ...     entry = ledger.entries()[0]
        >>> entry.purpose, entry.person, entry.approver, entry.expiry
        ('risk model', 'A. Statistician', 'Ethics board, 12/26', None)
        """
        texts = purpose, person, approver, expiry
        for name, text in zip(RECORD, texts, strict=True):
            if text is not None:
                check_text(text, name)
        if texts == NO_RECORD:
            raise ValueError("Give at least one of purpose, person, approver and expiry.")
        return self._saying((None, *texts))

    @contextlib.contextmanager
    def _saying(self, said: Said) -> Iterator[Self]:
        # Blocks of several threads need not end in the order in which they began: each takes back its own.
        block = [said]
        with _DECLARING:
            self._blocks = (*self._blocks, block)
            self._said = _innermost(self._blocks)
        try:
            yield self
        finally:
            with _DECLARING:
                self._blocks = tuple(other for other in self._blocks if other is not block)
                self._said = _innermost(self._blocks)

    @contextlib.contextmanager
    def data(self, group: str) -> Iterator[Self]:
        """Declare which group of disjoint data the runs charged inside a ``with`` block touch.

        Totals, the ceiling and what remains count every entry, whatever its group; `composition` takes the
        dearest group, if no unit is in two of them. That is the user's declaration, and is printed as such.

        The group belongs to the object, like a label: it reaches threads, and the worker processes of joblib
        and `multiprocessing` that this process starts. It does not outlive the block, in a pickle or in the
        memory of a worker: afterwards and elsewhere, such an object charges without a group, which counts in
        all of them.

        Parameters
        ----------
        group : str
            A public text on one line, not empty, such as "hospital A".

        Raises
        ------
        TypeError, ValueError
            The group is no text or empty, or the object is inside such a block already: groups do not
            overlap. Threads that work on different groups each need their own ``PrivacyLedger(path)``.
        LedgerError
            The file that says that the block is open could not be made or deleted beside the ledger.

        Notes
        -----
        While the block is open, an empty file beside the ledger says so, whose name only this process and
        the workers that it starts can compute: from an id in the pickle and from the secret that
        `multiprocessing` gives to its children (``current_process().authkey``). So a process id that is used
        again, by a later process or in another container, brings no group back. A process that is killed
        inside the block leaves the file, ``.skprivate-data-...``, which is of no use to any other: delete it.
        """
        check_text(group, "group")
        block = group, os.urandom(16).hex()
        file, owner = block_file(self._path, block[1]), os.getpid()
        declared = False
        try:
            with _DECLARING:
                if self._group is not None:
                    raise ValueError(
                        f"This ledger object is inside data({self._group!r}) already, and groups of data do "
                        "not overlap. Leave that block first; in another thread, open the ledger anew."
                    )
                # This first: an interrupt between them must not leave the group declared.
                declared = True
                with _explained(file):
                    file.touch()
                self._data, self._pickled_by = block, None
            yield self
        finally:
            self._data = None if declared else self._data
            if os.getpid() == owner:  # a fork that leaves the block does not close it
                with _explained(file):
                    file.unlink(missing_ok=True)

    @property
    def _group(self) -> str | None:
        """The declared group of data; None once its block has ended, in whatever process."""
        if self._data is None or not _is_started_by(self._pickled_by):
            return None
        return self._data[0] if block_file(self._path, self._data[1]).exists() else None

    def __sklearn_clone__(self) -> Self:
        # clone copies parameters: a copied account would count what no one reads.
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Without what was verified: a fit must not change its parameters, and joblib hashes their pickles.
        state = {name: value for name, value in vars(self).items() if name not in _OF_THIS_OBJECT}
        return state if self._group is None else {**state, "_data": (self._data, os.getpid())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The file is not touched: a fitted estimator predicts where its ledger is out of reach.
        # A declared group reaches the processes started by the one that pickled it, not a fit that came back.
        # Asked for only when it charges: multiprocessing tells a worker late who started it.
        block, process = state.get("_data") or (None, None)
        vars(self).update(state, _verified=None, _data=block, _pickled_by=process)
        self._blocks = ([self._said],)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PrivacyLedger):
            return NotImplemented
        return (self._identity.uuid, self._path) == (other._identity.uuid, other._path)

    def __hash__(self) -> int:
        return hash((self._identity.uuid, self._path))

    def __repr__(self) -> str:
        limits = ""
        if self.epsilon is not None:
            limits = f", epsilon={show(self.epsilon, down=True)}, delta={show(self.delta, down=True)}"
        if self.max_failures is not None:
            limits += f", max_failures={self.max_failures}"
        return f"{type(self).__name__}({str(self._path)!r}{limits})"

    def _create_or_open(self, wanted: states.Identity) -> states.Identity:
        store = SQLiteStore(self._path)
        if not os.path.lexists(self._path):
            store.create(wanted)
        with store.transaction(write=False) as records:
            records.check_structure()
            found = records.identity
            verify(records, None, self._path, full=True)
        # A limit that is not given is taken over; the file's own are public.
        ceiling = found if wanted.epsilon is None else wanted
        failures = found if wanted.max_failures is None else wanted
        asked = states.Identity(found.uuid, ceiling.epsilon, ceiling.delta, failures.max_failures)
        if asked != found:
            raise LedgerError(
                f"The ledger {self._path} was created with {states.describe_limits(found)}, not with "
                f"{states.describe_limits(asked)}. Its limits are fixed: open it with them, or as "
                f"PrivacyLedger({str(self._path)!r}), which takes them over."
            )
        self._verified = records.state
        return found

    @contextlib.contextmanager
    def _transaction(self, *, write: bool = False, full: bool = False) -> Iterator[SQLiteRecords]:
        # Read first: an entry that another thread adds while this one waits is no roll-back.
        seen = self._verified
        with SQLiteStore(self._path).transaction(write=write) as records:
            if records.identity != self._identity:
                raise LedgerError(
                    f"The file {self._path} is another ledger than the one this object was made for. Restore "
                    "that one, or make a new PrivacyLedger object."
                )
            verify(records, seen, self._path, full=full)
            self._verified = records.state
            yield records
        self._verified = records.state


def _innermost(blocks: tuple[list[Said], ...]) -> Said:
    """Return of every text the last one that is open."""
    found = NOTHING_SAID
    for (texts,) in blocks:
        found = tuple(old if text is None else text for old, text in zip(found, texts, strict=True))
    return found


def _is_started_by(process: int | None) -> bool:
    """Return whether a process started this one, itself or by a fork server; None: there is none to ask."""
    from multiprocessing import parent_process  # a client needs none of it

    starter = parent_process()
    return process in (None, os.getppid(), None if starter is None else starter.pid)


def block_file(ledger: Path, block_id: str) -> Path:
    """Return the file that is there while a block is open, as its process and those it started name it."""
    from multiprocessing import current_process  # a client needs none of it

    name = hmac.new(current_process().authkey, block_id.encode(), "sha256").hexdigest()
    return ledger.with_name(f".skprivate-data-{name}")


@contextlib.contextmanager
def _explained(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"The file {file}, which says that a block of data(...) is open, could not be made or deleted "
            f"({error}). Check the disk and the rights to write its folder."
        ) from error


@public_module("skprivate.accounting")
class LedgerAudit(LedgerViews):
    """A ledger as an auditor sees it: read, checked as a whole, and never written.

    Parameters
    ----------
    path : str or path-like
        What `PrivacyLedger.to_json` or `PrivacyLedger.backup` wrote, anywhere; or the ledger's own file,
        which is better not charged meanwhile: a backup is whole at any time.

    Attributes
    ----------
    checks : tuple of str
        What was checked, and what could not be, as sentences.

    Raises
    ------
    TypeError
        If ``path`` is no path.
    LedgerError
        If the file cannot be read, is none of the three, or is not what was written: an entry, their order,
        a sum or the hash that links the entries differs. A ledger in use may be refused too; try again.

    See Also
    --------
    PrivacyLedger.to_json : Writes the export.
    study_page : One page for those who sign.

    Notes
    -----
    The file is read once, here; what was charged later does not show. There is no method that charges, and
    the file is opened for reading.

    **What a check shows.** The hash has no key. It finds accidents: a lost, altered or exchanged entry.
    Whoever writes the file can compute it anew, so that an audit trusts whoever keeps it. An auditor who
    notes `chain` from time to time sees later whether earlier entries are still the same. Failed fits and
    refused charges are outside of the hash. A record of the user is as true as the user.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skprivate.accounting import LedgerAudit, PrivacyLedger, PrivacySpent
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=1, relation="replace-one", noise_scale=4,
    ...     noise_source="os-entropy", deployment="curator", claim="dp",
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(Path(folder, "study.ledger"), epsilon=2)
    ...     ledger.charge(spent, "DPTreeClassifier")
    ...     export = ledger.to_json(Path(folder, "study.json"))
    ...     audit = LedgerAudit(Path(folder, "study.json"))
    >>> audit.spent(), audit.remaining(), len(audit.entries())
    (Spent(epsilon=1, delta=0), Remaining(epsilon=1, delta=0), 1)
    """

    _heading = "Audit of"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if is_json_text(path):
            raise LedgerError(
                "path is the text of an export: save it to a file, and pass the name of the file."
            )
        self._path = states.resolve(path)
        if not os.path.isfile(self._path):
            raise LedgerError(f"The file {self._path} does not exist, or is no file.")
        found = self._read_database()
        self._found, self.checks = self._read_json() if found is None else found

    @property
    def chain(self) -> str:
        """The hash of all entries in order, in hexadecimal digits; empty without entries."""
        return self._found.state.chain

    @property
    def failures(self) -> dict[str, int]:
        """The number of failed fits of each estimator."""
        return dict(self._found.failures)

    def spent(self) -> Spent:
        """Return the sums of epsilon and of delta over every entry, or upper bounds on them, exactly."""
        return self._found.spent

    def remaining(self) -> Remaining:
        """Return what the ceiling leaves of epsilon and of delta, exactly; infinities without a ceiling."""
        return states.left_of(self._found.identity, self.spent())

    def __repr__(self) -> str:
        return f"LedgerAudit({str(self._path)!r})"

    def _account(self) -> Account:
        return self._found

    def _read_database(self) -> tuple[Account, tuple[str, ...]] | None:
        """Return what a ledger or its backup holds; None if the file is no database."""
        path = self._path
        try:
            with states.undamaged(path), opened(path, "ro") as connection:
                connection.execute("BEGIN")
                place = recorded_path(connection)
                in_place = place == path
                records = SQLiteRecords(connection, place or path, file=None if in_place else path)
                records.check_structure()
                verify(records, None, path, full=True)
                account = account_of(records, path)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB:
                return None
            raise LedgerError(
                f"The ledger {path} cannot be read ({error}). If it is in use, or was stopped while it was "
                "written, audit a backup, or an export of to_json."
            ) from error
        marked = "It agrees with its high-water mark." if records.mark else _NO_MARK
        return account, (*_CHECKED, marked)

    def _read_json(self) -> tuple[Account, tuple[str, ...]]:
        try:
            account = read_export(parse_json(self._path.read_bytes()))
        except (OSError, *UNREADABLE) as error:
            raise LedgerError(
                f"The file {self._path} is no ledger, no backup and no export of one, or it was altered: "
                f"{describe_error(error)}."
            ) from error
        return account, (*_CHECKED, _NO_MARK)


_CHECKED = (
    "Every entry was read, their sums and the hash that links them were computed again and agree.",
    "The hash has no key: it finds accidents, not adversaries. Failures and refusals are outside of it, as "
    "are the ceiling, the limit of failures and the ledger's id.",
)
_NO_MARK = "No high-water mark lies beside it: that newer entries are missing would not show."
