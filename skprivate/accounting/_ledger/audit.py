# SPDX-License-Identifier: BSD-3-Clause
"""A view of a ledger for an auditor: it opens an export, a backup or the file, and charges nothing."""

import os
import sqlite3

from ...exceptions import LedgerError
from ...utils._json_documents import UNREADABLE, is_json_text, parse_json
from ...utils._public_module import public_module
from .._privacy_amounts import Remaining, Spent
from .._statements.fields import describe_error
from .records import SQLiteRecords, recorded_path, verify
from .report import Account, LedgerViews, account_of, read_export
from .sqlite_store import opened
from .state import left_of, resolve, undamaged


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
        self._path = resolve(path)
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
        return left_of(self._found.identity, self.spent())

    def __repr__(self) -> str:
        return f"LedgerAudit({str(self._path)!r})"

    def _account(self) -> Account:
        return self._found

    def _read_database(self) -> tuple[Account, tuple[str, ...]] | None:
        """Return what a ledger or its backup holds; None if the file is no database."""
        path = self._path
        try:
            with undamaged(path), opened(path, "ro") as connection:
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
