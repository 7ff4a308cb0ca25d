# SPDX-License-Identifier: BSD-3-Clause
"""The fingerprint of a package: of names and contents, and of nothing else."""

import pytest

import skprivate
from skprivate.accounting import PackageRecord
from skprivate.accounting._statements.guarantees import fingerprint


@pytest.fixture
def package(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "inner" / "b.pyx").write_text("y = 2")
    return tmp_path


def test_same_files_same_fingerprint(package, tmp_path):
    before = fingerprint(package, {".py", ".pyx"})
    (package / "notes.txt").write_text("not a source")
    (package / "a.py").write_text("x = 1")
    assert fingerprint(package, {".py", ".pyx"}) == before


@pytest.mark.parametrize("change", ["content", "name", "removed", "added", "moved text"])
def test_every_change_shows(package, change):
    before = fingerprint(package, {".py", ".pyx"})
    if change == "content":
        (package / "inner" / "b.pyx").write_text("y = 3")
    elif change == "name":
        (package / "a.py").rename(package / "c.py")
    elif change == "removed":
        (package / "a.py").unlink()
    elif change == "added":
        (package / "inner" / "empty.py").touch()
    else:
        (package / "a.py").write_text("")
        (package / "a.pyx").write_text("x = 1")
    assert fingerprint(package, {".py", ".pyx"}) != before


def test_of_the_running_package():
    package = PackageRecord.current()
    assert (package.name, package.version) == ("skprivate", skprivate.__version__)
    assert package.sha256_kernels != package.sha256_sources != fingerprint_of_nothing()
    assert package.sha256_kernels != fingerprint_of_nothing()
    assert PackageRecord.current() is package


def fingerprint_of_nothing():
    import hashlib

    return hashlib.sha256().hexdigest()


def test_bad_input():
    with pytest.raises(ValueError, match="version must not be empty"):
        PackageRecord(name="a", version=" ", sha256_sources="a", sha256_kernels="b")
