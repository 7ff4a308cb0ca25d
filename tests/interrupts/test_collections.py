# SPDX-License-Identifier: BSD-3-Clause
"""Interrupted accumulators, curators and clients count nothing twice, lose nothing and answer once."""

import contextlib
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from skprivate import DPLogLocationScaleRegressor, LocallyPrivateTreeClassifier, PrivacyLedger
from skprivate.collection import (
    ReportWriter,
    TreeClient,
    TreeCurator,
    TreeSpecification,
    _report_counter,
    _report_files,
)
from skprivate.linear_model import MomentAccumulator
from skprivate.partition import build_partition
from skprivate.randomizers import make_randomizer
from skprivate.utils._files import locked

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(size=(8, 2)), RNG.uniform(1, 2, size=8)
ACCUMULATOR = ("linear_model/_accumulator.py",)
CURATOR = ("collection/_report_counter.py", "collection/_report_counter.py")
CLIENT = ("collection/_client.py",)


@contextlib.contextmanager
def refused(text):
    """Let what was counted already be refused."""
    try:
        yield
    except ValueError as error:
        if text not in str(error):
            raise


def moments(n_batches=1, **options):
    accumulator = MomentAccumulator((0, 1), (1, 2), 100, **options)
    for batch in range(n_batches):
        accumulator.update(X, Y, batch_id=f"old {batch}")
    return accumulator


def check_moments(accumulator):
    """The sums are those of the rows under the ids, in the object and in its bytes."""
    if accumulator.released:
        return
    anew = MomentAccumulator.from_bytes(accumulator.to_bytes())
    for one in (accumulator, anew):
        n_rows = len(X) * len(one.batch_ids)
        assert one._n_rows == n_rows, "rows and ids disagree"
        assert one._sums[0, 0] == n_rows * 4**one.plan.grid.exponent, "sums and ids disagree"
        assert one.plan.columns_known == bool(one.batch_ids)


@pytest.mark.parametrize("n_before", [0, 1])
def test_a_batch_of_moments(interrupted, operation, n_before):
    def update(accumulator):
        accumulator.update(X, Y, batch_id="new")

    def retry(accumulator):
        with refused("added before"):
            update(accumulator)

    interrupted(
        operation(
            f"MomentAccumulator.update, {n_before} batches before",
            lambda folder: moments(n_before),
            update,
            check_moments,
            retry,
            MomentAccumulator.to_bytes,
            about=ACCUMULATOR,
        )
    )


def test_a_batch_of_moments_without_an_id(interrupted, operation):
    def retry(accumulator):
        if len(accumulator.batch_ids) == 1:
            accumulator.update(X, Y)

    interrupted(
        operation(
            "MomentAccumulator.update without an id",
            lambda folder: moments(),
            lambda accumulator: accumulator.update(X, Y),
            check_moments,
            retry,
            lambda accumulator: (accumulator._n_rows, accumulator._sums.tolist()),
        )
    )


@pytest.mark.parametrize("n_before", [0, 1])
def test_a_merge_of_moments(interrupted, operation, n_before):
    def start(folder):
        other = MomentAccumulator((0, 1), (1, 2), 100).update(X, Y, batch_id="theirs")
        return SimpleNamespace(mine=moments(n_before), other=other)

    def retry(objects):
        with refused("both accumulators hold"):
            objects.mine.merge(objects.other)

    interrupted(
        operation(
            f"MomentAccumulator.merge, {n_before} batches before",
            start,
            lambda objects: objects.mine.merge(objects.other),
            lambda objects: (check_moments(objects.mine), check_moments(objects.other)),
            retry,
            lambda objects: (objects.mine.to_bytes(), objects.other.to_bytes()),
            about=ACCUMULATOR,
        )
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_a_release_of_moments(interrupted, operation):
    def start(folder):
        ledger = PrivacyLedger(folder / "study.ledger")
        return SimpleNamespace(moments=moments(), ledger=ledger, model=None)

    def release(objects):
        estimator = DPLogLocationScaleRegressor(epsilon=1000, ledger=objects.ledger)
        objects.model = objects.moments.release(estimator)

    def check(objects):
        check_moments(objects.moments)
        if objects.model is not None or objects.moments.released:
            assert objects.ledger.entries(), "released uncovered"

    def retry(objects):
        if objects.moments.released:
            objects.model = objects.moments.released_model
        else:
            release(objects)

    interrupted(
        operation(
            "MomentAccumulator.release",
            start,
            release,
            check,
            retry,
            lambda objects: (objects.moments.released, hasattr(objects.model, "coef_")),
            about=ACCUMULATOR,
        )
    )


def curator():
    tree = LocallyPrivateTreeClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1], max_depth=2)
    return TreeCurator(tree, n_clients=50, features=["a", "b"])


