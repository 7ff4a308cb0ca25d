# SPDX-License-Identifier: BSD-3-Clause
"""A client answers once, within its owner's ceiling, and never shows a value."""

import copy
import errno
import os
import pickle
import stat
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skprivate.collection import TreeClient, TreeSpecification, _client
from skprivate.collection._questions import NumberTarget
from skprivate.exceptions import BudgetExceededError
from skprivate.randomizers import LabelRandomizer
from tests.collection.studies import (
    NAMES,
    domain_specification,
    make_domain,
    make_specification,
    number_specification,
)

ROW = [0.3, 0.4]


@pytest.fixture
def specification():
    # 2^8 cells: 512 answers, so that a report drawn again is another one with a probability near 1.
    return make_specification("krr", depth=8, epsilon=Fraction(1, 4), features=NAMES, label="sick")


@pytest.fixture
def other():
    return make_specification("krr", depth=8, epsilon=Fraction(1, 2))


def sharp(**options):
    """Reports of this epsilon are the categories themselves: a lie has a probability below 1e-24."""
    return make_specification("krr", epsilon=60.0, features=NAMES, **options)


class TestReports:
    def test_are_of_the_row(self):
        specification = sharp(classes=["no", "yes"])
        cells = specification.partition.apply([[0.9, 1.9], [0.1, 0.1]])
        for row, label, cell in [([0.9, 1.9], "yes", cells[0]), ([0.1, 0.1], "no", cells[1])]:
            report = TreeClient(specification).randomize(row, label)
            assert int.from_bytes(report, "little") == 2 * cell + (label == "yes")

    def test_values_outside_the_box_are_clipped(self):
        inside = TreeClient(sharp()).randomize([1, 0], 1)
        assert TreeClient(sharp()).randomize([1e300, -1e300], 1) == inside

    def test_of_different_people_differ(self, specification):
        reports = {TreeClient(specification).randomize(ROW, 1) for _ in range(50)}
        assert len(reports) > 10  # 50 draws of 512 near-uniform answers

    @pytest.mark.parametrize(
        "x",
        [
            (0.9, 0.1),
            np.array([0.9, 0.1], dtype=np.float32),
            {"b": 0.1, "a": 0.9},
            pd.Series([0.1, 0.9], index=["b", "a"]),
            [Fraction(9, 10), np.float64(0.1)],
            [True, np.False_],
            [1, np.int8(0)],
        ],
    )
    def test_of_any_form_of_a_row_are_the_same(self, x):
        report = TreeClient(sharp()).randomize([0.9, 0.1], 1)
        assert TreeClient(sharp()).randomize(x, 1) == report
        assert TreeClient(sharp()).randomize([0.1, 0.9], 1) != report

    @pytest.mark.parametrize(
        "form", [dict, pd.Series, lambda row: [row[name] for name in make_domain().names]]
    )
    def test_of_raw_records(self, form):
        specification = domain_specification()
        for record, answer in (
            ({"since": "2020-06-01", "age": 80, "job": "smith"}, "yes"),
            ({"since": None, "age": "33.5", "job": "?"}, "no"),
        ):
            cell = specification.partition.apply(specification.domain.encode([record], strict=True))[0]
            report = TreeClient(specification).randomize(form(record), answer)
            assert specification.unpack(report) == [2 * cell + (answer == "yes")]

    @pytest.mark.parametrize("protect", ["label", "record"])
    def test_of_a_label_alone_are_agreed_to(self, specification, protect):
        if protect == "label":
            randomizer = LabelRandomizer(1e-9, specification.partition.n_leaves)
            specification = TreeSpecification(specification.partition, randomizer, (0, 1), NAMES)
        assert TreeClient(specification, protect="label").randomize(ROW, 1)


