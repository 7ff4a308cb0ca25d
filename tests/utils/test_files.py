# SPDX-License-Identifier: BSD-3-Clause
"""Files appear complete or not at all, and a lock has one holder."""

import os
import stat

import filelock
import pytest

from skprivate.utils._files import OWNER_ONLY, create_atomically, locked, write_atomically


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "state"
    write_atomically(path, b"first")
    write_atomically(path, b"second")
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["state"]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "state"
    write_atomically(path, b"first")
    monkeypatch.setattr(os, "fsync", lambda handle: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, b"second")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["state"]


def test_a_link_is_another_name_of_the_file(tmp_path):
    path, link = tmp_path / "state", tmp_path / "link"
    path.write_bytes(b"first")
    link.symlink_to(path)
    write_atomically(link, b"second")
    assert link.is_symlink()
    assert path.read_bytes() == b"second"
    with locked(path), pytest.raises(BlockingIOError), locked(link, wait=False):
        pass


def test_rights_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "shared", b"")
        write_atomically(tmp_path / "own", b"", mode=OWNER_ONLY)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o600


def test_a_new_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "new"
    with create_atomically(path) as file:
        file.write(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"
    assert os.listdir(tmp_path) == ["new"]


def test_an_error_in_the_block_leaves_nothing(tmp_path):
    with pytest.raises(TypeError), create_atomically(tmp_path / "new") as file:
        file.writelines([b"content", "no bytes"])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_file_that_is_there_is_not_overwritten(tmp_path, monkeypatch, when, links):
    path = tmp_path / "new"
    if not links:
        monkeypatch.setattr(os, "link", lambda source, target: (_ for _ in ()).throw(PermissionError()))
    if when == "before":
        path.write_bytes(b"theirs")
    with pytest.raises(FileExistsError, match="not overwritten"), create_atomically(path) as file:
        file.write(path.write_bytes(b"theirs").to_bytes())
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["new"]


def test_a_file_system_without_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda source, target: (_ for _ in ()).throw(PermissionError()))
    with create_atomically(tmp_path / "new") as file:
        file.write(b"content")
    assert (tmp_path / "new").read_bytes() == b"content"
    assert os.listdir(tmp_path) == ["new"]


def test_a_lock_has_one_holder(tmp_path):
    path = tmp_path / "state"
    with locked(path), pytest.raises(BlockingIOError), locked(path, wait=False):
        pass
    with locked(path, wait=False):
        pass
    assert not path.exists()


def test_a_lock_waits_no_longer_than_told(tmp_path):
    with locked(tmp_path / "state"), pytest.raises(TimeoutError), locked(tmp_path / "state", timeout=0.01):
        pass
    with locked(tmp_path / "state", wait=False):
        pass


def test_reading_the_lock_file_does_not_drop_the_lock(tmp_path):
    with locked(tmp_path / "state") as holds:
        (tmp_path / "state.lock").read_bytes()
        with pytest.raises(BlockingIOError), locked(tmp_path / "state", wait=False):
            pass
        assert holds()


def test_a_holder_knows_that_its_lock_file_was_deleted(tmp_path):
    with locked(tmp_path / "state") as holds:
        (tmp_path / "state.lock").unlink()
        assert not holds()
        with locked(tmp_path / "state", wait=False) as other_holds:
            assert other_holds()
            assert not holds()


def test_a_lock_file_deleted_while_it_was_opened_is_not_taken(tmp_path, monkeypatch):
    take = filelock.lock_descriptor

    def overtaken(handle, **options):
        monkeypatch.setattr(filelock, "lock_descriptor", take)
        (tmp_path / "state.lock").unlink()
        return take(handle, **options)

    monkeypatch.setattr(filelock, "lock_descriptor", overtaken)
    with locked(tmp_path / "state") as holds:
        assert holds()
        with pytest.raises(BlockingIOError), locked(tmp_path / "state", wait=False):
            pass
