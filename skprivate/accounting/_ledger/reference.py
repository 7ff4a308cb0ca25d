# SPDX-License-Identifier: BSD-3-Clause
"""Reference to a ledger: path, identity and last verified state; copies and pickles are the same ledger."""

import contextlib
import hmac
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from ...exceptions import LedgerError
from .._statements.ledger_entry import NO_RECORD, Record
from .limits import describe_limits, show_limits
from .sqlite_store import SQLiteStore
from .store import Identity, LedgerRecords, LedgerState, LedgerStore, Row, verify


class LedgerReference:
    """A reference to a ledger, which is opened or created.

    Parameters
    ----------
    path : Path
        The resolved path.
    wanted : Identity
        The limits that the ledger gets if it is created, with the UUID for it. Otherwise it must have those
        of them that are not None.
    """

    def __init__(self, path: Path, wanted: Identity) -> None:
        self._path = path
        self._label: str | None = None
        self._labels: tuple[list[str | None], ...] = ([None],)  # those whose blocks are open, oldest first
        self._record = NO_RECORD
        self._blocks: tuple[list[Record], ...] = ()  # the records whose blocks are open, oldest first
        self._data: tuple[str, str] | None = None  # the declared group of data, and the id of its block
        self._pickled_by: int | None = None  # the process whose pickle brought that group, None: no pickle
        self._verified: LedgerState | None = None
        self._identity = self._create_or_open(wanted)

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
        self._labels, self._blocks = ([self._label],), ([self._record],)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LedgerReference):
            return NotImplemented
        return (self._identity.uuid, self._path) == (other._identity.uuid, other._path)

    def __hash__(self) -> int:
        return hash((self._identity.uuid, self._path))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._path)!r}{show_limits(self._identity)})"

    @property
    def _store(self) -> LedgerStore:
        return SQLiteStore(self._path)

    def _create_or_open(self, wanted: Identity) -> Identity:
        if not os.path.lexists(self._path):
            self._store.create(wanted)
        with self._store.transaction(write=False) as records:
            records.check_structure()
            found = records.identity
            verify(records, None, self._path, full=True)
        # A limit that is not given is taken over; the file's own are public.
        ceiling = found if wanted.epsilon is None else wanted
        failures = found if wanted.max_failures is None else wanted
        asked = Identity(found.uuid, ceiling.epsilon, ceiling.delta, failures.max_failures)
        if asked != found:
            raise LedgerError(
                f"The ledger {self._path} was created with {describe_limits(found)}, not with "
                f"{describe_limits(asked)}. Its limits are fixed: open it with them, or as "
                f"PrivacyLedger({str(self._path)!r}), which takes them over."
            )
        self._verified = records.state
        return found

    @contextlib.contextmanager
    def _transaction(self, *, write: bool = False, full: bool = False) -> Iterator[LedgerRecords]:
        with self._checked(write=write, full=full) as (records, _):
            yield records

    @contextlib.contextmanager
    def _checked(self, *, write: bool, full: bool) -> Iterator[tuple[LedgerRecords, list[Row]]]:
        # Read first: an entry that another thread adds while this one waits is no roll-back.
        seen = self._verified
        with self._store.transaction(write=write) as records:
            if records.identity != self._identity:
                raise LedgerError(
                    f"The file {self._path} is another ledger than the one this object was made for. Restore "
                    "that one, or make a new PrivacyLedger object."
                )
            rows = verify(records, seen, self._path, full=full)
            self._verified = records.state
            yield records, rows
        self._verified = records.state


# What a pickle does not hold.
_OF_THIS_OBJECT = ("_verified", "_data", "_pickled_by", "_labels", "_blocks")


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


def resolve(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path without symbolic links; TypeError if it is none."""
    if not isinstance(os.fspath(path), str):
        raise TypeError("path must be a str or a path-like of str.")
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:
        raise LedgerError(
            "The ledger's path cannot be resolved. Look for a loop of symbolic links."
        ) from error
