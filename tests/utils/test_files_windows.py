# SPDX-License-Identifier: BSD-3-Clause
"""Files where the system, as Windows does, neither deletes, renames nor replaces one that is open."""

import os
import threading

import pytest

from skprivate.utils import _files
from skprivate.utils._files import replace_file, write_atomically

pytestmark = pytest.mark.usefixtures("windows")


def test_the_system_refuses(tmp_path):
    with open(tmp_path / "file", "wb"), pytest.raises(PermissionError):
        os.unlink(tmp_path / "file")
    with open(tmp_path / "file", "wb"), pytest.raises(PermissionError):
        (tmp_path / "file").rename(tmp_path / "other")


def test_a_file_that_was_cleared_before_it_got_its_name_is_written_again(tmp_path, monkeypatch):
    replace, calls = os.replace, []

    def overtaken(source, target):
        calls.append(source)
        if len(calls) == 1:
            os.unlink(source)
        replace(source, target)

    monkeypatch.setattr(os, "replace", overtaken)
    write_atomically(tmp_path / "state", b"content")
    assert (tmp_path / "state").read_bytes() == b"content"
    assert len(calls) == 2


def test_a_replacement_waits_for_a_reader(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "new").write_bytes(b"new")
    reader = open(tmp_path / "old", "rb")  # noqa: SIM115
    timer = threading.Timer(0.05, reader.close)
    timer.start()
    replace_file(tmp_path / "new", tmp_path / "old")
    timer.join()
    assert (tmp_path / "old").read_bytes() == b"new"


def test_a_replacement_does_not_wait_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_PATIENCE", 0.02)
    (tmp_path / "state").write_bytes(b"old")
    with open(tmp_path / "state", "rb"), pytest.raises(PermissionError):
        write_atomically(tmp_path / "state", b"new")
    assert (tmp_path / "state").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["state"]
