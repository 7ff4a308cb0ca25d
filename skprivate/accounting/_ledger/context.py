# SPDX-License-Identifier: BSD-3-Clause
"""What is said of the charges inside a ``with`` block: label, record, and group of data."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from ...exceptions import LedgerError
from .._checks import check_text
from .._statements.ledger_entry import NO_RECORD, RECORD, Record
from .reference import LedgerReference, block_file

_DECLARING = threading.Lock()


class LedgerContext(LedgerReference):
    """A reference to a ledger that says more of what is charged through it."""

    @contextlib.contextmanager
    def label(self, label: str) -> Iterator[Self]:
        """Mark the entries charged inside a ``with`` block; the innermost label counts.

        The label belongs to the object, not to the thread: it reaches the fits that joblib runs in threads
        and, pickled with the ledger, those in worker processes.

        Parameters
        ----------
        label : str
            A public text on one line, not empty.
        """
        check_text(label, "label")
        # As in `record`: blocks of several threads need not end in the order in which they began.
        block: list[str | None] = [label]
        with _DECLARING:
            self._labels = (*self._labels, block)
            self._label = label
        try:
            yield self
        finally:
            with _DECLARING:
                self._labels = tuple(other for other in self._labels if other is not block)
                self._label = self._labels[-1][0]

    @contextlib.contextmanager
    def record(
        self,
        *,
        purpose: str | None = None,
        person: str | None = None,
        approver: str | None = None,
        expiry: str | None = None,
    ) -> Iterator[Self]:
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
            Until when it is allowed: an ISO date or date and time, of which reports tell when its day is
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
        if texts == (None, None, None, None):
            raise ValueError("Give at least one of purpose, person, approver and expiry.")
        # Blocks of several threads need not end in the order in which they began: each takes back its own.
        block: list[Record] = [texts]
        with _DECLARING:
            self._blocks = (*self._blocks, block)
            self._record = _innermost(self._blocks)
        try:
            yield self
        finally:
            with _DECLARING:
                self._blocks = tuple(other for other in self._blocks if other is not block)
                self._record = _innermost(self._blocks)

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


@contextlib.contextmanager
def _explained(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"The file {file}, which says that a block of data(...) is open, could not be made or deleted "
            f"({error}). Check the disk and the rights to write its folder."
        ) from error


def _innermost(blocks: tuple[list[Record], ...]) -> Record:
    """Return of every text of a record the last one that is open."""
    found = NO_RECORD
    for (texts,) in blocks:
        kept = (old if text is None else text for old, text in zip(found, texts, strict=True))
        found = next(kept), next(kept), next(kept), next(kept)
    return found
