# SPDX-License-Identifier: BSD-3-Clause
"""Files of reports come back whole and in bounded pieces, or are refused with file and byte."""

import os
import tracemalloc

import numpy as np
import pytest

from skprivate.collection import ReportWriter, _report_files
from skprivate.collection._report_files import ReportReader

HEADER = 72


def write(path, specification, *batches):
    with ReportWriter(path, specification) as writer:
        for batch in batches:
            writer.write(batch)


def read(path, specification, start=0):
    with ReportReader(path, specification) as reader:
        return list(reader.chunks(start))


@pytest.fixture
def reports(make_specification):
    return make_specification().randomizer.randomize(np.arange(10) % 16, random_state=0)


@pytest.mark.parametrize("mechanism", ["hadamard", "krr", "subset", "unary", "laplace"])
@pytest.mark.parametrize("chunk_bytes", [1, 64, 2**20])
def test_what_is_written_is_read(make_specification, mechanism, chunk_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", chunk_bytes)
    specification = make_specification(mechanism)
    reports = specification.randomizer.randomize(np.arange(50) % 16, random_state=0)
    path = tmp_path / "reports.bin"
    write(path, specification, reports[:20], specification.pack(reports[20:]), reports[:0], b"")
    chunks = read(path, specification)
    np.testing.assert_array_equal(np.concatenate([chunk for _, chunk in chunks]), reports)
    assert [first for first, _ in chunks] == list(np.cumsum([0] + [len(chunk) for _, chunk in chunks])[:-1])
    rest = read(path, specification, start=33)
    np.testing.assert_array_equal(np.concatenate([chunk for _, chunk in rest]), reports[33:])
    assert rest[0][0] == 33
    assert read(path, specification, start=50) == []


def test_batch_ids_are_random(make_specification, reports, tmp_path):
    ids = set()
    for number in range(20):
        write(tmp_path / f"{number}", make_specification(), reports)
        with ReportReader(tmp_path / f"{number}", make_specification()) as reader:
            ids.add(reader.batch_id)
            assert len(bytes.fromhex(reader.batch_id)) == 16
            assert reader.n_reports == 10
    assert len(ids) == 20


def test_the_header_is_as_documented(make_specification, reports, tmp_path):
    specification, path = make_specification(), tmp_path / "reports.bin"
    write(path, specification, reports)
    data = path.read_bytes()
    assert data[:8] == b"\x89SKPRPT\n"
    assert int.from_bytes(data[8:12], "little") == 1
    assert data[12:44].hex() == specification.hash
    assert int.from_bytes(data[60:64], "little") == 2
    assert int.from_bytes(data[64:72], "little") == 10
    assert data[72:] == reports.astype("<u2").tobytes()


def _write_and_fail(writer, reports, path):
    writer.write(reports)
    assert not path.exists()
    writer.write([1])


def test_a_file_appears_complete_or_not_at_all(make_specification, reports, tmp_path):
    path = tmp_path / "reports.bin"
    with pytest.raises(TypeError), ReportWriter(path, make_specification()) as writer:
        _write_and_fail(writer, reports, path)
    assert os.listdir(tmp_path) == []
    write(path, make_specification(), reports)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="not overwritten"):
        write(path, make_specification(), reports)
    assert path.read_bytes() == before


def test_a_writer_outside_its_block_says_so(make_specification, reports, tmp_path):
    writer = ReportWriter(tmp_path / "reports.bin", make_specification("hadamard"))
    with pytest.raises(RuntimeError, match="`with` block"):
        writer.write(reports)


def test_bad_reports_are_refused_by_the_writer(make_specification, reports, tmp_path):
    specification, path = make_specification("subset"), tmp_path / "reports.bin"
    good = specification.randomizer.randomize(np.arange(4), random_state=0)
    with ReportWriter(path, specification) as writer:
        writer.write(good)
        with pytest.raises(ValueError, match="report"):
            writer.write(bytes(specification.randomizer.report_bytes))  # no category at all
        with pytest.raises(ValueError, match="no whole number"):
            writer.write(b"x")
        with pytest.raises(TypeError, match="another specification"):
            writer.write(reports)
        assert writer.n_reports == 4
    np.testing.assert_array_equal(read(path, specification)[0][1], good)


