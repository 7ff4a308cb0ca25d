# SPDX-License-Identifier: BSD-3-Clause
"""A client answers once, within its owner's ceiling, and never shows a value."""

import base64
import copy
import errno
import json
import os
import pickle
import stat
import subprocess
import sys
import threading
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skprivate.collection import TreeClient, TreeSpecification, _client
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError
from skprivate.randomizers import LabelRandomizer
from skprivate.utils._json_documents import digest

SECRET = 123.456


@pytest.fixture
def specification(make_specification):
    # 2^8 cells: 512 answers, so that a report drawn again is another one with a probability near 1.
    return make_specification("krr", depth=8, epsilon=Fraction(1, 4), features=["a", "b"], label="sick")


@pytest.fixture
def other(make_specification):
    return make_specification("krr", depth=8, epsilon=Fraction(1, 2))


def test_the_report_is_of_the_row(make_specification):
    specification = make_specification("krr", epsilon=60.0, depth=3, classes=["no", "yes"])
    cells = specification.partition.apply([[0.9, 1.9], [0.1, 0.1]])
    # A lie has a probability below 1e-24.
    for row, label, cell in [([0.9, 1.9], "yes", cells[0]), ([0.1, 0.1], "no", cells[1])]:
        report = TreeClient(specification).randomize(row, label)
        assert int.from_bytes(report, "little") == 2 * cell + (label == "yes")


def test_values_outside_the_box_are_clipped(make_specification):
    specification = make_specification("krr", epsilon=60.0)
    inside = TreeClient(specification).randomize([1, 0], 1)
    assert TreeClient(specification).randomize([1e300, -1e300], 1) == inside


def test_the_mechanism_is_the_randomizers(make_specification):
    specification = make_specification("krr", depth=0, epsilon=1.0)
    n = 4000
    told = Counter(TreeClient(specification).randomize([0, 0], 1)[0] for _ in range(n))
    # 6 standard deviations: below 2e-9.
    expected = np.e / (1 + np.e)
    assert abs(told[1] / n - expected) < 6 * np.sqrt(expected * (1 - expected) / n)


def test_it_answers_once(specification):
    client = TreeClient(specification)
    report = client.randomize([0.3, 0.4], 1)
    assert len(report) == specification.randomizer.report_bytes
    assert {client.randomize([0.9, 1.7], 0) for _ in range(20)} == {report}
    assert client.randomize("anything", None) == report
    assert client.spent_epsilon == client.lifetime_epsilon == Fraction(1, 4)


def test_reports_of_different_people_differ(specification):
    reports = {TreeClient(specification).randomize([0.3, 0.4], 1) for _ in range(50)}
    assert len(reports) > 10  # 50 draws of 512 near-uniform answers


@pytest.mark.parametrize(
    "x",
    [
        [0.3, 0.4],
        (0.3, 0.4),
        np.array([0.3, 0.4], dtype=np.float32),
        {"b": 0.4, "a": 0.3},
        pd.Series([0.4, 0.3], index=["b", "a"]),
        [Fraction(3, 10), np.float64(0.4)],
        [True, np.True_],
        [0, np.int8(1)],
    ],
)
def test_forms_of_a_row(specification, x):
    assert len(TreeClient(specification).randomize(x, 1)) == 2


def test_names_count_not_positions(make_specification):
    specification = make_specification("krr", epsilon=60.0, features=["a", "b"])
    report = TreeClient(specification).randomize([0.9, 0.1], 1)
    assert TreeClient(specification).randomize({"b": 0.1, "a": 0.9}, 1) == report
    assert TreeClient(specification).randomize(pd.Series({"b": 0.1, "a": 0.9}), 1) == report
    assert TreeClient(specification).randomize([0.1, 0.9], 1) != report


