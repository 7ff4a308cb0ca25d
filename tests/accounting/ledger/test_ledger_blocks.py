# SPDX-License-Identifier: BSD-3-Clause
"""Labels, groups of data and records hold within their block, in every thread, process and pickle."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest
from joblib import Parallel, delayed
from sklearn.base import clone

from skprivate.accounting import PrivacyLedger
from skprivate.exceptions import LedgerError
from tests.accounting.records import charge, spend


def files_beside(ledger):
    return {file.name.removeprefix("study.ledger") for file in ledger.path.parent.iterdir()}


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning"),
]


KEPT = []
FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None
RECORD = {"purpose": "Table One", "person": "A. B.", "approver": "board 12/26", "expiry": "2026-12-31"}


@pytest.fixture
def ledger(path):
    return PrivacyLedger(path)


def groups_of(ledger):
    return [entry.data for entry in ledger.entries()]


def keep(ledger):
    KEPT.append(ledger)


def charge_kept():
    charge(KEPT.pop())


def load_and_charge(file):
    charge(pickle.loads(file.read_bytes()))


def records_of(ledger):
    return [tuple(getattr(entry, name) for name in RECORD) for entry in ledger.entries()]


def test_the_innermost_text_of_each_counts(ledger):
    with ledger.record(purpose="outer", person="A") as same, ledger.label("outer") as as_well:
        assert same is as_well is ledger
        with ledger.record(purpose="inner", expiry="soon"), ledger.label("inner"):
            charge(ledger)
        with pytest.raises(TypeError), ledger.record(approver="lost"), ledger.label("lost"):
            ledger.charge(None, "Tree")
        charge(ledger)
    charge(ledger)
    assert [entry.label for entry in ledger.entries()] == ["inner", "outer", None]
    assert records_of(ledger) == [("inner", "A", None, "soon"), ("outer", "A", None, None), (None,) * 4]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_all_of_them_reach_the_workers_of_joblib_and_a_group_does_not_come_back(ledger, backend):
    with ledger.record(**RECORD), ledger.label("L"), ledger.data("A"):
        returned = Parallel(n_jobs=2, backend=backend)(delayed(charge)(clone(ledger)) for _ in range(6))
    assert records_of(ledger) == [tuple(RECORD.values())] * 6
    assert [(entry.label, entry.data) for entry in ledger.entries()] == [("L", "A")] * 6
    for one in returned:
        charge(one)
    assert groups_of(ledger) == ["A"] * 6 + [None] * 6


def test_pickles_keep_texts_and_no_group(ledger):
    outside = pickle.dumps(ledger)
    with ledger.record(**RECORD), ledger.label("L"), ledger.data("A"):
        saved = pickle.dumps(ledger)
    charge(pickle.loads(saved))
    assert (records_of(ledger), ledger.entries()[0].label) == ([tuple(RECORD.values())], "L")
    assert groups_of(ledger) == [None]
    assert pickle.dumps(ledger) == outside


def test_the_group_ends_after_an_error(ledger):
    with pytest.raises(RuntimeError), ledger.data("A"):
        raise RuntimeError
    assert groups_of(charge(ledger)) == [None]


def test_a_ledger_saved_inside_and_charged_by_a_child_later(ledger, tmp_path):
    file = tmp_path / "ledger"
    with ledger.data("A"):
        file.write_bytes(pickle.dumps(ledger))
    Parallel(n_jobs=2, backend="loky")(delayed(load_and_charge)(file) for _ in range(2))
    assert groups_of(ledger) == [None, None]


def test_a_ledger_saved_inside_and_charged_by_another_program(ledger, tmp_path):
    # It has the same parent process, by its id, as a program in another container may have.
    file = tmp_path / "ledger"
    program = (
        "import pathlib, pickle, sys\n"
        "ledger, spent = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "ledger.charge(spent, 'Tree')"
    )
    with ledger.data("A"):
        file.write_bytes(pickle.dumps((ledger, spend())))
        subprocess.run([sys.executable, "-c", program, str(file)], check=True)
    assert groups_of(ledger) == [None]


@needs_fork
@pytest.mark.parametrize("inherited", [False, True])
def test_a_worker_that_keeps_a_ledger_beyond_the_block(ledger, inherited):
    try:
        with ledger.data("A"):
            if inherited:
                keep(ledger)
            pool = ProcessPoolExecutor(1, mp_context=FORK)
            pool.submit(charge, ledger).result()
            if not inherited:
                pool.submit(keep, ledger).result()
        pool.submit(charge_kept).result()
        pool.shutdown()
    finally:
        KEPT.clear()
    assert groups_of(ledger) == ["A", None]


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="no fork server")
def test_a_worker_of_a_fork_server(ledger):
    # Its parent is the server; Python 3.14 starts workers so by default.
    with ledger.data("A"):
        worker = multiprocessing.get_context("forkserver").Process(target=charge, args=(ledger,))
        worker.start()
        worker.join()
    assert groups_of(ledger) == ["A"]


@needs_fork
def test_a_fork_that_leaves_the_block_does_not_close_it(ledger):
    block = ledger.data("A")
    block.__enter__()
    child = os.fork()
    if not child:
        block.__exit__(None, None, None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    charge(ledger)
    block.__exit__(None, None, None)
    assert groups_of(ledger) == ["A"]


def test_a_block_that_cannot_be_opened_declares_nothing(ledger):
    ledger.path.parent.joinpath("moved").mkdir()
    folder = ledger.path.parent.rename(ledger.path.parent.with_name("elsewhere"))
    with pytest.raises(LedgerError, match="block of data"), ledger.data("A"):
        raise AssertionError("it is open")
    folder.rename(ledger.path.parent)
    charge(ledger)
    assert groups_of(ledger) == [None]


def test_no_file_is_left(ledger):
    before = files_beside(ledger)
    for _ in range(2):
        with ledger.data("A"):
            assert len(files_beside(ledger) - before) == 1
            with pytest.raises(ValueError, match="already"), ledger.data("B"):
                pass
            charge(ledger)
    assert groups_of(ledger) == ["A", "A"]
    assert files_beside(ledger) == before
