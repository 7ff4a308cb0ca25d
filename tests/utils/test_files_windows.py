# SPDX-License-Identifier: BSD-3-Clause
"""Files where the system, as Windows does, neither deletes, renames nor replaces one that is open."""

import os
import threading

import pytest
from sklearn.base import clone

from skprivate import LocallyPrivateTreeClassifier, PrivacyLedger, TreeClient, TreeCurator
from skprivate.collection import ReportWriter
from skprivate.utils import _files
from skprivate.utils._files import replace_file, write_atomically
from tests.catalogue import INSTANCES, arguments

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


def test_a_ledger_is_charged_copied_and_restored(tmp_path):
    central = INSTANCES["central"]
    path, data = tmp_path / "fits.ledger", arguments(central, 60)
    ledger = PrivacyLedger(path, epsilon=10)
    for _ in range(2):
        clone(central.estimator).set_params(ledger=ledger).fit(**data)
        ledger.backup(tmp_path / "copy")
    path.unlink()
    assert len(PrivacyLedger.restore(tmp_path / "copy", path).entries()) == 2


def test_a_client_remembers_and_a_curator_keeps_its_state(tmp_path):
    tree = LocallyPrivateTreeClassifier(2.0, bounds={"age": (0, 100)}, classes=["no", "yes"], max_depth=1)
    with TreeCurator(tree, n_clients=1) as curator:
        specification = curator.specification
        report = TreeClient(specification, memory=tmp_path / "memory").randomize([30.0], "yes")
        with ReportWriter(tmp_path / "reports", specification) as writer:
            writer.write(specification.unpack(report))
        for _ in range(2):
            curator.update_file(tmp_path / "reports", checkpoint=tmp_path / "state")
    again = TreeClient(specification, memory=tmp_path / "memory").randomize([30.0], "yes")
    assert report == again
    assert TreeCurator.from_bytes((tmp_path / "state").read_bytes()).n_reports == 1
