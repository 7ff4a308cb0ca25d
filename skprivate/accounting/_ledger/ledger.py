# SPDX-License-Identifier: BSD-3-Clause
"""A ledger on disk that adds up what every fit spent and refuses what would pass its limits."""

import os
import uuid
from fractions import Fraction

from ...exceptions import BudgetExceededError, LedgerError, PrivacyUnboundedError
from ...utils._public_module import public_module
from .._amounts import Remaining, Spent
from .._checks import check_text
from .._statements.ledger_entry import same_charge, to_row
from .._statements.spent import PrivacySpent
from .backup import backup, restore
from .context import LedgerContext
from .export import Account, account_of
from .limits import check_limits, left_of, require_below_ceiling, require_few_failures, require_place
from .reference import resolve
from .store import LedgerRecords, Row
from .views import LedgerViews


@public_module("skprivate.accounting")
class PrivacyLedger(LedgerContext, LedgerViews):
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

    **Failed fits** are counted by `count_failure`, beside the entries: that a fit failed may tell something
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

    def __init__(
        self,
        path: str | os.PathLike[str],
        epsilon: float | Fraction | None = None,
        delta: float | Fraction = 0.0,
        *,
        max_failures: int | None = None,
    ) -> None:
        super().__init__(resolve(path), check_limits(uuid.uuid4().hex, epsilon, delta, max_failures))

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
        amount = _finite(spent.epsilon)
        row = to_row(spent, amount, estimator, self._label, self._group, self._record)
        refusal: BudgetExceededError | None = None
        try:
            with self._transaction(write=True) as records:
                if charge_id is not None and self._holds(records.charged(charge_id), row, charge_id):
                    return False
                before, after = records.state, records.state.after(row)
                try:
                    require_few_failures(self._identity, before, self._path)
                    require_below_ceiling(self._identity, before, after, self._path)
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

    def count_failure(self, estimator: str) -> int:
        """Count one failed fit, which costs no epsilon and may tell something of the rows.

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
            require_few_failures(self._identity, records.state, self._path)

    def _take_place(self, estimator: str) -> bool:
        """Reserve one of the failures that the limit allows for a fit that begins; False without a limit."""
        check_text(estimator, "estimator")
        if self.max_failures is None:
            return False
        records: LedgerRecords | None = None
        try:
            with self._transaction(write=True) as records:
                require_place(self._identity, records.state, self._path)
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
        return left_of(self._identity, self.spent())

    @property
    def _title(self) -> str:
        return f"Privacy ledger {self._path}"

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
        target = resolve(path)
        with self._transaction(full=True) as records:
            backup(records, self._path, target)

    @classmethod
    def restore(
        cls,
        backup: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        discard_newer: bool = False,
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
        target = resolve(path)
        limits = restore(resolve(backup), target, discard_newer=discard_newer)
        return cls(target, limits.epsilon, limits.delta, max_failures=limits.max_failures)

    def _account(self) -> Account:
        with self._checked(write=False, full=True) as (records, rows):
            return account_of(records, rows, self._path)

    def _holds(self, charged: Row | None, row: Row, charge_id: str) -> bool:
        """Return whether an id has its entry already; LedgerError if that is another one."""
        if charged is not None and not same_charge(charged, row):
            raise LedgerError(
                f"The charge_id {charge_id!r} was used in the ledger {self._path} for an entry of another "
                "estimator, mechanism, amount, relation, unit or group of data; nothing was charged. Give "
                "each charge an id of its own, and repeat it in the same group of data."
            )
        return charged is not None


def _finite(epsilon: Fraction | float) -> Fraction:
    if isinstance(epsilon, Fraction):
        return epsilon
    raise PrivacyUnboundedError(
        "A run of infinite epsilon has no amount that a ledger could add up; nothing was written. Run it "
        "without a ledger, or bound its sensitivity."
    )