class TestOnce:
    @pytest.mark.parametrize("number", [False, True])
    def test_it_answers_once(self, specification, number, tmp_path):
        specification = number_specification() if number else specification
        path = tmp_path / "memory"
        client, saved = TreeClient(specification), TreeClient(specification, memory=path)
        for one in (client, saved):
            report = one.randomize(ROW, 1)
            assert len(report) == specification.randomizer.report_bytes
            assert {one.randomize([0.9, 1.7], 0) for _ in range(20)} == {report}
            assert one.randomize("anything", None) == report
            assert one.spent_epsilon == one.lifetime_epsilon == specification.randomizer.epsilon
        # The memory outlives the object, and holds no value.
        again = TreeClient(specification, memory=str(path))
        assert again.randomize([0.9, 1.4], None) == report
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "0.3" not in path.read_text()

    def test_no_copies(self, specification):
        for copier in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="answer a second time"):
                copier(TreeClient(specification))

    @pytest.mark.parametrize("with_file", [True, False])
    def test_a_fork_does_not_answer_again(self, specification, tmp_path, monkeypatch, with_file):
        client = TreeClient(specification, memory=tmp_path / "memory" if with_file else None)
        monkeypatch.setattr(_client.os, "getpid", lambda: -1)
        if with_file:
            client.randomize(ROW, 1)
            return
        with pytest.raises(RuntimeError, match="fork"):
            client.randomize(ROW, 1)
        monkeypatch.undo()
        report = client.randomize(ROW, 1)
        monkeypatch.setattr(_client.os, "getpid", lambda: -1)
        assert client.randomize(ROW, 1) == report

    def test_nobody_answers_twice_where_the_lock_file_is_deleted(self, specification, tmp_path, monkeypatch):
        path, load = tmp_path / "memory", TreeClient._load

        def overtaken(client):
            memory = load(client)
            monkeypatch.setattr(TreeClient, "_load", load)
            (tmp_path / "memory.lock").unlink()
            answered.append(TreeClient(specification, memory=path).randomize(ROW, 1))
            return memory

        answered, client = [], TreeClient(specification, memory=path)
        monkeypatch.setattr(TreeClient, "_load", overtaken)
        with pytest.raises(RuntimeError, match="lock file"):
            client.randomize([0.9, 1.4], 0)
        assert TreeClient(specification, memory=path).randomize([0.9, 1.4], 0) == answered[0]

    def test_a_report_that_is_not_on_the_disk_is_not_handed_out(self, specification, tmp_path, monkeypatch):
        path, flush = tmp_path / "memory", os.fsync

        def fail_on_folders(handle):
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                raise OSError(errno.EIO, "failed")
            flush(handle)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail_on_folders)
            for client in (TreeClient(specification, memory=path) for _ in range(2)):
                with pytest.raises(OSError, match="failed"):
                    client.randomize(ROW, 1)
        # It was drawn and written, and may be lost with the power: nobody has it yet.
        assert TreeClient(specification, memory=path).spent_epsilon == Fraction(1, 4)
        assert TreeClient(specification, memory=path).randomize(ROW, 1)

    def test_what_is_spent_is_written_before_the_report_leaves(self, specification, tmp_path, monkeypatch):
        client = TreeClient(specification, memory=tmp_path / "memory")
        monkeypatch.setattr(_client, "write_atomically", lambda *_, **__: 1 / 0)
        # What could not be written down is forgotten, and not handed out by a later call.
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                client.randomize(ROW, 1)
            assert client.spent_epsilon == 0

    def test_a_memory_that_is_gone_is_not_started_anew(self, specification, tmp_path):
        path = tmp_path / "memory"
        TreeClient(specification, memory=path).randomize(ROW, 1)
        client = TreeClient(specification, memory=path)
        path.unlink()
        with pytest.raises(ValueError, match="gone"):
            client.randomize(ROW, 1)
        assert not path.exists()

    @pytest.mark.parametrize("with_file", [True, False])
    def test_threads_get_one_report(self, specification, tmp_path, monkeypatch, with_file):
        if with_file:
            clients = [TreeClient(specification, memory=tmp_path / "memory") for _ in range(8)]
        else:
            clients = [TreeClient(specification)] * 8
        barrier, reports = threading.Barrier(8), []
        plain = specification.randomizer.randomize

        def slow(categories, entropy):
            # Long enough for the others to arrive.
            threading.Event().wait(0.02)
            return plain(categories, entropy)

        monkeypatch.setattr(specification.randomizer, "randomize", slow)

        def ask(client):
            barrier.wait()
            reports.append(client.randomize(ROW, 1))

        threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(reports) == 8
        assert len(set(reports)) == 1


