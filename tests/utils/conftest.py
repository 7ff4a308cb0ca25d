# SPDX-License-Identifier: BSD-3-Clause
"""Systems on which files are written: this one, and one that refuses what Windows refuses."""

import os
from pathlib import Path

import pytest

from skprivate.utils import _files

OPEN = Path("/proc/self/fd")


def open_files():
    found = set()
    for handle in OPEN.iterdir():
        try:
            found.add(os.readlink(handle))
        except FileNotFoundError:  # the folder itself, which was open while it was listed
            continue
    return found


def refusing(function):
    def call(*paths, dir_fd=None, **options):
        folder = os.readlink(OPEN / str(dir_fd)) if dir_fd is not None else os.getcwd()
        for path in paths:
            if os.path.join(os.path.realpath(folder), os.fspath(path)) in open_files():
                raise PermissionError(13, "The process cannot access the file", path)
        if dir_fd is not None:
            options["dir_fd"] = dir_fd
        return function(*paths, **options)

    return call


@pytest.fixture
def windows(monkeypatch):
    """Make os refuse what Windows refuses of open files, and tell the package so."""
    if not OPEN.is_dir():
        pytest.skip("the open files of this process are not listed")
    monkeypatch.setattr(_files, "_DELETES_OPEN_FILES", False)
    for name in ("unlink", "remove", "rename", "replace"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))


@pytest.fixture(params=["this system", "windows"])
def system(request):
    """Either of them."""
    if request.param == "windows":
        request.getfixturevalue("windows")


@pytest.fixture(params=["links", "no links"])
def links(request, monkeypatch):
    """A file system with or without hard links."""
    if request.param == "no links":
        monkeypatch.setattr(os, "link", lambda source, target: (_ for _ in ()).throw(PermissionError()))
