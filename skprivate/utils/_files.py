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
# Windows neither deletes nor replaces a file that somebody has open.
_DELETES_OPEN_FILES = os.name != "nt"
# Seconds. Scanners and indexers of Windows have a new file open for moments; a second annoys nobody.
_PATIENCE = 1.0
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.unfinished", re.DOTALL)


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
            # Another process took the file for abandoned, after it was closed; or there is no such folder.
            if last:
                raise
    _flush_name(path.parent)


def replace_file(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Give a closed file the name of another, which goes; on Windows, wait until nobody has that one open."""
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
        Where; FileExistsError if something is there, before and after the block.
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
    """Open a new file under its name, without a buffer; what is written stays, however the block ends.

    Parameters
    ----------
    path : str or path-like
        Where; FileExistsError if something is there.

    Yields
    ------
    file : binary file, open for reading and writing
    """
    path = Path(path)
    with FileIO(path, "x+") as file:
        # Where the file system has locks, it says that the writer lives.
        _can_lock(file.fileno())
        _flush_name(path.parent)
        yield file
        os.fsync(file.fileno())


def is_being_written(handle: int) -> bool:
    """Whether another has an open file locked; if not, it is locked for this one, until it is closed."""
    return _can_lock(handle) is False


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


class Lock(FileIO):
    """A lock file that is open, locked or to be locked.

    It is a file object, no bare descriptor: where an interrupt comes before its release, or in it, it is
    closed, and free, with the last reference to it.

    Attributes
    ----------
    process : int
        Id of the process that opened it; a fork holds a copy of its descriptor.
    """

    def __init__(self, name: str, mode: int) -> None:
        # Takes long to import, and most processes lock nothing. Both functions at once: a lock that is held
        # to the end is released where nothing can be imported any more.
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
    """Return the lock of a file, to be released; parameters and errors are those of `locked`."""
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


def _try_to_lock(name: str, mode: int) -> Lock | None:
    lock = Lock(name, mode)
    try:
        # A file that was deleted after it was opened protects nothing: the next process makes another.
        if lock.take() and holds_lock(lock):
            return lock
    except BaseException:
        lock.close()
        raise
    lock.close()
    return None


def holds_lock(lock: Lock) -> bool:
    """Return whether the lock is not released, and the file that is locked still has its name."""
    return not lock.closed and _is_named(lock.fileno(), str(lock.name))


def release_lock(lock: Lock) -> None:
    """Release a lock that `acquire_lock` returned."""
    try:
        # In a fork the lock is the parent's: to unlock the copied descriptor would take it away.
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
    """Open a new file beside the target, on the same file system; what killed processes left there goes."""
    file = _create_locked(path, mode)
    name, process = str(file.name), os.getpid()
    try:
        with file:
            _clear_abandoned(path.parent)
            yield file, name
    finally:
        # The file of a fork is its parent's.
        if os.getpid() == process:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


def _create_locked(path: Path, mode: int) -> BufferedRandom:
    """Create a file under a random name, and lock it: the lock says that its process lives."""
    while True:
        name = str(path.with_name(f".{path.name}.{os.urandom(8).hex()}.unfinished"))
        # os.open: rights follow the umask, as tempfile's do not. A file object, for an interrupt: a bare
        # descriptor would keep the lock of a file that nobody writes.
        file = BufferedRandom(FileIO(name, "x+", opener=lambda path, flags: os.open(path, flags, mode)))
        # Another process may have taken the file for abandoned, before the lock.
        if _can_lock(file.fileno()) is not False and _is_named(file.fileno(), name):
            return file
        file.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _clear_abandoned(folder: Path) -> None:
    """Delete the unfinished files that no process writes any more, whatever they were to become."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _delete_unless_locked(entry.path)


def _delete_unless_locked(name: str) -> None:
    if not _DELETES_OPEN_FILES:
        os.unlink(name)
        return
    # No link, and nothing that would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with FileIO(name, opener=lambda path, _: os.open(path, flags)) as file:
        if _can_lock(file.fileno()):
            os.unlink(name)


def _can_lock(handle: int) -> bool | None:
    """Lock a file unless another has the lock; None where the file system has no locks."""
    from filelock import lock_descriptor

    try:
        return bool(lock_descriptor(handle, blocking=False))
    except OSError:
        return None


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def make_lasting(path: str | os.PathLike[str]) -> None:
    """Make a file that somebody wrote, perhaps without an end, last through a power cut."""
    path = Path(os.path.realpath(path))
    _flush_name(path)
    _flush_name(path.parent)


def _flush_name(path: Path) -> None:
    """Make the name of a file, or the names in a folder, last through a power cut, where that can be done."""
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        # A disk that fails is no file system that cannot: what was not written must not be acknowledged.
        if error.errno not in _CANNOT_FLUSH:
            raise
