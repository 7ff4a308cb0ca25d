# SPDX-License-Identifier: BSD-3-Clause
"""Interrupted writers leave the old or the new file, and nobody keeps a lock."""

from types import SimpleNamespace

from skprivate.utils._files import locked, write_atomically

ABOUT = ("utils/_files.py",)


def test_a_file_that_is_replaced(interrupted, operation):
    def start(folder):
        (folder / "state").write_bytes(b"old")
        # What a killed process left there.
        (folder / ".state.0123456789abcdef.unfinished").touch()
        return SimpleNamespace(folder=folder)

    def write(objects):
        write_atomically(objects.folder / "state", b"new")

    def check(objects):
        assert (objects.folder / "state").read_bytes() in (b"old", b"new")
        # The next writer clears what this one left, for its lock is free.
        write_atomically(objects.folder / "other", b"")
        assert {one.name for one in objects.folder.iterdir()} == {"state", "other"}, "files are left"

    interrupted(
        operation(
            "write_atomically",
            start,
            write,
            check,
            write,
            lambda objects: (objects.folder / "state").read_bytes(),
            about=ABOUT,
        )
    )


def test_a_lock(interrupted, operation):
    def start(folder):
        return SimpleNamespace(path=folder / "state")

    def hold(objects):
        with locked(objects.path, wait=False) as holds:
            assert holds()

    def check(objects):
        with locked(objects.path, wait=False) as holds:
            assert holds()

    interrupted(operation("locked", start, hold, check, hold, about=ABOUT))
