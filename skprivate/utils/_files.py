# SPDX-License-Identifier: BSD-3-Clause
"""Files that appear complete or not at all, and locks between processes."""

import contextlib
import errno
import functools
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from io import BufferedRandom, FileIO
from pathlib import Path
from typing import BinaryIO

#: Rights of a file that only its owner may read.
OWNER_ONLY = 0o600
# Folders are not opened or flushed on some file systems, and on Windows.
_CANNOT_FLUSH = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOTSUP, errno.EPERM}
# Windows neither deletes nor replaces a file that a process has open.
_DELETES_OPEN_FILES = os.name != "nt"
# Seconds to wait, set by hand: scanners and indexers of Windows have a new file open for moments.
_PATIENCE = 1.0
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.unfinished", re.DOTALL)


def write_atomically(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o666) -> None:
    """Write a file; others see either its old or its new content, even if the process is stopped.

    Parameters
    ----------
    path : str or path-like
        Path of the file; an existing file is replaced, also through a symbolic link.
    data : bytes
        The whole content.
    mode : int, default=0o666
        Rights, before the process's umask.
    """
    path = Path(os.path.realpath(path))
    for last in (False, False, True):
        try:
            with _unfinished(path, mode) as (file, name):
                file.write(data)
                _flush(file)
                file.close()
                replace_file(name, path)
            break
        except FileNotFoundError:
            # Another process deleted the closed file as abandoned, or the folder does not exist.
            if last:
                raise
    _flush_name(path.parent)