@pytest.mark.parametrize(
    ("x", "match"),
    [
        ({"a": SECRET}, "'b' is missing"),
        ({"a": SECRET, "b": SECRET, "c": SECRET}, "'c' is unknown"),
        (pd.Series([SECRET] * 3, index=["a", "b", "a"]), "'a' is repeated"),
        (pd.DataFrame({"a": [SECRET], "b": [SECRET]}), "'a' must hold a finite number"),
        ([SECRET], "2 values .a, b., got 1"),
        ([SECRET] * 3, "2 values .a, b., got 3"),
        ([[SECRET, SECRET]], "2 values .a, b., got 1"),
        (np.full((2, 2), SECRET), "'a' must hold a finite number"),
        ([SECRET, float("nan")], "'b' must hold a finite number"),
        ([float("inf"), SECRET], "'a' must hold a finite number"),
        ([SECRET, 10**400], "'b' must hold a finite number"),
        ([str(SECRET), 1], "'a' must hold a finite number"),
        ([SECRET, None], "'b' must hold a finite number"),
        (str(SECRET), "sequence of values"),
        (SECRET, "sequence of values"),
        ({SECRET}, "sequence of values"),
        (None, "sequence of values"),
    ],
)
def test_a_bad_row_is_refused_without_a_value(specification, monkeypatch, tmp_path, x, match):
    monkeypatch.setattr(specification.randomizer, "randomize", lambda *_: 1 / 0)
    for memory in (None, tmp_path / "memory"):
        client = TreeClient(specification, memory=memory)
        with pytest.raises(ValueError, match=match) as caught:
            client.randomize(x, 1)
        assert str(SECRET) not in str(caught.value)
        assert caught.value.__context__ is None
        assert client.spent_epsilon == 0
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize("label", [7, "1", None, float("nan"), [1], np.array([0, 1]), "secret"])
def test_a_label_outside_the_classes_is_refused_on_the_device(specification, monkeypatch, label):
    monkeypatch.setattr(specification.randomizer, "randomize", lambda *_: 1 / 0)
    client = TreeClient(specification)
    with pytest.raises(ValueError, match="'sick' is not one of the specification's classes") as caught:
        client.randomize([0.3, 0.4], label)
    assert "secret" not in str(caught.value)
    assert "7" not in str(caught.value)
    assert client.spent_epsilon == 0


def test_there_is_no_seed(specification):
    with pytest.raises(TypeError):
        TreeClient(specification, random_state=0)
    with pytest.raises(TypeError, match="TreeSpecification"):
        TreeClient(specification.to_json())


def test_features_are_told_with_consent_only(specification, tmp_path):
    label_only = TreeSpecification(
        specification.partition, LabelRandomizer(1e-9, specification.partition.n_leaves), (0, 1), ["a", "b"]
    )
    with pytest.raises(PrivacyLeakError, match="the label alone"):
        TreeClient(label_only)
    with pytest.raises(ValueError, match="protect must be"):
        TreeClient(label_only, protect="features")
    TreeClient(label_only, protect="label").randomize([0.3, 0.4], 1)
    TreeClient(specification, protect="label").randomize([0.3, 0.4], 1)


def test_no_copies(specification):
    client = TreeClient(specification)
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="answer a second time"):
            copier(client)


@pytest.mark.parametrize("with_file", [True, False])
def test_a_fork_does_not_answer_again(specification, tmp_path, monkeypatch, with_file):
    memory = tmp_path / "memory" if with_file else None
    client = TreeClient(specification, memory=memory)
    monkeypatch.setattr(_client.os, "getpid", lambda: -1)
    if with_file:
        client.randomize([0.3, 0.4], 1)
    else:
        with pytest.raises(RuntimeError, match="fork"):
            client.randomize([0.3, 0.4], 1)
        monkeypatch.undo()
        report = client.randomize([0.3, 0.4], 1)
        monkeypatch.setattr(_client.os, "getpid", lambda: -1)
        assert client.randomize([0.3, 0.4], 1) == report


def test_the_memory_outlives_the_object(specification, tmp_path):
    path = tmp_path / "memory"
    report = TreeClient(specification, memory=path).randomize([0.3, 0.4], 1)
    again = TreeClient(specification, memory=str(path))
    assert again.randomize([0.9, 1.4], 0) == report
    assert again.spent_epsilon == Fraction(1, 4)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nobody_answers_twice_where_the_lock_file_is_deleted(specification, tmp_path, monkeypatch):
    path, load = tmp_path / "memory", TreeClient._load

    def overtaken(client):
        memory = load(client)
        monkeypatch.setattr(TreeClient, "_load", load)
        (tmp_path / "memory.lock").unlink()
        answered.append(TreeClient(specification, memory=path).randomize([0.3, 0.4], 1))
        return memory

    answered, client = [], TreeClient(specification, memory=path)
    monkeypatch.setattr(TreeClient, "_load", overtaken)
    with pytest.raises(RuntimeError, match="lock file"):
        client.randomize([0.9, 1.4], 0)
    assert TreeClient(specification, memory=path).randomize([0.9, 1.4], 0) == answered[0]


