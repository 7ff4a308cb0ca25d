# SPDX-License-Identifier: BSD-3-Clause
"""Files of reports come back whole and in bounded pieces."""

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from skprivate.collection import ReportWriter, TreeCurator, _report_files
from skprivate.collection._report_files import ReportReader
from tests.collection.studies import label_plan, make_specification, write_reports

PLAIN = make_specification()
TEN = PLAIN.randomizer.randomize(np.arange(10), random_state=0)


def read(path, specification, start=0):
    with ReportReader(path, specification) as reader:
        return list(reader.chunks(start))


@pytest.mark.parametrize("mechanism", ["hadamard", "subset", "laplace"])
@pytest.mark.parametrize("chunk_bytes", [1, 64, 2**20])
def test_what_is_written_is_read(mechanism, chunk_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", chunk_bytes)
    specification = make_specification(mechanism)
    reports = specification.randomizer.randomize(np.arange(50) % 16, random_state=0)
    path = tmp_path / "reports.bin"
    write_reports(path, specification, reports[:20], specification.pack(reports[20:]), reports[:0], b"")
    chunks = read(path, specification)
    np.testing.assert_array_equal(np.concatenate([chunk for _, chunk in chunks]), reports)
    assert [first for first, _ in chunks] == list(np.cumsum([0] + [len(chunk) for _, chunk in chunks])[:-1])
    rest = read(path, specification, start=33)
    np.testing.assert_array_equal(np.concatenate([chunk for _, chunk in rest]), reports[33:])
    assert rest[0][0] == 33
    assert read(path, specification, start=50) == []


def test_batch_ids_are_random(tmp_path):
    ids = set()
    for number in range(20):
        path = write_reports(tmp_path / f"{number}", PLAIN, TEN)
        with ReportReader(path, PLAIN) as reader:
            ids.add(reader.batch_id)
            assert len(bytes.fromhex(reader.batch_id)) == 16
            assert reader.n_reports == 10
    assert len(ids) == 20


def test_the_header_is_as_documented(tmp_path):
    data = write_reports(tmp_path / "reports.bin", PLAIN, TEN).read_bytes()
    assert data[:8] == b"\x89SKPRPT\n"
    assert data[12:44].hex() == PLAIN.hash
    numbers = [int.from_bytes(data[a:b], "little") for a, b in ((8, 12), (60, 64), (64, 72))]
    assert numbers == [1, 2, 10]
    assert data[72:] == TEN.astype("<u2").tobytes()


def test_a_file_appears_complete_or_not_at_all(tmp_path):
    path = tmp_path / "reports.bin"

    def fail(writer):
        writer.write(TEN)
        assert not path.exists()
        writer.write([1])

    with pytest.raises(TypeError), ReportWriter(path, PLAIN) as writer:
        fail(writer)
    assert os.listdir(tmp_path) == []


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "reports.bin"
    batch = PLAIN.randomizer.randomize(np.zeros(2**20, dtype=int), random_state=0)
    tracemalloc.start()
    try:
        write_reports(path, PLAIN, *[batch] * 16)
        with ReportReader(path, PLAIN) as reader:
            assert sum(len(chunk) for _, chunk in reader.chunks()) == 2**24
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size == 72 + 2**25
    assert peak < 2**23  # the batch's bytes and a few chunks, not the 32 MB of the file


# Durable files, of writers that were killed too.

KILLED = """
import os, signal, sys
from skprivate.collection import ReportWriter, TreeSpecification
folder = sys.argv[1]
specification = TreeSpecification.from_json(os.path.join(folder, "study.json"))
with ReportWriter(os.path.join(folder, "reports.bin"), specification, durable=True) as writer:
    for _ in range(500):
        writer.write(bytes(specification.randomizer.report_bytes))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def curator():
    return TreeCurator(label_plan(bounds=(0, 1), classes=[0, 1]), n_clients=1000, features=["a"])


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_killed_writer_loses_nothing_and_counts_once(tmp_path, curator):
    (tmp_path / "study.json").write_text(curator.specification.to_json())
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    path, size = tmp_path / "reports.bin", curator.specification.randomizer.report_bytes
    # Another file that is written there does not clear it away; half a report behind it is none.
    write_reports(tmp_path / "other.bin", curator.specification)
    with path.open("ab") as file:
        file.write(b"x" * (size - 1))
    assert curator.update_file(path)
    assert (curator.n_reports, curator.update_file(path)) == (500, False)


def test_a_file_is_counted_when_its_writer_is_done_and_copies_count_once(tmp_path, curator):
    specification, path, early = curator.specification, tmp_path / "reports.bin", tmp_path / "early.bin"
    report = bytes(specification.randomizer.report_bytes)
    with ReportWriter(path, specification, durable=True) as writer:
        writer.write(3 * report)
        writer.sync()
        with pytest.raises(ValueError, match="is being written"):
            curator.update_file(path)
        early.write_bytes(path.read_bytes())
        assert curator.update_file(early)
        writer.write(2 * report)
    assert [curator.update_file(copy) for copy in (path, path, early)] == [True, False, False]
    assert curator.n_reports == 5
    # Of a file that is complete nothing may be missing or too much.
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="should have"):
        curator.update_file(path)


def test_a_full_disk_leaves_whole_reports(tmp_path, monkeypatch):
    class Full:
        def __init__(self, file):
            self._file = file

        def __getattr__(self, name):
            return getattr(self._file, name)

        def write(self, data):
            self._file.write(data[:3])
            raise OSError(28, "No space left on device")

    path = tmp_path / "reports.bin"
    with ReportWriter(path, PLAIN, durable=True) as writer:
        writer.write(TEN)
        whole, writer._file = writer._file, Full(writer._file)
        with pytest.raises(OSError, match="No space"):
            writer.write(TEN)
        writer._file = whole
        # A copy that was made meanwhile may hold some of the ten: nothing else may stand in their place.
        with pytest.raises(RuntimeError, match="another"):
            writer.write(TEN)
    (first,) = [chunk for _, chunk in read(path, PLAIN)]
    np.testing.assert_array_equal(first, TEN)
    with ReportWriter(tmp_path / "other.bin", PLAIN) as writer, pytest.raises(RuntimeError, match="durable"):
        writer.sync()