@pytest.mark.parametrize("size", [HEADER - 1, HEADER, HEADER + 1, HEADER + 19])
def test_a_truncated_file_is_refused_at_its_end(make_specification, reports, tmp_path, size):
    path = tmp_path / "reports.bin"
    write(path, make_specification(), reports)
    os.truncate(path, size)
    with pytest.raises(ValueError, match=rf"reports\.bin, byte {size}: the file ends"):
        read(path, make_specification())


@pytest.mark.parametrize("size", [0, 3, 8, 11, 12])
def test_a_file_that_ends_within_its_header(make_specification, reports, tmp_path, size):
    path = tmp_path / "reports.bin"
    write(path, make_specification(), reports)
    os.truncate(path, size)
    with pytest.raises(ValueError, match=rf"reports\.bin, byte {size}: the file ends within its header"):
        read(path, make_specification())


def test_a_file_cut_while_it_is_read(make_specification, tmp_path, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 8)
    specification, path = make_specification(), tmp_path / "reports.bin"
    reports = specification.randomizer.randomize(np.arange(10), random_state=0)
    write(path, specification, reports)
    with ReportReader(path, specification) as reader:
        chunks = reader.chunks()
        np.testing.assert_array_equal(next(chunks)[1], reports[:4])
        os.truncate(path, HEADER + 13)
        with pytest.raises(ValueError, match=rf"reports\.bin, byte {HEADER + 13}: .* while it was read"):
            next(chunks)


@pytest.mark.parametrize(
    ("where", "content", "match"),
    [
        (0, b"P", "byte 0: this is no file of reports"),
        (7, b"\r", "byte 0: this is no file of reports"),
        (8, b"\x02", "byte 8: a newer version.*update"),
        (8, b"\x00", "byte 8: the version must be 1"),
        (12, b"\x00" * 32, "byte 12: these reports answer another specification, 00000000"),
        (60, b"\x04", "byte 60: reports of 4 bytes"),
        (64, b"\x0b", "byte 92: the file ends here, but should have 94 bytes"),
        (64, b"\xff" * 8, "byte 92: the file ends here"),
        (64, b"\x09", "byte 90: something follows the last report"),
    ],
)
def test_foreign_headers(make_specification, reports, tmp_path, where, content, match):
    path = tmp_path / "reports.bin"
    write(path, make_specification(), reports)
    data = path.read_bytes()
    path.write_bytes(data[:where] + content + data[where + len(content) :])
    with pytest.raises(ValueError, match=rf"reports\.bin, {match}"):
        read(path, make_specification())


def test_reports_for_another_specification(make_specification, reports, tmp_path):
    path = tmp_path / "reports.bin"
    write(path, make_specification(), reports)
    with pytest.raises(ValueError, match="byte 12: these reports answer another specification"):
        read(path, make_specification(label="other"))


def test_what_is_no_regular_file(make_specification, tmp_path):
    with pytest.raises(ValueError, match="byte 0: this is not a regular file"):
        read("/dev/zero", make_specification())
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none", make_specification())


def test_memory_does_not_grow_with_the_file(make_specification, tmp_path):
    specification, path = make_specification(), tmp_path / "reports.bin"
    batch = specification.randomizer.randomize(np.zeros(2**20, dtype=int), random_state=0)
    tracemalloc.start()
    try:
        with ReportWriter(path, specification) as writer:
            for _ in range(16):
                writer.write(batch)
        with ReportReader(path, specification) as reader:
            assert sum(len(chunk) for _, chunk in reader.chunks()) == 2**24
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size == HEADER + 2**25
    assert peak < 2**23  # the batch's bytes and a few chunks, not the 32 MB of the file
