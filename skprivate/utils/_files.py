# SPDX-License-Identifier: BSD-3-Clause
"""Files that appear complete or not at all, and locks between processes."""

import contextlib
import functools
import math
import os
import time
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO

#: Rights of a file that only its owner may read.
OWNER_ONLY = 0o600


def write_atomically(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o666) -> None:
    """Write a file that others see either as it was or as it is now, whatever happens on the way.

    Parameters
    ----------
    path : str or path-like
        Where; a file that is there is replaced, through a symbolic link too.
    data : bytes
        The whole content.
    mode : int, default=0o666
        Rights, before the process's umask.
    """
    path = os.path.realpath(path)
    with _unfinished(Path(path), mode) as (file, name):
        file.write(data)
        _flush(file)
        os.replace(name, path)
    _flush_folder(Path(path).parent)


@contextlib.contextmanager
def create_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file for writing; it appears under its name when the block ends without an error.

    Parameters
    ----------
    path : str or path-like
        Where; FileExistsError if something is there, before and after the block.

    Yields
    ------
    file : binary file, open for reading and writing
    """
    path = Path(path)
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists and is not overwritten.")
    with _unfinished(path, 0o666) as (file, name):
        yield file
        _flush(file)
        try:
            os.link(name, path)  # fails if the name is taken, unlike a rename
        except FileExistsError:
            raise FileExistsError(f"{path} exists and is not overwritten.") from None
        except OSError:
            # A file system without hard links.
            if os.path.lexists(path):
                raise FileExistsError(f"{path} exists and is not overwritten.") from None
            os.rename(name, path)
    _flush_folder(path.parent)


@contextlib.contextmanager
def locked(
    path: str | os.PathLike[str], *, wait: bool = True, timeout: float = math.inf, mode: int = OWNER_ONLY
) -> Iterator[Callable[[], bool]]:
    """Hold the lock of a file, an empty file beside it that stays, against other threads and processes.

    The operating system frees the lock of a process that ends, however it ends. Reading or copying the lock
    file does no harm. Whoever deletes it lets another process in, so the holder can ask whether it is there.

    Parameters
    ----------
    path : str or path-like
        The file that is protected; it need not exist. A symbolic link shares the lock of its file.
    wait : bool, default=True
        Whether to wait for the lock. False: BlockingIOError if it is held.
    timeout : float, default=math.inf
        Seconds to wait at most; TimeoutError after them.
    mode : int, default=OWNER_ONLY
        Rights of a new lock file, before the process's umask; who may read it may hold it.

    Yields
    ------
    holds : callable
        Returns whether the file that is locked still has its name.
    """
    lock = acquire_lock(path, wait=wait, timeout=timeout, mode=mode)
    try:
        yield functools.partial(holds_lock, lock)
    finally:
        release_lock(lock)


def acquire_lock(
    path: str | os.PathLike[str], *, wait: bool = True, timeout: float = math.inf, mode: int = OWNER_ONLY
) -> FileIO:
    """Return the lock of a file, to be released; parameters and errors are those of `locked`.

    It is a file object, no bare descriptor: where an interrupt comes before its release, or in it, it is
    closed, and free, with the last reference to it.
    """
    name, deadline = f"{os.path.realpath(os.fspath(path))}.lock", time.monotonic() + timeout
    pause = 0.0005  # seconds; doubled up to 2 ms: a holder writes to a disk for about as long
    while True:
        lock = _try_to_lock(name, mode)
        if lock is not None:
            return lock
        if not wait:
            raise BlockingIOError("The file is locked by another thread or process.")
        if time.monotonic() > deadline:
            raise TimeoutError("The file stayed locked by another thread or process.")
        time.sleep(pause)
        pause = min(2 * pause, 0.002)


def _try_to_lock(name: str, mode: int) -> FileIO | None:
    from filelock import lock_descriptor  # takes long to import, and most processes lock nothing

    lock = FileIO(name, opener=lambda path, _: os.open(path, os.O_RDONLY | os.O_CREAT, mode))
    try:
        # A file that was deleted after it was opened protects nothing: the next process makes another.
        if lock_descriptor(lock.fileno(), blocking=False) and _is_named(lock.fileno(), name):
            return lock
    except BaseException:
        lock.close()
        raise
    lock.close()
    return None


def holds_lock(lock: FileIO) -> bool:
    """Return whether the file that is locked still has its name."""
    return _is_named(lock.fileno(), str(lock.name))


def release_lock(lock: FileIO) -> None:
    """Release a lock that `acquire_lock` returned."""
    from filelock import unlock_descriptor

    try:
        # Closing alone would leave the lock to a child process that inherited the descriptor.
        unlock_descriptor(lock.fileno())
    finally:
        lock.close()


def _is_named(handle: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _unfinished(path: Path, mode: int) -> Iterator[tuple[BinaryIO, str]]:
    # Beside the target: the same file system. os.open: rights follow the umask, as tempfile's do not.
    name = str(path.with_name(f".{path.name}.{os.urandom(8).hex()}.unfinished"))
    with open(os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode), "r+b") as file:
        try:
            yield file, name
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
