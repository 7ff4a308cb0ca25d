# SPDX-License-Identifier: BSD-3-Clause
"""A curator counts every report once: in any form, from files, after a kill, merged and in threads."""

import contextlib
import copy
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.collection import TreeCurator, _report_counter, _report_files
from tests.collection.studies import N_PRIVATE, N_PUBLIC, label_plan, label_rows, write_reports

X, Y = label_rows()
PUBLIC, LABELS = (X[:N_PUBLIC], np.minimum(Y[:N_PUBLIC], 1)), np.minimum(Y[N_PUBLIC:], 1)


def make_curator(max_depth=3):
    return TreeCurator(label_plan(max_depth=max_depth), *PUBLIC, n_clients=N_PRIVATE)


SPECIFICATION = make_curator().specification
REPORTS = SPECIFICATION.randomizer.randomize(2 * SPECIFICATION.partition.apply(X[N_PUBLIC:]) + LABELS, 0)


@pytest.fixture
def curator():
    return make_curator()


@pytest.fixture
def small_chunks(monkeypatch):
    """Read files in pieces of 128 reports."""
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 256)


def write(path, *batches):
    return write_reports(path, SPECIFICATION, *batches)


def assert_counted(curator, reports=REPORTS):
    assert curator.n_reports == len(reports)
    np.testing.assert_array_equal(curator._state.counts, SPECIFICATION.randomizer.aggregate(reports))


# Forms of reports


def test_forms_of_reports(monkeypatch):
    data = SPECIFICATION.pack(REPORTS)
    singles = [SPECIFICATION.pack(REPORTS[i : i + 1]) for i in range(len(REPORTS))]
    forms = [REPORTS, data, bytearray(data), memoryview(data), singles, iter(singles), tuple(singles)]
    forms += [pd.Series(singles), [data], (piece for piece in (data[:20], data[20:])), singles]
    for number, form in enumerate(forms):
        curator = make_curator()
        if number == len(forms) - 1:
            # Many small reports are added in pieces.
            monkeypatch.setattr(_report_counter, "_BYTES_AT_ONCE", 10)
        curator.update(form)
        assert_counted(curator)


def test_reports_without_a_file_have_one_id(curator):
    for part in np.array_split(REPORTS, 5):
        curator.update(part)
    ((batch, numbers),) = curator.history.items()
    assert numbers == (N_PRIVATE, N_PRIVATE)
    assert len(bytes.fromhex(batch)) == 16
    # Two copies that each go on must not look alike: equal counts of one id are the same reports.
    again = TreeCurator.from_bytes(curator.to_bytes())
    again.update(REPORTS)
    assert again.history[batch] == numbers
    assert list(again.history.values()) == [numbers, numbers]


def test_nothing_is_nothing(curator):
    before = curator.to_bytes()
    for empty in (b"", [], np.zeros(0, "u2")):
        curator.update(empty)
    assert curator.to_bytes() == before
    assert curator.history == {}


# Files


def test_a_batch_counts_once(curator, tmp_path):
    path, empty = write(tmp_path / "reports.bin", REPORTS), write(tmp_path / "empty.bin")
    assert curator.update_file(path) is True
    before = curator.to_bytes()
    assert curator.update_file(path) is False
    os.rename(path, tmp_path / "renamed.bin")
    assert curator.update_file(str(tmp_path / "renamed.bin")) is False
    assert curator.to_bytes() == before
    assert list(curator.history.values()) == [(N_PRIVATE, N_PRIVATE)]
    assert [curator.update_file(empty) for _ in range(2)] == [True, False]


