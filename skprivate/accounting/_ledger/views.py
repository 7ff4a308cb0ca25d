# SPDX-License-Identifier: BSD-3-Clause
"""What a ledger shows: entries, refusals, totals, composition, report, page and export."""

import os
from abc import ABC, abstractmethod
from fractions import Fraction
from pathlib import Path

from ...exceptions import LedgerError
from ...utils._files import write_atomically
from .._composition.compose import Composition, Method, compose
from .._statements.html import label_fragment, label_page
from .._statements.ledger_entry import LedgerEntry
from .export import Account, write_export
from .high_water_mark import refuse_own_files
from .reference import resolve
from .report import label_of_ledger, label_of_unreadable, write_report


class LedgerViews(ABC):
    """The views of an account, for a ledger and for an audit of one."""

    _path: Path

    @property
    @abstractmethod
    def _title(self) -> str:
        """What reports are headed by."""

    @abstractmethod
    def _account(self) -> Account:
        """Return all that is shown, after a check of all of it."""

    def entries(self) -> list[LedgerEntry]:
        """Return every entry, oldest first, after a check of all of them."""
        return list(self._account().entries)

    def refusals(self) -> list[LedgerEntry]:
        """Return the charges that a limit refused, oldest first, as the entries that they would have been.

        They cost nothing, no total counts them, and the hash of the entries does not cover them. A fit whose
        epsilon is infinite, or that the limit of failures stopped before it looked at rows, is not among
        them.

        Returns
        -------
        refusals : list of LedgerEntry
        """
        return list(self._account().refusals)

    def report(self) -> str:
        """Return the entries by label and estimator, the totals, and what they do and do not cover."""
        return write_report(self._title, self._account())

    def _repr_html_(self) -> str:
        """Return the report as a label for a notebook, or what is wrong with the file."""
        try:
            label = label_of_ledger(self._title, self._account())
        except LedgerError as error:
            label = label_of_unreadable(self._title, error)
        return label_fragment([label])

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as one page: a whole HTML document, without scripts or anything to load.

        Parameters
        ----------
        path : str or path-like, default=None
            A file to write it to as well, which is replaced if it exists; never one of the ledger's own.

        Returns
        -------
        page : str
            All texts are escaped. It holds the file's name, but not its folder.
        """
        title = f"Privacy ledger {self._path.name}"
        return self._written(label_page([label_of_ledger(title, self._account())], "Ledger"), path)

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
            A file to write it to as well, which is replaced if it exists; never one of the ledger's own.

        Returns
        -------
        text : str
            An object of ``"format": "skprivate.ledger-export"`` and ``"version": 3``, with the hash that
            links the entries: `LedgerAudit` reads and checks it. It cannot be opened as a ledger: what is
            spent is in the ledger's file.
        """
        return self._written(write_export(self._account()), path)

    def _written(self, text: str, path: str | os.PathLike[str] | None) -> str:
        if path is not None:
            target = resolve(path)
            refuse_own_files(self._path, target)
            write_atomically(target, text.encode("utf-8"))
        return text
