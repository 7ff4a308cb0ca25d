# SPDX-License-Identifier: BSD-3-Clause
"""A ledger on disk that adds up the spending of all fits, and a read-only view of it for an auditor."""

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
#: Label, purpose, person, approver and expiry of a charge; None for a text that was not given.
Said = tuple[str | None, ...]
NOTHING_SAID: Said = (None, *NO_RECORD)
# Attributes that a pickle does not hold.
_OF_THIS_OBJECT = ("_verified", "_data", "_pickled_by", "_blocks")


@public_module("skprivate.accounting")
class PrivacyLedger(LedgerViews):
    """A file that counts the spending of fits, shared by threads and processes, with an optional ceiling.

    Parameters
    ----------
    path : str or path-like
        The ledger's file, on a local disk. If there is none, it is created with the limits given here, which
        are then fixed. Otherwise it is opened: ``PrivacyLedger(path)`` takes the limits from the file. A
        given limit must be equal to that of the file: pass it if others can write the file.
    epsilon : float, Fraction or None, default=None
        Ceiling on the sum of epsilon, above 0. None: a new ledger has no ceiling on epsilon or delta.
    delta : float or Fraction, default=0.0
        Ceiling on the sum of delta, in [0, 1). Must be 0 if ``epsilon`` is None.
    max_failures : int or None, default=None
        Number of fits that may fail, at least 0. After one more failure, everything is refused. At most
        ``max_failures + 1`` fits run at once, see Notes. None: a new ledger only counts the failures.

    Raises
    ------
    TypeError, ValueError
        A parameter has another type or is out of its range.
    LedgerError
        The file has other limits than those given. It is missing, moved, copied, damaged, rolled back,
        read-only, another ledger's or on a network file system. Its lock stays held. Every method that reads
        or writes the file raises it.

    See Also
    --------
    PrivacySpent : The statement that is charged.

    Notes
    -----
    Every operation takes the ledger's lock, opens the file, works in one transaction, and closes it. The
    object holds the path, the ledger's UUID and its limits, but never a connection. It is the same ledger
    after pickling, in a worker process, and in scikit-learn's `clone`.

    **Files**: ``study.ledger.lock`` and ``study.ledger.mark`` are beside ``study.ledger``. The first keeps
    other processes out, the second holds the last acknowledged state. All three may be read while fits run.
    Copy a ledger only with `backup`: ``cp`` may copy it between two writes, and its copy cannot be
    distinguished from an older state. A file that was moved or copied is refused, because it records the path
    of its creation. In every process, the mark reveals a file that is older, new or missing. If an older
    ledger is restored together with its mark, only an object that has seen more entries notices it. If the
    mark is deleted, a new one starts from the present file. Do not delete the lock: a charge that finds it
    missing is undone, but another process can enter.

    **Checks**: a charge checks the entries after the state that the object, or otherwise the mark, has
    verified. Its time does not depend on their number. Opening the ledger, `entries`, `report`,
    `composition`, `to_json` and `backup` check all entries, and find an altered older entry. The hash that
    links the entries has no key: it finds accidents, not adversaries. A person who may write the file can
    cheat.

    **Amounts** are exact. ``0.1`` is a float slightly above 1/10, so that ten charges of it exceed a ceiling
    of 1. Pass decimal amounts as ``Fraction("0.1")``. If the common denominator of all amounts exceeds 2,048
    bits, amounts that would lengthen it are rounded up in the sums by less than 2**-1200 each. The ceiling is
    not exceeded, and a million charges lose less than 2**-1180 of it. Floats and decimals alone never reach
    that length. For other amounts, add up `entries` for the exact sum.

    **Failed fits** are counted by `count_failure`, apart from the entries: a failure may reveal something
    about the rows, and no epsilon covers it. With ``max_failures``, every fit reserves one of the
    ``max_failures + 1`` failures before it reads rows, and returns it if it does not fail. A fit that finds
    none left is refused with `BudgetExceededError`. So threads and processes together never reveal more
    failures. An interrupted fit counts as failed. If the process of a fit is killed, or the machine loses
    power, the reservation is lost for good, because it is unknown whether the fit failed; `report` shows how
    many. Choose ``max_failures`` with room for such stops and for the fits that run at once (``n_jobs``).
    **Refused charges** are recorded too, see `refusals`. They cost nothing, and depend on public amounts
    alone. The hash covers neither failures nor refusals.

    **Privacy**: totals are by basic composition over every entry, as if all touched the same rows.
    `composition` uses disjoint data and tighter methods; a ceiling does not. Names, times and amounts in the
    file are public by nature: labels must not hold private values. A run that is not private is charged its
    nominal amount and marked. The scores and the choice of a search are also computed from private rows, and
    are not counted.

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
        self._blocks: tuple[list[Said], ...] = ()  # texts of open blocks, oldest first
        self._data: tuple[str, str] | None = None  # the declared group of data, and the id of its block
        self._pickled_by: int | None = None  # the process that pickled that group; None: no pickle
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
        """The ceiling on delta; without a ceiling on epsilon it has no effect."""
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
            Statement of the run. Charge it before noise is drawn.
        estimator : str
            Name of the estimator.
        charge_id : str, default=None
            A public text, not empty, that identifies this charge in the ledger. The first charge with an id
            adds an entry. A later charge with the same id and amount adds nothing, and no limit refuses it.
            So a program that was stopped after its charge may be started again. None: every call counts.

        Returns
        -------
        charged : bool or None
            True if an entry was added for ``charge_id``; False if the ledger had already counted that id.
            None without an id: an entry was added.

        Raises
        ------
        BudgetExceededError
            The total would exceed the ceiling in epsilon or delta, or more fits failed than the limit allows.
            The refusal is recorded, see `refusals`; if the file cannot record it, the error has a note about
            that.
        PrivacyUnboundedError
            The run's epsilon is infinite, with or without a ceiling.
        LedgerError
            The file cannot be used; the message reports whether something was charged. Or ``charge_id`` was
            used for an entry that differs in more than its time, its label and its record.

        Notes
        -----
        **Privacy.** One entry covers one release. Charge an id again only if nothing computed with noise
        after the first charge has left the program. Noise that is drawn a second time is a second release of
        the same rows, which the entry does not cover. The id is stored in the file in plain text.
        """
        if not isinstance(spent, PrivacySpent):
            raise TypeError(f"spent must be a PrivacySpent, got {type(spent).__name__}.")
        check_text(estimator, "estimator")
        if charge_id is not None:
            check_text(charge_id, "charge_id")
        if not isinstance(spent.epsilon, Fraction):
            raise PrivacyUnboundedError(
                "A run of infinite epsilon has no amount that a ledger can add up; nothing was written. Run "
                "it without a ledger, or bound its sensitivity."
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
        """Return whether an id already has its entry; LedgerError if that is a different entry."""
        if charged is not None and not same_charge(charged, row):
            raise LedgerError(
                f"The charge_id {charge_id!r} was used in the ledger {self._path} for an entry of another "
                "estimator, mechanism, amount, relation, unit or group of data; nothing was charged. Use a "
                "different id for each charge, and repeat it in the same group of data."
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
            Number of failed fits, including this one.

        Raises
        ------
        LedgerError
            The file cannot be used.
        """
        check_text(estimator, "estimator")
        with self._transaction(write=True) as records:
            records.add_failure(estimator)
            return records.state.failures

    def check_failures(self) -> None:
        """Refuse to continue if more fits failed than the limit allows; it reserves no failure for a fit.

        Raises
        ------
        BudgetExceededError
            `n_failures` is above `max_failures`.
        LedgerError
            The file cannot be used.
        """
        if self.max_failures is None:
            return
        with self._transaction() as records:
            states.require_few_failures(self._identity, records.state, self._path)

    def _take_place(self, estimator: str) -> bool:
        """Reserve one of the allowed failures for a fit that begins; False without a limit."""
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
            # The interrupt kept the place from the caller, so that nobody else can return it.
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
        """Return the remaining epsilon and delta under the ceiling.

        Returns
        -------
        remaining : named tuple (epsilon, delta) of Fraction
            Exact; infinite without a ceiling. Its text shows six digits, rounded down.
        """
        return states.left_of(self._identity, self.spent())

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to another file, completely or not at all; no other way of copying it is safe.

        The copy cannot be opened as a ledger at its place. `restore` moves it back.

        Parameters
        ----------
        path : str or path-like
            File of the copy. An earlier backup of this ledger is replaced; any other existing file is an
            error.

        Raises
        ------
        ValueError
            ``path`` is the ledger itself, or a file beside it that belongs to it.
        LedgerError
            The ledger is damaged, another file exists at ``path``, or the copy cannot be written.
        """
        target = states.resolve(path)
        with self._transaction(full=True) as records:
            backup(records, self._path, target)

    @classmethod
    def restore(
        cls, backup: str | os.PathLike[str], path: str | os.PathLike[str], *, discard_newer: bool = False
    ) -> "PrivacyLedger":
        """Restore a ledger from a backup, and return it.

        Parameters
        ----------
        backup : str or path-like
            File that `PrivacyLedger.backup` wrote; it is kept. Pass the ledger's own file if a backup was
            copied over it.
        path : str or path-like
            Path at which the ledger was created.
        discard_newer : bool, default=False
            Whether to forget entries of the present file and of its mark that the backup does not hold.
            Their budget remains spent; count it by other means.

        Returns
        -------
        ledger : PrivacyLedger
            The ledger, with the ceiling of the backup.

        Raises
        ------
        LedgerError
            Entries would be forgotten and ``discard_newer`` is False, the backup is of another ledger or
            path, or a file cannot be used. Then the present ledger is unchanged.
        """
        target = states.resolve(path)
        limits = restore(states.resolve(backup), target, discard_newer=discard_newer)
        return cls(target, limits.epsilon, limits.delta, max_failures=limits.max_failures)

    def _account(self) -> Account:
        with self._transaction(full=True) as records:
            return account_of(records, self._path)

    def label(self, label: str) -> contextlib.AbstractContextManager[Self]:
        """Mark the entries charged inside a ``with`` block; the innermost label counts.

        The label belongs to the object, not to the thread. It reaches the fits that joblib runs in threads.
        As it is pickled with the ledger, it also reaches fits in worker processes.

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
        """Record the purpose, person, approver and expiry of the charges inside a ``with`` block.

        The texts are stored with every entry, in the file and in its hash, and every report prints them. They
        are statements of the user: nothing checks them, and none of them refuses a charge. In nested blocks
        the innermost value of each text counts. Like a label they belong to the object and to its pickles.

        Parameters
        ----------
        purpose : str, default=None
            Purpose of the result, such as "Table One".
        person : str, default=None
            Person who runs the fit and sees its result.
        approver : str, default=None
            Person or body that approved it, such as a committee and its reference.
        expiry : str, default=None
            End of the approval: an ISO date or date and time. Reports show when that day is over, in UTC. Any
            other text never expires. For each of the four, None means the value of the outer block.

        Raises
        ------
        TypeError, ValueError
            A value is not a text, or is empty or not on one line, or all four are None.

        Notes
        -----
        **Privacy**: all four are public by nature. They must not depend on private rows.

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
            raise ValueError("Pass at least one of purpose, person, approver and expiry.")
        return self._saying((None, *texts))

    @contextlib.contextmanager
    def _saying(self, said: Said) -> Iterator[Self]:
        # Blocks of several threads may end in any order: each block removes its own texts.
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
        """Declare the group of disjoint data for the charges inside a ``with`` block.

        Totals, the ceiling and the remaining budget count every entry, whatever its group. `composition`
        counts only the most expensive group, which is right if no unit is in two groups. The user declares
        that, and reports print it as a declaration.

        Like a label, the group belongs to the object. It reaches threads, and the worker processes of joblib
        and `multiprocessing` that this process starts. It ends with the block, also in pickles and in the
        memory of workers. After the block, and in other processes, such an object charges without a group.
        Such a charge counts in all groups.

        Parameters
        ----------
        group : str
            A public text on one line, not empty, such as "hospital A".

        Raises
        ------
        TypeError, ValueError
            The group is not a text or is empty, or the object is already inside such a block: groups do not
            overlap. Threads that work on different groups each need their own ``PrivacyLedger(path)``.
        LedgerError
            The file that marks the open block could not be created or deleted beside the ledger.

        Notes
        -----
        While the block is open, there is an empty file beside the ledger. Only this process and its workers
        can compute the name of this file: from an id in the pickle and from the secret that `multiprocessing`
        gives to its children (``current_process().authkey``). So a process id that is used again, by a later
        process or in another container, does not restore the group. A process that is killed inside the block
        leaves the file, ``.skprivate-data-...``. It is of no use to any other process: delete it.
        """
        check_text(group, "group")
        block = group, os.urandom(16).hex()
        file, owner = block_file(self._path, block[1]), os.getpid()
        declared = False
        try:
            with _DECLARING:
                if self._group is not None:
                    raise ValueError(
                        f"This ledger object is already inside data({self._group!r}), and groups of data do "
                        "not overlap. Leave that block first. In another thread, use a new PrivacyLedger."
                    )
                # First, because an interrupt after the group is set must not leave it declared.
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
        """The declared group of data; None after its block has ended, in any process."""
        if self._data is None or not _is_started_by(self._pickled_by):
            return None
        return self._data[0] if block_file(self._path, self._data[1]).exists() else None

    def __sklearn_clone__(self) -> Self:
        # clone copies parameters, and nobody would read the charges of a copied account.
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Without the verified state: a fit must not change its parameters, and joblib hashes their pickles.
        state = {name: value for name, value in vars(self).items() if name not in _OF_THIS_OBJECT}
        return state if self._group is None else {**state, "_data": (self._data, os.getpid())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The file is not read: a fitted estimator must predict even if its ledger is out of reach.
        # A declared group reaches processes started by the one that pickled it, not a fit that came back. A
        # charge checks this, and not earlier, because multiprocessing informs a worker late about its parent.
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
        # A limit that is not given is taken from the file, whose limits are public.
        ceiling = found if wanted.epsilon is None else wanted
        failures = found if wanted.max_failures is None else wanted
        asked = states.Identity(found.uuid, ceiling.epsilon, ceiling.delta, failures.max_failures)
        if asked != found:
            raise LedgerError(
                f"The ledger {self._path} was created with {states.describe_limits(found)}, not with "
                f"{states.describe_limits(asked)}. Its limits are fixed: open it with them, or as "
                f"PrivacyLedger({str(self._path)!r}), which uses them."
            )
        self._verified = records.state
        return found

    @contextlib.contextmanager
    def _transaction(self, *, write: bool = False, full: bool = False) -> Iterator[SQLiteRecords]:
        # Read before the lock: an entry that another thread adds in the meantime is not a roll-back.
        seen = self._verified
        with SQLiteStore(self._path).transaction(write=write) as records:
            if records.identity != self._identity:
                raise LedgerError(
                    f"The file {self._path} is another ledger than the one of this object. Restore that "
                    "ledger, or create a new PrivacyLedger object."
                )
            verify(records, seen, self._path, full=full)
            self._verified = records.state
            yield records
        self._verified = records.state


def _innermost(blocks: tuple[list[Said], ...]) -> Said:
    """Return the innermost value of every text in the open blocks."""
    found = NOTHING_SAID
    for (texts,) in blocks:
        found = tuple(old if text is None else text for old, text in zip(found, texts, strict=True))
    return found


def _is_started_by(process: int | None) -> bool:
    """Return whether a process started this one, directly or by a fork server; always True for None."""
    from multiprocessing import parent_process  # a client needs none of it

    starter = parent_process()
    return process in (None, os.getppid(), None if starter is None else starter.pid)


def block_file(ledger: Path, block_id: str) -> Path:
    """Return the file that exists while a block is open; only its process and its workers know the name."""
    from multiprocessing import current_process  # a client needs none of it

    name = hmac.new(current_process().authkey, block_id.encode(), "sha256").hexdigest()
    return ledger.with_name(f".skprivate-data-{name}")


@contextlib.contextmanager
def _explained(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"The file {file}, which marks an open block of data(...), could not be created or deleted "
            f"({error}). Check the disk and the rights to write its folder."
        ) from error


@public_module("skprivate.accounting")
class LedgerAudit(LedgerViews):
    """A read-only view of a ledger for an auditor: it is checked as a whole and never written.

    Parameters
    ----------
    path : str or path-like
        File that `PrivacyLedger.to_json` or `PrivacyLedger.backup` wrote, at any place; or the ledger's own
        file. The ledger should not be charged during the audit; a backup is complete at any time.

    Attributes
    ----------
    checks : tuple of str
        Sentences about the checks, and about what they cannot show.

    Raises
    ------
    TypeError
        ``path`` is not a path.
    LedgerError
        The file cannot be read or is none of the three. Or it was altered: an entry, the order of entries, a
        sum or the hash that links the entries differs. A ledger in use may be refused too; try again.

    See Also
    --------
    PrivacyLedger.to_json : Writes the export.
    study_page : Makes one page for the people who sign.

    Notes
    -----
    The file is read once, at construction. Later charges do not show. There is no method that charges, and
    the file is opened for reading.

    **What a check shows.** The hash has no key. It finds accidents: a lost, altered or exchanged entry. A
    person who writes the file can recompute the hash, so that an audit trusts the keeper of the file. An
    auditor who notes `chain` from time to time can see later whether earlier entries are still the same. The
    hash does not cover failed fits and refused charges. A record of the user is only as true as the user.

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
            raise LedgerError(f"The file {self._path} does not exist, or is not a file.")
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
        """Return the remaining epsilon and delta, exactly; infinite without a ceiling."""
        return states.left_of(self._found.identity, self.spent())

    def __repr__(self) -> str:
        return f"LedgerAudit({str(self._path)!r})"

    def _account(self) -> Account:
        return self._found

    def _read_database(self) -> tuple[Account, tuple[str, ...]] | None:
        """Return the account of a ledger or its backup; None if the file is not a database."""
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
                f"The ledger {path} cannot be read ({error}). If it is in use, or a write was interrupted, "
                "audit a backup, or an export of to_json."
            ) from error
        marked = "It agrees with its high-water mark." if records.mark else _NO_MARK
        return account, (*_CHECKED, marked)

    def _read_json(self) -> tuple[Account, tuple[str, ...]]:
        try:
            account = read_export(parse_json(self._path.read_bytes()))
        except (OSError, *UNREADABLE) as error:
            raise LedgerError(
                f"The file {self._path} is not a ledger, a backup or an export of one, or it was altered: "
                f"{describe_error(error)}."
            ) from error
        return account, (*_CHECKED, _NO_MARK)


_CHECKED = (
    "Every entry was read, their sums and the hash that links them were computed again and agree.",
    "The hash has no key: it finds accidents, not adversaries. It does not cover failures, refusals, the "
    "ceiling, the limit of failures and the ledger's id.",
)
_NO_MARK = "No high-water mark is beside it: missing newer entries would not show."
