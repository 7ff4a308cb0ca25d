# SPDX-License-Identifier: BSD-3-Clause
"""The high-water mark beside a ledger's file: the state that was last acknowledged.

It is written after the commit, under the ledger's lock, and before the charge returns. A process that is
killed in between leaves a mark behind the ledger, which the next transaction catches up with; what it had
charged was acknowledged to nobody. A ledger behind its mark has lost something that was.
"""

import hashlib
import json
import os
from pathlib import Path

from ..exceptions import LedgerError
from ._running_sum import running_sum_from_text, running_sum_to_text
from ._store import LedgerState

_FORMAT = "skprivate.ledger-mark"


def mark_path(ledger: Path) -> Path:
    """Return the name of a ledger's mark."""
    return ledger.with_name(f"{ledger.name}.mark")


def write_mark(ledger: Path, uuid: str, state: LedgerState) -> None:
    """Replace the mark; call it under the ledger's lock only."""
    content = {
        "format": _FORMAT,
        "ledger": uuid,
        "count": state.count,
        "epsilon": running_sum_to_text(state.epsilon),
        "delta": running_sum_to_text(state.delta),
        "chain": state.chain,
        "failures": state.failures,
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
    os.replace(unfinished, path)


def read_mark(ledger: Path) -> tuple[str, LedgerState] | None:
    """Return the UUID and the state that the mark holds, None if there is no mark."""
    path = mark_path(ledger)
    try:
        content = json.loads(path.read_bytes())
        checksum = content.pop("checksum")
        if checksum != _checksum(content):
            raise ValueError("wrong checksum")
        return content["ledger"], LedgerState(
            count=content["count"],
            epsilon=running_sum_from_text(content["epsilon"]),
            delta=running_sum_from_text(content["delta"]),
            chain=content["chain"],
            failures=content["failures"],
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(
            f"The high-water mark {path} of the ledger cannot be read; nothing was charged. Check the disk "
            "and the rights to read it. If it is damaged and you know that the ledger is in its latest "
            "state, delete the mark."
        ) from error


def _checksum(content: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