PLANNED = curator().to_bytes()
REPORTS = curator().specification.randomizer.randomize(np.arange(8) % 8, np.random.default_rng(0))


def check_curator(curator):
    """The counts are those of the reports that the history tells of."""
    anew = TreeCurator.from_bytes(curator.to_bytes())
    assert np.array_equal(anew._state.counts, curator._state.counts)
    for one in (curator, anew):
        state = one._state
        files = {key: n for key, (n, _) in state.history.items() if key != state.stream}
        expected = sum(
            (state.randomizer.aggregate(REPORTS[:n]) for n in files.values() if n),
            np.zeros_like(state.counts),
        )
        if state.stream is not None:
            expected = expected + state.history[state.stream][0] * state.randomizer.aggregate(REPORTS[:1])
        assert np.array_equal(state.counts, expected), "counts and history disagree"


def counted(curator):
    return curator.n_reports, curator._state.counts.tolist()


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "reports.bin"
    specification = curator().specification
    with ReportWriter(path, specification) as writer:
        writer.write(REPORTS)
    return path


@pytest.mark.parametrize("n_before", [0, 1])
def test_a_report_without_a_file(interrupted, operation, n_before):
    def start(folder):
        one = TreeCurator.from_bytes(PLANNED)
        for _ in range(n_before):
            one.update(REPORTS[:1])
        return one

    def retry(one):
        if one.n_reports == n_before:
            one.update(REPORTS[:1])

    interrupted(
        operation(
            f"TreeCurator.update, {n_before} reports before",
            start,
            lambda one: one.update(REPORTS[:1]),
            check_curator,
            retry,
            counted,
            about=CURATOR,
        )
    )


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_file_of_reports(interrupted, operation, written, checkpoint, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 6)
    monkeypatch.setattr(_report_counter, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)

    def start(folder):
        state = folder / "state" if checkpoint else None
        return SimpleNamespace(curator=TreeCurator.from_bytes(PLANNED), state=state)

    def update(objects):
        objects.curator.update_file(written, checkpoint=objects.state)

    def check(objects):
        check_curator(objects.curator)
        if checkpoint and objects.state.exists():
            check_curator(TreeCurator.from_bytes(objects.state.read_bytes()))

    def end(objects):
        ends = [counted(objects.curator)]
        if checkpoint:
            ends.append(counted(TreeCurator.from_bytes(objects.state.read_bytes())))
        return ends

    interrupted(
        operation(
            f"TreeCurator.update_file{', checkpoint' if checkpoint else ''}",
            start,
            update,
            check,
            update,
            end,
            about=("collection/_report_counter.py",),
        )
    )


def test_a_killed_curator_goes_on_from_its_checkpoint(interrupted, operation, written, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 6)
    monkeypatch.setattr(_report_counter, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)

    def start(folder):
        return SimpleNamespace(state=folder / "state")

    def load(objects):
        data = objects.state.read_bytes() if objects.state.exists() else PLANNED
        return TreeCurator.from_bytes(data)

    def update(objects):
        # The interrupted one must not hold it.
        anew = TreeCurator.from_file(objects.state) if objects.state.exists() else load(objects)
        with anew:
            anew.update_file(written, checkpoint=objects.state)

    interrupted(
        operation(
            "TreeCurator.from_file and update_file, anew",
            start,
            update,
            lambda objects: check_curator(load(objects)),
            update,
            lambda objects: counted(load(objects)),
        )
    )


