# SPDX-License-Identifier: BSD-3-Clause
"""A group of data ends with its block, in every process and pickle."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

from skprivate import DPTreeClassifier
from skprivate.accounting import PrivacyLedger
from skprivate.exceptions import LedgerError

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning"),
]
ROWS = np.linspace(0, 1, 40).reshape(20, 2), np.arange(20) % 2
KEPT = []


@pytest.fixture
def ledger(path):
    return PrivacyLedger(path)


@pytest.fixture
def model(ledger):
    return DPTreeClassifier(bounds=(0, 1), classes=[0, 1], ledger=ledger)


def groups_of(ledger):
    return [entry.data for entry in ledger.entries()]


def files_beside(ledger):
    return {file.name.removeprefix("study.ledger") for file in ledger.path.parent.iterdir()}


def fit(model):
    model.fit(*ROWS)


def load_and_fit(file):
    pickle.loads(file.read_bytes()).fit(*ROWS)


def keep(model):
    KEPT.append(model)


def fit_kept():
    fit(KEPT.pop())


def test_a_model_saved_inside_and_fitted_by_a_child_later(ledger, model, tmp_path):
    file = tmp_path / "model"
    with ledger.data("A"):
        file.write_bytes(pickle.dumps(model))
    Parallel(n_jobs=2, backend="loky")(delayed(load_and_fit)(file) for _ in range(2))
    assert groups_of(ledger) == [None, None]


def test_a_model_saved_inside_and_fitted_by_another_program(ledger, model, tmp_path):
    # It has the same parent process, by its id, as a program in another container may have.
    file = tmp_path / "model"
    program = (
        "import pathlib, pickle, sys, numpy as np\n"
        "model = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "model.fit(np.linspace(0, 1, 40).reshape(20, 2), np.arange(20) % 2)"
    )
    with ledger.data("A"):
        file.write_bytes(pickle.dumps(model))
        subprocess.run([sys.executable, "-c", program, str(file)], check=True)
    assert groups_of(ledger) == [None]


@needs_fork
@pytest.mark.parametrize("inherited", [False, True])
def test_a_worker_that_keeps_a_model_beyond_the_block(ledger, model, inherited):
    context = multiprocessing.get_context("fork")
    try:
        with ledger.data("A"):
            if inherited:
                keep(model)
            pool = ProcessPoolExecutor(1, mp_context=context)
            pool.submit(fit, model).result()
            if not inherited:
                pool.submit(keep, model).result()
        pool.submit(fit_kept).result()
        pool.shutdown()
    finally:
        KEPT.clear()
    assert groups_of(ledger) == ["A", None]


@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="no fork server")
@pytest.mark.parametrize("pooled", [False, True])
def test_a_worker_of_a_fork_server(ledger, model, pooled):
    # Its parent is the server; Python 3.14 starts workers so by default.
    context = multiprocessing.get_context("forkserver")
    with ledger.data("A"):
        if pooled:
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                pool.submit(fit, model).result()
        else:
            worker = context.Process(target=fit, args=(model,))
            worker.start()
            worker.join()
    assert groups_of(ledger) == ["A"]


@needs_fork
def test_a_worker_that_was_there_before_the_block(ledger, model):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        pool.submit(fit, model).result()
        with ledger.data("A"):
            pool.submit(fit, model).result()
        pool.submit(fit, model).result()
    assert groups_of(ledger) == [None, "A", None]


@needs_fork
def test_a_fork_that_leaves_the_block_does_not_close_it(ledger, model):
    block = ledger.data("A")
    block.__enter__()
    child = os.fork()
    if not child:
        block.__exit__(None, None, None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    fit(model)
    block.__exit__(None, None, None)
    assert groups_of(ledger) == ["A"]


def test_no_file_is_left(ledger, model):
    before = files_beside(ledger)
    for _ in range(2):
        with ledger.data("A"):
            assert len(files_beside(ledger) - before) == 1
            with pytest.raises(ValueError, match="already"), ledger.data("B"):
                pass
            fit(model)
    assert groups_of(ledger) == ["A", "A"]
    assert files_beside(ledger) == before


def test_a_block_that_cannot_be_opened_declares_nothing(ledger, model):
    ledger.path.parent.joinpath("moved").mkdir()
    folder = ledger.path.parent.rename(ledger.path.parent.with_name("elsewhere"))
    with pytest.raises(LedgerError, match="block of data"), ledger.data("A"):
        raise AssertionError("it is open")
    folder.rename(ledger.path.parent)
    fit(model)
    assert groups_of(ledger) == [None]
