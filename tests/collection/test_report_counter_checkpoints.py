# SPDX-License-Identifier: BSD-3-Clause
"""What a curator acknowledged is in its file, and a file has one curator."""

import copy
import errno
import multiprocessing
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

from skprivate import LocallyPrivateTreeClassifier
from skprivate.collection import ReportWriter, TreeCurator
from skprivate.collection._report_counter import Checkpoint

pytestmark = pytest.mark.process

BOUNDS = {"age": (0, 100)}
FORK = multiprocessing.get_context("fork")


def make_curator(**parameters):
    tree = LocallyPrivateTreeClassifier(2.0, bounds=BOUNDS, classes=["no", "yes"], max_depth=1)
    return TreeCurator(tree.set_params(**parameters), n_clients=100)


@pytest.fixture
def curator():
    with make_curator() as made:
        yield made


@pytest.fixture
def files(tmp_path):
    return [write(tmp_path / f"{number}.bin", make_curator()) for number in range(3)]


def write(path, curator, n=4):
    with ReportWriter(path, curator.specification) as writer:
        writer.write(curator.specification.randomizer.randomize(np.zeros(n, dtype=np.int64)))
    return path


def saved(path):
    return TreeCurator.from_bytes(path.read_bytes())


def full_disk(monkeypatch):
    def fail(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)


def test_the_retry_after_a_failed_checkpoint_writes_it(curator, files, tmp_path, monkeypatch):
    state = tmp_path / "state"
    with monkeypatch.context() as patch:
        full_disk(patch)
        with pytest.raises(OSError, match="No space"):
            curator.update_file(files[0], checkpoint=state)
    assert not state.exists()
    for path in (state, tmp_path / "another"):
        assert curator.update_file(files[0], checkpoint=path) is False
        assert saved(path).n_reports == 4


def test_the_second_curator_with_a_checkpoint_is_refused(curator, files, tmp_path):
    state = tmp_path / "state"
    curator.update_file(files[0], checkpoint=state)
    for other in (make_curator(), saved(state), pickle.loads(pickle.dumps(curator)), copy.deepcopy(curator)):
        with pytest.raises(ValueError, match="in use by another process, or by another TreeCurator"):
            other.update_file(files[1], checkpoint=state)
        assert other.n_reports <= 4  # nothing was counted
    with pytest.raises(ValueError, match="in use"):
        TreeCurator.from_file(state)


def test_no_other_file_is_overwritten(curator, tmp_path):
    foreign, question = tmp_path / "notes", tmp_path / "other"
    foreign.write_text("notes")
    with pytest.raises(ValueError, match="is not overwritten: this is not a valid state of a curator"):
        curator.save(foreign)
    with make_curator(epsilon=1.0) as another:
        another.save(question)
    with pytest.raises(ValueError, match="or a specification, that this curator does not have"):
        curator.save(question)
    assert foreign.read_text() == "notes"


def test_a_batch_that_was_counted_further_is_not_overwritten(curator, tmp_path):
    """Of a batch of ten, the file has counted four: who has counted two would lose two."""
    path, state = tmp_path / "state", curator._state
    path.write_bytes(replace(state, history={"a batch": (4, 10)}).to_bytes())
    checkpoint = Checkpoint(path)
    checkpoint.check(replace(state, history={"a batch": (4, 10)}))
    with pytest.raises(ValueError, match="holds reports, or a specification, that this curator"):
        checkpoint.check(replace(state, history={"a batch": (2, 10)}))
    checkpoint.close()


def test_an_object_loads_and_saves(files, tmp_path):
    state = tmp_path / "state"
    state.write_bytes(make_curator().to_bytes())
    curator = saved(state)
    for path in files:
        curator.update_file(path, checkpoint=state)
    assert saved(state).n_reports == 12
    curator.close()
    curator.save(state)
    (tmp_path / "state.lock").unlink()
    curator.save(state)
    with pytest.raises(ValueError, match="in use"):
        TreeCurator.from_file(state)


def test_a_fork_does_not_have_the_file(curator, files, tmp_path):
    state = tmp_path / "state"
    curator.update_file(files[0], checkpoint=state)

    def child():
        try:
            curator.update_file(files[1], checkpoint=state)
        except ValueError as error:
            os._exit(7 if "in use" in str(error) else 1)
        os._exit(2)

    process = FORK.Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == 7
    # The child closed its copy of the lock; ours is still there.
    with pytest.raises(ValueError, match="in use"):
        TreeCurator.from_file(state)
