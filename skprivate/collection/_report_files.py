# SPDX-License-Identifier: BSD-3-Clause
"""Files of reports, with writer and reader: a header with specification and batch, then the reports.

The layout is little-endian: 8 bytes that mark the format; uint32 version; 32 bytes, the specification's hash;
16 random bytes, the batch id; uint32 size of one report; uint64 number of reports; the reports. A file of
version 1 appears when it is complete. A file of version 2 grows under its name. Until it is complete, its
number of reports is 2^64 - 1.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from ..utils._files import create_atomically, create_in_place, is_being_written
from ..utils._public_module import public_module
from ._specification import TreeSpecification

_MAGIC = b"\x89SKPRPT\n"  # a byte above 127 and a line end, which transfers as text would change
_WHOLE, _GROWING = _VERSIONS = 1, 2
_UNFINISHED = 2**64 - 1  # number of reports in a header
_PRELUDE = struct.Struct("<8sI")
_HEADER = struct.Struct("<8sI32s16sIQ")
# Number of bytes that are read at a time, which a reader holds in memory.
_CHUNK_BYTES = 2**20


@public_module("skprivate.collection")
class ReportWriter:
    """Writes a file of reports; use it in a ``with`` block.

    A file has its number of reports and a random batch id, so that a curator counts it once. It appears under
    its name when the block ends; after an error there is no file. With ``durable=True`` it exists from the
    start, and keeps all written reports after a failure.

    Parameters
    ----------
    path : str or path-like
        A new file; FileExistsError if there is one.
    specification : TreeSpecification
        The specification that the reports answer.
    durable : bool, default=False
        True, for a service that acknowledges reports: before `write` returns, the operating system has the
        reports, so that they survive the end of this process. After `sync` they also survive a power cut. A
        curator also counts the file of a writer that was killed.
    batch_id : str, default=None
        32 hexadecimal digits. None: random. A curator counts only one file with an id: pass an id if the same
        reports may be written again, for example from a database.

    Attributes
    ----------
    specification : TreeSpecification
        The specification that the reports answer.
    n_reports : int
        Number of reports written so far.

    See Also
    --------
    TreeCurator.update_file : Reads the file.

    Notes
    -----
    **Privacy**: the file is as private as its reports, each of which is epsilon-private. Reports are in the
    order in which they were written, which may reveal who sent which.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skprivate.randomizers import HadamardRandomizer
    >>> from skprivate.collection import ReportWriter, TreeClient, TreeSpecification
    >>> from skprivate.partition import Partition
    >>> partition = Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0])
    >>> specification = TreeSpecification(partition, HadamardRandomizer(1.0, n_cells=2), ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "monday.bin")
    ...     with ReportWriter(path, specification) as writer:
    ...         writer.write(TreeClient(specification).randomize([34], "yes"))
    ...         writer.write(TreeClient(specification).randomize([51], "no"))
    ...     writer.n_reports, path.stat().st_size
    (2, 76)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        specification: TreeSpecification,
        *,
        durable: bool = False,
        batch_id: str | None = None,
    ) -> None:
        self.specification = specification
        self.n_reports = 0
        self._torn = False
        self._path, self._durable = path, durable
        self._batch_id = os.urandom(16) if batch_id is None else bytes.fromhex(batch_id)
        if len(self._batch_id) != 16 or len(batch_id or 32 * "0") != 32:
            raise ValueError("batch_id must be 32 hexadecimal digits.")
        self._stack = contextlib.ExitStack()

    def write(self, reports: bytes | bytearray | memoryview | NDArray[Any]) -> None:
        """Append reports.

        Parameters
        ----------
        reports : bytes-like, or ndarray of shape (n, \\*report_shape)
            One or several reports.

        Raises
        ------
        TypeError, ValueError
            One of them cannot be a report of this specification. None is written.
        OSError
            The disk is full, for example. In a durable file none of the reports is written.
        RuntimeError
            There is no file yet. Or a write to this durable file failed in the middle, so that a copy of the
            file may have a different beginning. End the block, and continue in another file.
        """
        if not hasattr(self, "_file"):
            raise RuntimeError("reports are written in a `with` block of the writer: there is no file yet.")
        if self._torn:
            raise RuntimeError("a write failed in the middle: end this block, and continue in another file.")
        array = reports if isinstance(reports, np.ndarray) else self.specification.unpack(reports)
        # An impossible report is refused here; in the file it would block all that follow.
        self.specification.randomizer.aggregate(array)
        data = memoryview(self.specification.pack(array))
        end = self._file.tell()
        try:
            # A file without a buffer may write only a part.
            while data:
                data = data[self._file.write(data) :]
        except BaseException:
            if self._durable:
                self._torn = self._file.tell() != end
                # Half a report would shift all that follow.
                self._file.truncate(end)
                self._file.seek(end)
            raise
        self.n_reports += len(array)

    def sync(self) -> None:
        """Make all written reports survive a power cut; call it, once for a group, before acknowledging them.

        Raises
        ------
        RuntimeError
            The writer is not durable, or its ``with`` block has not begun.
        """
        if not self._durable or not hasattr(self, "_file"):
            raise RuntimeError("sync is for a writer with durable=True, in its `with` block.")
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        create = create_in_place if self._durable else create_atomically
        self._file: BinaryIO = self._stack.enter_context(create(self._path))
        # The stack calls it before the file gets its name.
        self._stack.push(self._complete)
        self._file.write(self._header(_UNFINISHED if self._durable else 0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def _complete(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            # By the size of the file: an interrupt may have occurred between a write and its count.
            size = self._file.seek(0, os.SEEK_END) - _HEADER.size
            n_reports = size // self.specification.randomizer.report_bytes
            self._file.truncate(self._offset(n_reports))
            self._file.seek(0)
            self._file.write(self._header(n_reports))

    def _offset(self, number: int) -> int:
        return _HEADER.size + number * self.specification.randomizer.report_bytes

    def _header(self, n_reports: int) -> bytes:
        specification = self.specification
        ids = bytes.fromhex(specification.hash), self._batch_id
        version = _GROWING if self._durable else _WHOLE
        return _HEADER.pack(_MAGIC, version, *ids, specification.randomizer.report_bytes, n_reports)


class ReportReader:
    """An open file of reports with a checked header; use it in a ``with`` block.

    Parameters
    ----------
    path : str or path-like
    specification : TreeSpecification
        The specification that the reports must answer.

    Attributes
    ----------
    path : Path
    batch_id : str
        32 hexadecimal digits.
    n_reports : int
        Number of reports; if the writer was killed, the number of complete ones in the file.
    grows : bool
        Whether the writer was durable: other copies of the file may hold more or fewer reports.

    Raises
    ------
    ValueError
        The file is not a file of reports, has a newer version, belongs to another specification, is cut
        short, or is still being written.
    """

    def __init__(self, path: str | os.PathLike[str], specification: TreeSpecification) -> None:
        self.path = Path(path)
        self._specification = specification
        with contextlib.ExitStack() as stack:
            # Unbuffered: chunks are large.
            self._file = stack.enter_context(open(self.path, "rb", buffering=0))
            self.batch_id, self.n_reports, self.grows = self._read_header()
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def chunks(self, start: int = 0) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the reports from number `start` on, in pieces of bounded size, with the number of the first.

        Yields
        ------
        first : int
        reports : ndarray of shape (k, \\*report_shape)
        """
        size = self._specification.randomizer.report_bytes
        at_once = max(_CHUNK_BYTES // size, 1)
        self._file.seek(self.byte_offset(start))
        for first in range(start, self.n_reports, at_once):
            wanted = size * min(at_once, self.n_reports - first)
            data = self._read(wanted)
            if len(data) < wanted:
                raise self.error(
                    self.byte_offset(first) + len(data), "the file was cut short while it was read"
                )
            yield first, self._specification.unpack(data)

    def byte_offset(self, number: int) -> int:
        """Return the position in the file where a report starts."""
        return _HEADER.size + number * self._specification.randomizer.report_bytes

    def error(self, offset: int, problem: str) -> ValueError:
        """Return an error that names the file and the byte."""
        return ValueError(f"{self.path}, byte {offset}: {problem}.")

    def _read_header(self) -> tuple[str, int, bool]:
        status = os.fstat(self._file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise self.error(0, "this is not a regular file")
        header = self._read(_HEADER.size)
        self._check_format(header)
        _, version, hash_, batch_id, size, n_reports = _HEADER.unpack(header)
        if hash_.hex() != self._specification.hash:
            raise self.error(12, f"these reports answer another specification, {hash_.hex()[:8]}...")
        if size != self._specification.randomizer.report_bytes:
            raise self.error(60, f"reports of {size} bytes do not fit the specification")
        if version == _GROWING and n_reports == _UNFINISHED:
            if is_being_written(self._file.fileno()):
                raise self.error(64, "the file is being written, or read by another curator: try again later")
            return batch_id.hex(), (status.st_size - _HEADER.size) // size, True
        complete = self.byte_offset(n_reports)
        if status.st_size < complete:
            raise self.error(status.st_size, f"the file ends here, but should have {complete} bytes")
        if status.st_size > complete:
            raise self.error(complete, "there are more bytes after the last report")
        return batch_id.hex(), n_reports, version == _GROWING

    def _check_format(self, header: bytes) -> None:
        if header[: len(_MAGIC)] != _MAGIC[: len(header)]:
            raise self.error(0, "this is not a file of reports")
        if len(header) >= _PRELUDE.size and _PRELUDE.unpack_from(header)[1] > _GROWING:
            raise self.error(8, "a newer version of skprivate wrote this file: update skprivate")
        if len(header) < _HEADER.size:
            raise self.error(len(header), "the file ends within its header")
        if _PRELUDE.unpack_from(header)[1] not in _VERSIONS:
            raise self.error(8, f"the version must be {_WHOLE} or {_GROWING}")

    def _read(self, wanted: int) -> bytes:
        """Read this number of bytes, or fewer at the end of the file."""
        parts = []
        while wanted:
            part = self._file.read(wanted)
            if not part:
                break
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)