def replace_file(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Replace a file by a closed file; on Windows, wait until no process has the replaced file open."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return os.replace(source, target)
        except PermissionError:
            if _DELETES_OPEN_FILES or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


@contextlib.contextmanager
def create_atomically(path: str | os.PathLike[str], *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a new file for writing; it appears under its name when the block ends without an error.

    Parameters
    ----------
    path : str or path-like
        Path of the file; FileExistsError if it exists before or after the block.
    mode : int, default=0o666
        Rights, before the process's umask.

    Yields
    ------
    file : binary file, open for reading and writing
    """
    path = Path(path)
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists and is not overwritten.")
    with _unfinished(path, mode) as (file, name):
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
            if not _DELETES_OPEN_FILES:
                file.close()
            os.rename(name, path)
    _flush_name(path.parent)


@contextlib.contextmanager
def create_in_place(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file under its name, without a buffer; written data stay even after an error in the block.

    Parameters
    ----------
    path : str or path-like
        Path of the file; FileExistsError if it exists.

    Yields
    ------
    file : binary file, open for reading and writing
    """
    path = Path(path)
    with FileIO(path, "x+") as file:
        # If the file system has locks, the lock shows that the writer is alive.
        _can_lock(file.fileno())
        _flush_name(path.parent)
        yield file
        os.fsync(file.fileno())


def is_being_written(handle: int) -> bool:
    """Return whether another process has locked an open file; if not, lock it until it is closed."""
    return _can_lock(handle) is False


@contextlib.contextmanager
def locked(
    path: str | os.PathLike[str], *, wait: bool = True, timeout: float = math.inf, mode: int = OWNER_ONLY
) -> Iterator[Callable[[], bool]]:
    """Hold the lock of a file against other threads and processes; the lock is an empty file beside it.

    The operating system frees the lock when its process ends for any reason. Reading or copying the lock file
    does no harm. If the lock file is deleted, another process can enter. So the holder can check that it
    still exists.

    Parameters
    ----------
    path : str or path-like
        The protected file; it need not exist. A symbolic link shares the lock of its file.
    wait : bool, default=True
        Whether to wait for the lock. False: BlockingIOError if it is held.
    timeout : float, default=math.inf
        Longest time to wait, in seconds; then TimeoutError.
    mode : int, default=OWNER_ONLY
        Rights of a new lock file, before the process's umask. Users who may read it may hold it.

    Yields
    ------
    holds : callable
        Returns whether the locked file still has its name.
    """
    lock = acquire_lock(path, wait=wait, timeout=timeout, mode=mode)
    try:
        yield functools.partial(holds_lock, lock)
    finally:
        release_lock(lock)


class Lock(FileIO):
    """An open lock file, which is locked or will be locked.

    It is a file object, not a bare descriptor. So if an interrupt comes before or during its release, the
    file is closed and unlocked with its last reference.

    Attributes
    ----------
    process : int
        Id of the process that opened it; a fork holds a copy of the descriptor.
    """

    def __init__(self, name: str, mode: int) -> None:
        # filelock takes long to import, and most processes lock nothing. Both functions are imported now: a
        # lock held to the end of the process is released when nothing can be imported any more.
        from filelock import lock_descriptor, unlock_descriptor

        self._lock, self._unlock = lock_descriptor, unlock_descriptor
        self.process = os.getpid()
        super().__init__(name, opener=lambda path, _: os.open(path, os.O_RDONLY | os.O_CREAT, mode))

    def take(self) -> bool:
        """Lock the file, and return whether it could be locked."""
        return bool(self._lock(self.fileno(), blocking=False))

    def unlock(self) -> None:
        """Unlock the file, for all copies of its descriptor."""
        self._unlock(self.fileno())


def acquire_lock(
    path: str | os.PathLike[str], *, wait: bool = True, timeout: float = math.inf, mode: int = OWNER_ONLY
) -> Lock:
    """Return the lock of a file; release it with `release_lock`. Parameters and errors as in `locked`."""
    name, deadline = f"{os.path.realpath(os.fspath(path))}.lock", time.monotonic() + timeout
    pause = 0.0005  # seconds; doubled up to 2 ms, about the time of a write to a disk
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


def _try_to_lock(name: str, mode: int) -> Lock | None:
    lock = Lock(name, mode)
    try:
        # A file that was deleted after it was opened protects nothing: the next process creates another.
        if lock.take() and holds_lock(lock):
            return lock
    except BaseException:
        lock.close()
        raise
    lock.close()
    return None


def holds_lock(lock: Lock) -> bool:
    """Return whether the lock is not released, and the locked file still has its name."""
    return not lock.closed and _is_named(lock.fileno(), str(lock.name))


def release_lock(lock: Lock) -> None:
    """Release a lock that `acquire_lock` returned."""
    try:
        # A fork must not unlock its copy of the descriptor: the lock belongs to the parent.
        if lock.process == os.getpid():
            # Closing alone would leave the lock to a child process that inherited the descriptor.
            lock.unlock()
    finally:
        lock.close()


def _is_named(handle: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _unfinished(path: Path, mode: int) -> Iterator[tuple[BinaryIO, str]]:
    """Open a new file beside the target, on the same file system; delete files of killed processes there."""
    file = _create_locked(path, mode)
    name, process = str(file.name), os.getpid()
    try:
        with file:
            _clear_abandoned(path.parent)
            yield file, name
    finally:
        # In a fork the file belongs to the parent.
        if os.getpid() == process:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


def _create_locked(path: Path, mode: int) -> BufferedRandom:
    """Create a file under a random name, and lock it: the lock shows that its process is alive."""
    while True:
        name = str(path.with_name(f".{path.name}.{os.urandom(8).hex()}.unfinished"))
        # With os.open, unlike tempfile, rights follow the umask. After an interrupt, a bare descriptor in
        # place of a file object would keep the lock of a file that nobody writes.
        file = BufferedRandom(FileIO(name, "x+", opener=lambda path, flags: os.open(path, flags, mode)))
        # Before it was locked, another process may have deleted the file as abandoned.
        if _can_lock(file.fileno()) is not False and _is_named(file.fileno(), name):
            return file
        file.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _clear_abandoned(folder: Path) -> None:
    """Delete all unfinished files that no process writes any more."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _delete_unless_locked(entry.path)


def _delete_unless_locked(name: str) -> None:
    if not _DELETES_OPEN_FILES:
        os.unlink(name)
        return
    # Neither follow a link nor wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with FileIO(name, opener=lambda path, _: os.open(path, flags)) as file:
        if _can_lock(file.fileno()):
            os.unlink(name)


def _can_lock(handle: int) -> bool | None:
    """Lock a file unless another process has locked it; None if the file system has no locks."""
    from filelock import lock_descriptor

    try:
        return bool(lock_descriptor(handle, blocking=False))
    except OSError:
        return None


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def make_lasting(path: str | os.PathLike[str]) -> None:
    """Write a file to the disk, so that it survives a power cut."""
    path = Path(os.path.realpath(path))
    _flush_name(path)
    _flush_name(path.parent)


def _flush_name(path: Path) -> None:
    """Write the name of a file, or the names in a folder, to the disk, if the system allows it."""
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        # An error of the disk is raised, since data that were not written must not be acknowledged.
        if error.errno not in _CANNOT_FLUSH:
            raise