@pytest.mark.usefixtures("small_chunks")
def test_progress_and_checkpoints(curator, tmp_path, monkeypatch):
    monkeypatch.setattr(_report_counter, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    path, state, seen = write(tmp_path / "reports.bin", REPORTS), tmp_path / "state", []

    def progress(counted, total):
        saved = TreeCurator.from_bytes(state.read_bytes()).n_reports if state.exists() else 0
        seen.append((counted, total, saved))

    curator.update_file(path, progress, checkpoint=state)
    assert seen == [(128, 400, 0), (256, 400, 128), (384, 400, 256), (400, 400, 384)]
    assert state.read_bytes() == curator.to_bytes()


@pytest.mark.usefixtures("small_chunks")
def test_it_goes_on_from_a_checkpoint(curator, tmp_path):
    path, states = write(tmp_path / "reports.bin", REPORTS), []
    curator.update_file(path, lambda *_: states.append(curator.to_bytes()))
    for number, state in enumerate(states[:3]):
        again = TreeCurator.from_bytes(state)
        assert again.n_reports == 128 * (number + 1)
        assert [again.update_file(path) for _ in range(2)] == [True, False]
        assert again.to_bytes() == curator.to_bytes()


def test_what_was_counted_before_a_bad_file_stays(curator, tmp_path):
    good, bad = write(tmp_path / "good.bin", REPORTS[:100]), write(tmp_path / "bad.bin", REPORTS[100:])
    os.truncate(bad, 72 + 33)
    curator.update_file(good)
    before = curator.to_bytes()
    match = r"bad\.bin, byte 105: the file ends here, but should have 672 bytes"
    with pytest.raises(ValueError, match=match):
        curator.update_file(bad)
    assert curator.to_bytes() == before


@pytest.mark.usefixtures("small_chunks")
def test_an_impossible_report_in_a_file(curator, tmp_path):
    path = write(tmp_path / "reports.bin", REPORTS)
    data = bytearray(path.read_bytes())
    data[72 + 2 * 200 + 1] = 255
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"reports\.bin, byte {72 + 256}: from here on: a report lies"):
        curator.update_file(path)
    assert_counted(curator, REPORTS[:128])
    # The file repaired, it goes on where it stopped.
    data[72 + 2 * 200 : 72 + 2 * 201] = REPORTS[200:201].tobytes()
    path.write_bytes(data)
    curator.update_file(path)
    assert_counted(curator)


def test_a_batch_id_with_another_length(curator, tmp_path):
    path = write(tmp_path / "reports.bin", REPORTS)
    curator.update_file(path)
    data = bytearray(path.read_bytes())
    data[64:72] = (N_PRIVATE - 1).to_bytes(8, "little")
    path.write_bytes(data[:-2])
    with pytest.raises(ValueError, match=r"byte 64: a batch of this id had 400 reports, not 399"):
        curator.update_file(path)


KILLED = """
import sys, time
from skprivate.collection import TreeCurator, _report_counter, _report_files
_report_files._CHUNK_BYTES = 256
_report_counter._SECONDS_BETWEEN_CHECKPOINTS = -1.0
state, reports = sys.argv[1:]
curator = TreeCurator.from_bytes(open(state, "rb").read())
def progress(counted, total):
    print(counted, flush=True)
    if counted >= 256:
        time.sleep(600)
curator.update_file(reports, progress, checkpoint=state)
"""


@pytest.mark.process
def test_a_killed_curator_loses_nothing_and_counts_nothing_twice(curator, tmp_path):
    state, path = tmp_path / "state", write(tmp_path / "reports.bin", REPORTS)
    state.write_bytes(curator.to_bytes())
    command = [sys.executable, "-c", KILLED, str(state), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["128\n", "256\n"]
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    resumed = TreeCurator.from_bytes(state.read_bytes())
    assert resumed.n_reports == 128  # the second piece was counted, but not saved
    resumed.update_file(path)
    curator.update_file(path)
    assert resumed.to_bytes() == curator.to_bytes()
    assert_counted(resumed)


# Merging


def test_two_merged_curators_equal_one(tmp_path):
    one, left, right = (make_curator() for _ in range(3))
    for number, part in enumerate(np.array_split(REPORTS, 4)):
        path = write(tmp_path / f"{number}", part)
        one.update_file(path)
        (left, right)[number % 2].update_file(path)
    before = right.to_bytes()
    left.merge(right)
    assert_counted(left)
    assert left.history == one.history
    assert right.to_bytes() == before


def test_a_merge_never_counts_twice(tmp_path):
    left, right = make_curator(), make_curator()
    shared = write(tmp_path / "shared", REPORTS[:100])
    for curator in (left, right):
        curator.update_file(shared)
        curator.update(REPORTS[100:])
    before = left.to_bytes()
    for other in (left, right):
        with pytest.raises(ValueError, match="would count reports twice"):
            left.merge(other)
    assert left.to_bytes() == before


def test_copies_of_an_empty_curator_can_be_merged(curator):
    workers = [TreeCurator.from_bytes(curator.to_bytes()) for _ in range(2)]
    for worker, part in zip(workers, (REPORTS[:150], REPORTS[150:]), strict=True):
        worker.update(part)
        curator.merge(worker)
    assert_counted(curator)
    for worker in workers:
        with pytest.raises(ValueError, match="twice"):
            curator.merge(worker)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda c: TreeCurator.from_bytes(c.to_bytes())])
def test_copies_that_share_counts_cannot_be_merged(curator, copier):
    curator.update(REPORTS[:150])
    other = copier(curator)
    other.update(REPORTS[150:])
    assert curator.n_reports == 150
    for first, second in ((curator, other), (other, curator)):
        with pytest.raises(ValueError, match="twice"):
            first.merge(second)