def test_a_curator_saved_to_another_file(interrupted, operation):
    def start(folder):
        one = TreeCurator.from_bytes(PLANNED)
        one.update(REPORTS[:1])
        one.save(folder / "old")
        return SimpleNamespace(curator=one, folder=folder, old=(folder / "old").read_bytes())

    def save(objects):
        objects.curator.save(objects.folder / "new")

    def check(objects):
        assert (objects.folder / "old").read_bytes() == objects.old == objects.curator.to_bytes()
        assert not (new := objects.folder / "new").exists() or new.read_bytes() == objects.old

    def end(objects):
        with locked(objects.folder / "old", wait=False):
            pass
        with pytest.raises(ValueError, match="in use"):
            TreeCurator.from_file(objects.folder / "new")
        return counted(objects.curator)

    interrupted(
        operation(
            "TreeCurator.save",
            start,
            save,
            check,
            save,
            end,
            about=("collection/_report_counter.py",),
        )
    )


def test_a_merge_of_curators(interrupted, operation, written):
    def start(folder):
        mine, other = (TreeCurator.from_bytes(PLANNED) for _ in range(2))
        mine.update(REPORTS[:1])
        other.update_file(written)
        return SimpleNamespace(mine=mine, other=other)

    def retry(objects):
        with refused("both curators have counted"):
            objects.mine.merge(objects.other)

    interrupted(
        operation(
            "TreeCurator.merge",
            start,
            lambda objects: objects.mine.merge(objects.other),
            lambda objects: (check_curator(objects.mine), check_curator(objects.other)),
            retry,
            lambda objects: (counted(objects.mine), counted(objects.other)),
            about=CURATOR,
        )
    )


def test_a_file_being_written(interrupted, operation):
    def start(folder):
        return SimpleNamespace(path=folder / "new.bin", folder=folder)

    def write(objects):
        with ReportWriter(objects.path, curator().specification) as writer:
            writer.write(REPORTS)

    def check(objects):
        # What is not finished has another name.
        assert all(one == objects.path or one.suffix == ".unfinished" for one in objects.folder.iterdir())
        if objects.path.exists():
            TreeCurator.from_bytes(PLANNED).update_file(objects.path)

    def retry(objects):
        if not objects.path.exists():
            write(objects)

    interrupted(operation("ReportWriter", start, write, check, retry, about=("collection/_report_files.py",)))


# 2^8 cells: 512 answers, so that a report drawn again is another one with a probability near 1.
PARTITION = build_partition(np.zeros((0, 2)), [], lower=[0, 0], upper=[1, 2], max_depth=8, n_labels=2)
QUESTIONS = [
    TreeSpecification(PARTITION, make_randomizer("krr", epsilon, PARTITION.n_leaves, 2), [0, 1])
    for epsilon in (Fraction(1, 4), Fraction(1, 2))
]


@pytest.mark.parametrize("in_file", [False, True])
def test_a_client(interrupted, operation, in_file):
    def make(objects):
        path = objects.folder / "memory" if in_file else None
        return TreeClient(QUESTIONS[1], memory=path, lifetime_epsilon=1)

    def start(folder):
        objects = SimpleNamespace(folder=folder, sent=set())
        if in_file:  # the person's other client
            TreeClient(QUESTIONS[0], memory=folder / "memory", lifetime_epsilon=1).randomize([0, 0], 1)
        objects.client = make(objects)
        return objects

    def answer(objects):
        objects.sent.add(objects.client.randomize([0, 0], 1))

    def check(objects):
        clients = [objects.client]
        if in_file:
            with locked(objects.folder / "memory", wait=False):  # the interrupted one must not hold it
                pass
            clients.append(make(objects))
        before = QUESTIONS[0].randomizer.epsilon if in_file else 0
        for one in clients:
            memory = one._load()
            known = memory.reports.get(QUESTIONS[1].hash)
            due = before + (0 if known is None else QUESTIONS[1].randomizer.epsilon)
            assert memory.spent == one.spent_epsilon == due, "answers and amounts disagree"
            assert objects.sent <= {known}, "an answer was sent that is not remembered"

    def retry(objects):
        answer(objects)
        if in_file:
            objects.client = make(objects)
            answer(objects)

    interrupted(
        operation(
            f"TreeClient.randomize{', memory file' if in_file else ''}",
            start,
            answer,
            check,
            retry,
            lambda objects: len(objects.sent),
            about=CLIENT,
        )
    )