def test_a_report_that_is_not_on_the_disk_is_not_handed_out(specification, tmp_path, monkeypatch):
    path, flush = tmp_path / "memory", os.fsync

    def fail_on_folders(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EIO, "failed")
        flush(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_on_folders)
        for client in (TreeClient(specification, memory=path) for _ in range(2)):
            with pytest.raises(OSError, match="failed"):
                client.randomize([0.3, 0.4], 1)
    # It was drawn and written, and may be lost with the power: nobody has it yet.
    assert TreeClient(specification, memory=path).spent_epsilon == Fraction(1, 4)
    assert TreeClient(specification, memory=path).randomize([0.3, 0.4], 1)


def test_a_link_to_the_memory_is_the_memory(specification, other, tmp_path):
    path, link = tmp_path / "memory", tmp_path / "link"
    TreeClient(other, memory=path, lifetime_epsilon=1).randomize([0.3, 0.4], 1)
    link.symlink_to(path)
    report = TreeClient(specification, memory=link).randomize([0.3, 0.4], 1)
    assert TreeClient(specification, memory=path).spent_epsilon == Fraction(3, 4)
    assert TreeClient(specification, memory=path).randomize([0.3, 0.4], 1) == report


def test_a_second_question_costs_its_epsilon(specification, other, make_specification, tmp_path):
    path = tmp_path / "memory"
    first = TreeClient(specification, memory=path, lifetime_epsilon=0.75)
    second = TreeClient(other, memory=path)
    report = first.randomize([0.3, 0.4], 1)
    answer = second.randomize([0.3, 0.4], 1)
    assert second.spent_epsilon == first.spent_epsilon == second.lifetime_epsilon == Fraction(3, 4)
    third = TreeClient(make_specification(epsilon=1e-9), memory=path)
    with pytest.raises(BudgetExceededError, match=r"spent so far 0.75 of 0.75. Nothing was drawn"):
        third.randomize([0.3, 0.4], 1)
    assert first.randomize([0.3, 0.4], 1) == report
    assert second.randomize([0.3, 0.4], 1) == answer


def test_the_default_ceiling_is_one_question(specification, other, tmp_path, monkeypatch):
    path = tmp_path / "memory"
    TreeClient(specification, memory=path).randomize([0.3, 0.4], 1)
    before = path.read_bytes()
    monkeypatch.setattr(other.randomizer, "randomize", lambda *_: 1 / 0)
    with pytest.raises(BudgetExceededError):
        TreeClient(other, memory=path).randomize([0.3, 0.4], 1)
    assert path.read_bytes() == before


def test_a_ceiling_below_the_question(specification):
    with pytest.raises(BudgetExceededError):
        TreeClient(specification, lifetime_epsilon=0.2).randomize([0.3, 0.4], 1)


def test_the_ceiling_is_fixed_in_the_file(specification, other, tmp_path):
    path = tmp_path / "memory"
    early = TreeClient(other, memory=path, lifetime_epsilon=100)
    TreeClient(specification, memory=path, lifetime_epsilon=1).randomize([0.3, 0.4], 1)
    with pytest.raises(ValueError, match="ceiling of epsilon 1, which is fixed"):
        TreeClient(other, memory=path, lifetime_epsilon=2)
    with pytest.raises(ValueError, match="ceiling of epsilon 1, which is fixed"):
        early.randomize([0.3, 0.4], 1)
    assert TreeClient(other, memory=path).lifetime_epsilon == 1


@pytest.mark.parametrize("ceiling", [0, -1, float("inf"), float("nan")])
def test_bad_ceilings(specification, ceiling):
    with pytest.raises(ValueError, match="lifetime_epsilon"):
        TreeClient(specification, lifetime_epsilon=ceiling)