def test_only_one_specification_is_merged(curator):
    other = make_curator(max_depth=2)
    curator.update(REPORTS)
    with pytest.raises(ValueError, match="different specifications"):
        other.merge(curator)
    with pytest.raises(TypeError, match="must be a TreeCurator"):
        other.merge(curator.to_bytes())
    assert other.n_reports == 0


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_split_gives_the_same_counts(data, tmp_path_factory):
    """Files, updates, repeated files, interruptions and merges in any order."""
    folder = tmp_path_factory.mktemp("split")
    workers = [make_curator() for _ in range(data.draw(st.integers(1, 3)))]
    cuts = sorted(data.draw(st.lists(st.integers(0, N_PRIVATE), max_size=6)))
    parts = np.split(REPORTS, cuts)
    for number in data.draw(st.permutations(range(len(parts)))):
        which = data.draw(st.integers(0, len(workers) - 1))
        worker, part = workers[which], parts[number]
        how = data.draw(st.sampled_from(["update", "file", "interrupted"]))
        if how == "update":
            worker.update(SPECIFICATION.pack(part))
            continue
        path = write(folder / f"{number}", part)
        if how == "interrupted":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_report_files, "_CHUNK_BYTES", data.draw(st.integers(2, 200)))
                stop = data.draw(st.integers(1, N_PRIVATE))
                try:
                    worker.update_file(path, lambda counted, _, stop=stop: 1 / int(counted < stop))
                except ZeroDivisionError:
                    worker = workers[which] = TreeCurator.from_bytes(worker.to_bytes())
        worker.update_file(path)
        assert worker.update_file(path) is False
    for other in workers[1:]:
        workers[0].merge(other)
    assert_counted(workers[0])


# Threads and forks


@pytest.mark.parametrize("how", ["update", "update_file", "merge"])
def test_threads_lose_no_report(curator, tmp_path, monkeypatch, how):
    halves = REPORTS[:200], REPORTS[200:]
    files = [write(tmp_path / f"{number}", half) for number, half in enumerate(halves)]
    others = [copy.copy(curator) for _ in halves]
    for other, half in zip(others, halves, strict=True):
        other.update(half)
    add, barrier = _report_counter._add_counts, threading.Barrier(2)

    def add_and_wait(*counts):
        total = add(*counts)
        # A second thread, if it is let in, has read the counts as they were.
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait(0.05)
        return total

    monkeypatch.setattr(_report_counter, "_add_counts", add_and_wait)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(getattr(curator, how), {"update": halves, "update_file": files, "merge": others}[how]))
    assert_counted(curator)


def test_a_thread_that_saves_puts_no_older_state_in_place(curator, tmp_path, monkeypatch):
    save, started = _report_counter.Checkpoint.save, threading.Event()

    def save_slowly(self, state):
        if not started.is_set():
            started.set()
            time.sleep(0.05)
        save(self, state)

    monkeypatch.setattr(_report_counter.Checkpoint, "save", save_slowly)
    path = tmp_path / "state"
    with curator, ThreadPoolExecutor(1) as pool:
        curator.update(REPORTS[:200])
        older = pool.submit(curator.save, path)
        started.wait(60)
        curator.update(REPORTS[200:])
        curator.save(path)
        older.result()
    assert TreeCurator.from_bytes(path.read_bytes()).n_reports == len(REPORTS)


@pytest.mark.usefixtures("small_chunks")
def test_a_file_that_is_added_while_it_is_added_is_counted_once(curator, tmp_path):
    path, once = write(tmp_path / "one.bin", REPORTS), copy.copy(curator)
    once.update_file(path)

    def add_again(counted, total):
        if counted < total:
            curator.update_file(path)

    with pytest.raises(ValueError, match="counted by another call meanwhile"):
        curator.update_file(path, progress=add_again)
    assert curator.history == once.history
    assert_counted(curator)


@pytest.mark.process
def test_a_fork_counts_under_an_id_of_its_own(curator, tmp_path):
    curator.update(REPORTS[:5])
    child = os.fork()
    if not child:
        curator.update(REPORTS[5:9])
        (tmp_path / "child").write_bytes(curator.to_bytes())
        os._exit(0)
    os.waitpid(child, 0)
    curator.update(REPORTS[5:7])
    forked = TreeCurator.from_bytes((tmp_path / "child").read_bytes())
    assert len(forked.history) == 2
    assert set(curator.history) < set(forked.history)
    with pytest.raises(ValueError, match="count reports twice"):
        curator.merge(forked)