class TestCeiling:
    def test_a_second_question_costs_its_epsilon(self, specification, other, tmp_path):
        path, link = tmp_path / "memory", tmp_path / "link"
        first = TreeClient(specification, memory=path, lifetime_epsilon=0.75)
        report = first.randomize(ROW, 1)
        # A link to the memory is the memory.
        link.symlink_to(path)
        second = TreeClient(other, memory=link)
        answer = second.randomize(ROW, 1)
        assert second.spent_epsilon == first.spent_epsilon == second.lifetime_epsilon == Fraction(3, 4)
        third = TreeClient(make_specification(epsilon=1e-9), memory=path)
        with pytest.raises(BudgetExceededError, match=r"spent so far 0.75 of 0.75. Nothing was drawn"):
            third.randomize(ROW, 1)
        assert first.randomize(ROW, 1) == report
        assert second.randomize(ROW, 1) == answer

    def test_the_default_is_one_question(self, specification, other, tmp_path, monkeypatch):
        path = tmp_path / "memory"
        TreeClient(specification, memory=path).randomize(ROW, 1)
        before = path.read_bytes()
        monkeypatch.setattr(other.randomizer, "randomize", lambda *_: 1 / 0)
        with pytest.raises(BudgetExceededError):
            TreeClient(other, memory=path).randomize(ROW, 1)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("number", [False, True])
    def test_nothing_is_drawn_where_it_lies_below_the_question(self, specification, number, monkeypatch):
        specification = number_specification() if number else specification
        client = TreeClient(specification, lifetime_epsilon=0.2)
        monkeypatch.setattr(NumberTarget, "draw", lambda *_: 1 / 0)
        monkeypatch.setattr(specification.randomizer, "randomize", lambda *_: 1 / 0)
        with pytest.raises(BudgetExceededError):
            client.randomize(ROW, 1)

    def test_it_is_fixed_in_the_file(self, specification, other, tmp_path):
        path = tmp_path / "memory"
        early = TreeClient(other, memory=path, lifetime_epsilon=100)
        TreeClient(specification, memory=path, lifetime_epsilon=1).randomize(ROW, 1)
        with pytest.raises(ValueError, match="ceiling of epsilon 1, which is fixed"):
            TreeClient(other, memory=path, lifetime_epsilon=2)
        with pytest.raises(ValueError, match="ceiling of epsilon 1, which is fixed"):
            early.randomize(ROW, 1)
        assert TreeClient(other, memory=path).lifetime_epsilon == 1


@pytest.mark.process
def test_a_client_needs_numpy_only(tmp_path):
    for number, made in enumerate((make_specification(), domain_specification())):
        (tmp_path / f"{number}.json").write_text(made.to_json(), encoding="utf-8")
    (tmp_path / "rows.csv").write_text("label,x0,x1\n1,0.3,0.4\n")
    code = (
        "import sys; from skprivate.collection import TreeClient, TreeSpecification, ReportWriter;"
        "from skprivate.collection._commands import main;"
        "plain, declared = map(TreeSpecification.from_json, ('0.json', '1.json'));"
        "assert len(TreeClient(plain, memory='memory').randomize([0.3, 0.4], 1)) == 2;"
        "TreeClient(declared).randomize({'age': '39', 'job': 'smith', 'since': None}, 'no');"
        "assert main(['client', '0.json', 'rows.csv', 'r.bin']) == 0;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'scipy', 'joblib', 'pandas'}))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert out.stdout.splitlines()[-1:] == ["[]"], out.stderr
