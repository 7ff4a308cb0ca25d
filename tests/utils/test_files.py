# SPDX-License-Identifier: BSD-3-Clause
"""Files appear complete or not at all, and a lock has one holder."""

import contextlib
import errno
import os
import stat
import subprocess
import sys

import filelock
import pytest

from skprivate.utils._files import OWNER_ONLY, create_atomically, locked, make_lasting, write_atomically


@pytest.mark.usefixtures("system")
def test_a_file_is_replaced_whole(tmp_path):
    for content in (b"first", b"second"):
        write_atomically(tmp_path / "state", content)
        assert (tmp_path / "state").read_bytes() == content
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


@pytest.mark.usefixtures("system", "links")
def test_a_new_file_appears_when_the_block_ends_and_not_after_an_error(tmp_path):
    path = tmp_path / "new"
    with pytest.raises(TypeError), create_atomically(path) as file:
        file.writelines([b"content", "no bytes"])
    assert os.listdir(tmp_path) == []
    with create_atomically(path) as file:
        file.write(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_file_that_is_there_is_not_overwritten(tmp_path, when):
    path = tmp_path / "new"
    if when == "before":
        path.write_bytes(b"theirs")
    with pytest.raises(FileExistsError, match="not overwritten"), create_atomically(path) as file:
        file.write(path.write_bytes(b"theirs").to_bytes())
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["new"]


def test_a_lock_has_one_holder_and_waits_no_longer_than_told(tmp_path):
    path = tmp_path / "state"
    for options, error in (({"wait": False}, BlockingIOError), ({"timeout": 0.01}, TimeoutError)):
        with locked(path), pytest.raises(error), locked(path, **options):
            pass
    with locked(path, wait=False):
        pass
    assert not path.exists()


def test_reading_the_lock_file_does_not_drop_the_lock(tmp_path):
    with locked(tmp_path / "state") as holds:
        (tmp_path / "state.lock").read_bytes()
        with pytest.raises(BlockingIOError), locked(tmp_path / "state", wait=False):
            pass
        assert holds()


WRITER = """
import os, sys
from skprivate.utils._files import create_atomically, write_atomically
target, how = sys.argv[1:]
if how == "write":
    os.fsync = lambda handle: (print("ready", flush=True), sys.stdin.read())
    write_atomically(target, b"content")
with create_atomically(target) as file:
    file.write(b"content")
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["write", "create"])
def test_what_a_killed_process_left_is_cleared_and_what_a_living_one_writes_is_not(tmp_path, how):
    command = [sys.executable, "-c", WRITER, str(tmp_path / "theirs"), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        (unfinished,) = os.listdir(tmp_path)
        assert unfinished.endswith(".unfinished")
        write_atomically(tmp_path / "ours", b"")
        assert sorted(os.listdir(tmp_path)) == [unfinished, "ours"]
        process.kill()
    assert unfinished in os.listdir(tmp_path)
    write_atomically(tmp_path / "ours", b"")
    assert os.listdir(tmp_path) == ["ours"]


@pytest.mark.usefixtures("system")
def test_threads_do_not_clear_each_others_files_and_what_is_abandoned_is_cleared(tmp_path):
    (tmp_path / ".x.0123456789abcdef.unfinished").touch()
    with create_atomically(tmp_path / "one") as one, create_atomically(tmp_path / "two"):
        one.write(b"content")
        write_atomically(tmp_path / "three", b"")
    assert sorted(os.listdir(tmp_path)) == ["one", "three", "two"]
    assert (tmp_path / "one").read_bytes() == b"content"


def test_a_file_taken_for_abandoned_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    take = filelock.lock_descriptor

    def overtaken(handle, **options):
        monkeypatch.setattr(filelock, "lock_descriptor", take)
        (abandoned,) = tmp_path.iterdir()
        abandoned.unlink()
        return take(handle, **options)

    monkeypatch.setattr(filelock, "lock_descriptor", overtaken)
    write_atomically(tmp_path / "state", b"content")
    assert (tmp_path / "state").read_bytes() == b"content"
    assert os.listdir(tmp_path) == ["state"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    (tmp_path / ".x.0123456789abcdef.unfinished").touch()

    def fail(handle, **options):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock, "lock_descriptor", fail)
    write_atomically(tmp_path / "state", b"content")
    assert sorted(os.listdir(tmp_path)) == [".x.0123456789abcdef.unfinished", "state"]


def test_a_fork_leaves_the_lock_to_its_parent(tmp_path):
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked(tmp_path / "state"))
        child = os.fork()
        if not child:
            stack.close()
            os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(BlockingIOError), locked(tmp_path / "state", wait=False):
            pass


def test_a_fork_leaves_the_unfinished_file_to_its_parent(tmp_path):
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(create_atomically(tmp_path / "new"))
        child = os.fork()
        if not child:
            # As an error that ends the child would.
            with contextlib.suppress(ValueError):
                stack.__exit__(ValueError, ValueError(), None)
            os._exit(0)
        os.waitpid(child, 0)
        file.write(b"content")
    assert (tmp_path / "new").read_bytes() == b"content"


@pytest.mark.parametrize(("code", "told"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_flushed_is_no_error_and_a_disk_that_fails_is(
    tmp_path, monkeypatch, code, told
):
    flush = os.fsync

    def fail_on_folders(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(code, "failed")
        flush(handle)

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    for write in (
        lambda: write_atomically(tmp_path / "state", b""),
        lambda: make_lasting(tmp_path / "state"),
    ):
        with pytest.raises(OSError, match="failed") if told else contextlib.nullcontext():
            write()
    assert (tmp_path / "state").exists()
