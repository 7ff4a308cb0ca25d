# SPDX-License-Identifier: BSD-3-Clause
"""The high-water mark beside a ledger's file: the state that was last acknowledged.

It is written after the commit, under the ledger's lock, and before the charge returns. A process that is
killed in between leaves a mark behind the ledger, which the next transaction catches up with; what it had
charged was acknowledged to nobody. A ledger behind its mark has lost something that was.
"""

import contextlib
import hashlib
import json
import os
from pathlib import Path

from ...exceptions import LedgerError
from ...utils._files import replace_file
from ...utils._json_documents import UNREADABLE, Fields, parse_json
from .._running_sum import running_sum_from_text, running_sum_to_text
from .store import LedgerState

_FORMAT = "skprivate.ledger-mark"
_COUNTS = ("count", "failures", "places_taken", "places_returned")
_FIELDS = ("format", "ledger", *_COUNTS, "epsilon", "delta", "chain", "checksum")
_MOST = 2**62  # SQLite's numbers of rows end at 2^63
# Of the files beside a ledger: this module's, the lock's and SQLite's.
_ENDS = (".mark", ".mark.unfinished", ".lock", "-journal")


def mark_path(ledger: Path) -> Path:
    """Return the name of a ledger's mark."""
    return ledger.with_name(f"{ledger.name}.mark")


def refuse_own_files(ledger: Path, path: Path) -> None:
    """Refuse to write to the ledger's file, by any name, and to the files beside it that belong to it."""
    own = ledger, *(ledger.with_name(f"{ledger.name}{end}") for end in _ENDS)
    if path in own or (path.exists() and ledger.exists() and path.samefile(ledger)):
        raise ValueError("path is the ledger itself, or a file that belongs to it. Choose another one.")


def check_names(ledger: Path) -> None:
    """Raise OSError if the names of the files beside a ledger are too long for its folder."""
    for end in _ENDS:
        with contextlib.suppress(FileNotFoundError):
            os.lstat(f"{ledger}{end}")


def write_mark(ledger: Path, uuid: str, state: LedgerState) -> None:
    """Replace the mark; call it under the ledger's lock only."""
    content = {
        "format": _FORMAT,
        "ledger": uuid,
        **{name: getattr(state, name) for name in _COUNTS},
        "epsilon": running_sum_to_text(state.epsilon),
        "delta": running_sum_to_text(state.delta),
        "chain": state.chain,
    }
    text = json.dumps({**content, "checksum": _checksum(content)}, indent=1) + "\n"
    path = mark_path(ledger)
    # One name for all, as the lock is held: a process that is killed leaves one file, which the next
    # replaces.
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    with open(unfinished, "x", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    # The folder is not flushed: after a power cut an older mark is behind the ledger, and harmless.
    replace_file(unfinished, path)


def read_mark(ledger: Path) -> tuple[str, LedgerState] | None:
    """Return the UUID and the state that the mark holds, None if there is no mark."""
    path = mark_path(ledger)
    try:
        content = parse_json(path.read_bytes())
        fields = Fields(content, _FIELDS)
        checksum = content.pop("checksum")
        if checksum != _checksum(content) or content["format"] != _FORMAT:
            raise ValueError("wrong checksum or format")
        return fields.text("ledger"), LedgerState(
            **{name: fields.integer(name, 0, _MOST) for name in _COUNTS},
            epsilon=running_sum_from_text(content["epsilon"]),
            delta=running_sum_from_text(content["delta"]),
            chain=fields.text("chain"),
        )
    except FileNotFoundError:
        return None
    except (OSError, *UNREADABLE) as error:
        raise LedgerError(
            f"The high-water mark {path} of the ledger cannot be read; nothing was charged. Check the disk "
            "and the rights to read it. If it is damaged and you know that the ledger is in its latest "
            "state, delete the mark."
        ) from error


def _checksum(content: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