def test_what_is_spent_is_written_before_the_report_leaves(specification, tmp_path, monkeypatch):
    client = TreeClient(specification, memory=tmp_path / "memory")
    monkeypatch.setattr(_client, "write_atomically", lambda *_, **__: 1 / 0)
    # What could not be written down is forgotten, and not handed out by a later call.
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            client.randomize([0.3, 0.4], 1)
        assert client.spent_epsilon == 0


def test_a_memory_that_is_gone_is_not_started_anew(specification, tmp_path):
    path = tmp_path / "memory"
    TreeClient(specification, memory=path).randomize([0.3, 0.4], 1)
    client = TreeClient(specification, memory=path)
    path.unlink()
    with pytest.raises(ValueError, match="gone"):
        client.randomize([0.3, 0.4], 1)
    assert not path.exists()


def _damages():
    yield "empty", lambda data: b""
    yield "cut", lambda data: data[:-5]
    yield "binary", lambda data: b"\xff" + data
    yield "a list", lambda data: b"[]"
    yield "another format", lambda data: data.replace(b"skprivate.client", b"skprivate.server")
    yield "a newer version", lambda data: data.replace(b'"version": 1', b'"version": 2')
    yield "less spent", lambda data: data.replace(b'"spent": "1/4"', b'"spent": "1/9"')
    yield "forgotten", lambda data: json.dumps(json.loads(data) | {"reports": {}}).encode()
    yield "a deep list", lambda data: b"[" * 100_000

    def resealed(**changes):
        def damage(data):
            state = json.loads(data) | changes
            del state["checksum"]
            return json.dumps(state | {"checksum": digest(state)}).encode()

        return damage

    yield "no amount", resealed(spent=0.25)
    yield "no reports", resealed(reports=[])
    yield "no text", resealed(reports={"a": 1})
    yield "no base64", resealed(reports={"a": "?"})


DAMAGES = dict(_damages())


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_memory_is_never_started_anew(specification, tmp_path, name):
    path = tmp_path / "memory"
    known = TreeClient(specification, memory=path)
    TreeClient(specification, memory=path).randomize([0.3, 0.4], 1)
    path.write_bytes(DAMAGES[name](path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(ValueError, match="damaged"):
        TreeClient(specification, memory=path)
    with pytest.raises(ValueError, match="damaged"):
        known.randomize([0.3, 0.4], 1)
    assert path.read_bytes() == before


def test_a_remembered_report_of_another_size_is_damage(specification, tmp_path):
    path = tmp_path / "memory"
    TreeClient(specification, memory=path).randomize([0.3, 0.4], 1)
    state = json.loads(path.read_bytes())
    state["reports"][specification.hash] = base64.b64encode(b"abc").decode()
    del state["checksum"]
    path.write_text(json.dumps(state | {"checksum": digest(state)}))
    with pytest.raises(ValueError, match="damaged"):
        TreeClient(specification, memory=path)


@pytest.mark.parametrize("with_file", [True, False])
def test_threads_get_one_report(specification, tmp_path, monkeypatch, with_file):
    memory = tmp_path / "memory" if with_file else None
    clients = [TreeClient(specification, memory=memory)] * 8
    if with_file:
        clients = [TreeClient(specification, memory=memory) for _ in range(8)]
    barrier, reports = threading.Barrier(8), []
    plain = specification.randomizer.randomize

    def slow(categories, entropy):
        # Long enough for the others to arrive.
        threading.Event().wait(0.02)
        return plain(categories, entropy)

    monkeypatch.setattr(specification.randomizer, "randomize", slow)

    def ask(client):
        barrier.wait()
        reports.append(client.randomize([0.3, 0.4], 1))

    threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 8
    assert len(set(reports)) == 1


def test_a_client_needs_numpy_only(specification, tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(specification.to_json())
    code = (
        "import sys; from skprivate.collection import TreeClient, TreeSpecification, ReportWriter;"
        f"c = TreeClient(TreeSpecification.from_json({str(path)!r}), memory={str(tmp_path / 'memory')!r});"
        "assert len(c.randomize([0.3, 0.4], 1)) == 2;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'scipy', 'joblib', 'pandas'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
