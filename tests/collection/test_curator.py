# SPDX-License-Identifier: BSD-3-Clause
"""A curator counts every report once, and releases the tree that `fit` would make of the same reports."""

import contextlib
import copy
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skprivate import LocallyPrivateTreeClassifier, PrivacyLedger
from skprivate.collection import ReportWriter, TreeCurator, _report_counter, _report_files
from skprivate.collection._external_counts import ExternalNoise
from skprivate.exceptions import PrivacyLeakError
from skprivate.noise import DiscreteLaplaceMechanism, zcdp_to_epsilon
from skprivate.preprocessing import estimate_bounds
from skprivate.utils._json_documents import digest, pack_integers, unpack_integers

N_PUBLIC, N_PRIVATE = 60, 400


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_PUBLIC + N_PRIVATE, 2))
    y = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.7)
    return X, y


def plan(mechanism="hadamard", **kwargs):
    return LocallyPrivateTreeClassifier(2.0, mechanism=mechanism, **{"max_depth": 3, **kwargs})


def make_curator(rows, tree=None, n_labels=2, **kwargs):
    X, y = rows
    return TreeCurator(
        plan() if tree is None else tree,
        X[:N_PUBLIC],
        np.minimum(y[:N_PUBLIC], n_labels - 1),
        n_clients=N_PRIVATE,
        **kwargs,
    )


def draw(curator, rows, n_labels=2, seed=0):
    X, y = rows[0][N_PUBLIC:], np.minimum(rows[1][N_PUBLIC:], n_labels - 1)
    categories = n_labels * curator.specification.partition.apply(X) + y
    return curator.specification.randomizer.randomize(categories, seed)


def write(path, curator, *batches):
    with ReportWriter(path, curator.specification) as writer:
        for batch in batches:
            writer.write(batch)
    return path


@pytest.fixture
def curator(rows):
    return make_curator(rows)


@pytest.fixture
def reports(curator, rows):
    return draw(curator, rows)


def counts(curator):
    return curator._state.counts


def same(first, second):
    return first.n_reports == second.n_reports and np.array_equal(counts(first), counts(second))


# What comes out


@pytest.mark.parametrize("rule", ["max-edge", "cart", "random"])
@pytest.mark.parametrize(
    ("mechanism", "n_labels"), [("hadamard", 2), ("krr", 2), ("subset", 2), ("krr", 3), ("subset", 3)]
)
def test_the_release_is_what_fit_makes_of_the_same_reports(rows, tmp_path, mechanism, n_labels, rule):
    X, y = rows[0], np.minimum(rows[1], n_labels - 1)
    tree = plan(mechanism, rule=rule)
    curator = make_curator(rows, tree, n_labels)
    reports = draw(curator, rows, n_labels, seed=3)
    for number, part in enumerate(np.array_split(reports, 3)):
        assert curator.update_file(write(tmp_path / f"{number}", curator, part))
    released = curator.release()
    fitted = tree.set_params(random_state=3).fit(X, y, is_public=np.arange(len(X)) < N_PUBLIC)
    np.testing.assert_array_equal(released.report_counts_, fitted.report_counts_)
    np.testing.assert_array_equal(released.leaf_proba_, fitted.leaf_proba_)
    np.testing.assert_array_equal(released.predict(X), fitted.predict(X))
    assert released.predict(X).dtype == fitted.predict(X).dtype
    assert vars(released).keys() == vars(fitted).keys()


# A fit draws the sum of these reports at once, and not each of them.
@pytest.mark.parametrize("mechanism", ["unary", "laplace", "signed-laplace"])
def test_reports_of_the_other_mechanisms_are_added(rows, tmp_path, mechanism):
    curator = make_curator(rows, plan(mechanism))
    reports = draw(curator, rows)
    curator.update_file(write(tmp_path / "reports", curator, reports))
    aggregate = curator.specification.randomizer.aggregate(reports)
    np.testing.assert_array_equal(curator.release().report_counts_, aggregate)


def test_labels_alone(rows):
    curator = make_curator(rows, plan("auto", protect="label"))
    curator.update(draw(curator, rows))
    spent = curator.release().privacy_spent_
    assert (spent.relation, spent.deployment, spent.claim) == ("label", "collected", "dp")


def test_the_automatic_depth_is_that_of_fit(rows):
    X, y = rows[0], np.minimum(rows[1], 1)
    public = np.arange(len(X)) < N_PUBLIC
    for epsilon in (0.5, 8.0):
        tree = LocallyPrivateTreeClassifier(epsilon)
        fitted = tree.fit(X, y, is_public=public)
        planned = make_curator(rows, LocallyPrivateTreeClassifier(epsilon))
        assert planned.specification.partition == fitted.partition_
        assert planned.specification.randomizer.specification == fitted.randomizer_.specification


def test_what_is_claimed(curator, reports):
    curator.update(reports)
    spent = curator.release().privacy_spent_
    assert (spent.deployment, spent.claim, spent.relation) == ("collected", "dp", "local")
    assert spent.epsilon == 2
    assert spent.noise_source == "os-entropy"
    assert spent.unprotected["reports"] == N_PRIVATE
    assert spent.unprotected["bounds"] == "those of the public rows"


def test_release_may_be_repeated_as_reports_come(curator, reports):
    with pytest.raises(ValueError, match="no reports yet"):
        curator.release()
    curator.update(reports[:100])
    first = curator.release()
    kept = first.report_counts_.copy()
    curator.update(reports[100:])
    assert curator.release().n_reports_ == N_PRIVATE
    assert first.n_reports_ == 100
    np.testing.assert_array_equal(first.report_counts_, kept)
    curator.release().report_counts_[:] = 0
    assert counts(curator).any()


def test_the_plan_is_not_touched(rows):
    tree = plan()
    before = tree.get_params()
    curator = make_curator(rows, tree)
    curator.update(draw(curator, rows))
    assert curator.release() is not tree
    assert vars(tree) == before
    tree.set_params(epsilon=5.0)
    assert curator.release().epsilon == 2.0


def test_clients_of_a_curator(curator, rows):
    for x in rows[0][N_PUBLIC : N_PUBLIC + 50]:
        curator.update(curator.client().randomize(x, int(x[0] > 0.5)))
    assert curator.n_reports == 50
    assert curator.client(lifetime_epsilon=9).lifetime_epsilon == 9
    assert np.abs(counts(curator)).sum() <= 50


# Planning is strict


@pytest.mark.parametrize(
    ("declared", "missing"),
    [({}, "bounds and classes"), ({"bounds": (0, 1)}, "classes"), ({"classes": [0, 1]}, "bounds")],
)
@pytest.mark.parametrize("protect", ["record", "label"])
def test_without_public_rows_everything_is_declared(declared, missing, protect):
    tree = LocallyPrivateTreeClassifier(protect=protect, **declared)
    with pytest.raises(PrivacyLeakError, match=f"rows {missing} must be declared"):
        TreeCurator(tree, n_clients=100, features=["a"])


@pytest.mark.parametrize(
    ("bounds", "features", "names"),
    [
        ((0, 1), ["a", "b"], ("a", "b")),
        (([0, 0], 1), None, ("x0", "x1")),
        (([0, 0], [1, 1]), ["a", "b"], ("a", "b")),
        ({"b": (0, 1), "a": (0, 2)}, None, ("b", "a")),
        ({"b": (0, 1), "a": (0, 2)}, ["a", "b"], ("a", "b")),
        ({0: (0, 1), 1: (0, 2)}, None, ("x0", "x1")),
    ],
)
def test_columns_without_public_rows(bounds, features, names):
    tree = LocallyPrivateTreeClassifier(bounds=bounds, classes=["n", "y"], max_depth=2)
    curator = TreeCurator(tree, n_clients=100, features=features)
    assert curator.specification.features == names
    assert curator.specification.classes == ("n", "y")
    curator.update(curator.client().randomize(dict.fromkeys(names, 0.3), "y"))
    released = TreeCurator.from_bytes(curator.to_bytes()).release()
    assert released.n_features_in_ == 2
    assert hasattr(released, "feature_names_in_") == (names[0] != "x0")
    assert released.rule_ == "random"


def test_bounds_that_do_not_tell_the_columns():
    tree = LocallyPrivateTreeClassifier(bounds=(0, 1), classes=[0, 1])
    with pytest.raises(ValueError, match="features must name the columns"):
        TreeCurator(tree, n_clients=100)


def test_names_of_the_columns(rows):
    X = pd.DataFrame(rows[0][:N_PUBLIC], columns=["a", "b"])
    y = rows[1][:N_PUBLIC]
    curator = TreeCurator(plan("krr"), X, y, n_clients=100, label="sick")
    assert curator.specification.features == ("a", "b")
    assert curator.specification.label == "sick"
    curator.update(curator.client().randomize({"b": 0.1, "a": 0.2}, 0))
    assert list(curator.release().feature_names_in_) == ["a", "b"]
    assert make_curator(rows).specification.features == ("x0", "x1")
    assert make_curator(rows, features=["c", "d"]).specification.features == ("c", "d")
    with pytest.raises(ValueError, match="columns of X in their order: a, b"):
        TreeCurator(plan("krr"), X, y, n_clients=100, features=["b", "a"])
    with pytest.raises(ValueError, match="3 names, but X has 2"):
        make_curator(rows, features=["a", "b", "c"])
    with pytest.raises(ValueError, match="different names"):
        make_curator(rows, features=["a", "label"])


def test_bad_plans(rows, tmp_path):
    for wrong in (None, LocallyPrivateTreeClassifier, "tree"):
        with pytest.raises(TypeError, match="tree must be"):
            TreeCurator(wrong, n_clients=100)
    with pytest.raises(ValueError, match="random_state must be None"):
        make_curator(rows, plan(random_state=0))
    with pytest.raises(ValueError, match="ledger must be None"):
        make_curator(rows, plan(ledger=PrivacyLedger(tmp_path / "ledger")))
    with pytest.raises(ValueError, match="max_depth"):
        make_curator(rows, plan(max_depth=0))
    with pytest.raises(ValueError, match="max_rows_per_group must be 1"):
        make_curator(rows, plan(max_rows_per_group=2))
    with pytest.raises(ValueError, match="epsilon"):
        make_curator(rows, LocallyPrivateTreeClassifier(-1.0))
    with pytest.raises(ValueError, match="belong together"):
        TreeCurator(plan(), rows[0][:10], n_clients=100)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="n_clients must be at least 1"):
            TreeCurator(plan(), *rows, n_clients=wrong)
    with pytest.raises(TypeError, match="n_clients must be an int"):
        TreeCurator(plan(), *rows, n_clients=1.5)


# Counting


def test_forms_of_reports(rows, curator, reports):
    specification = curator.specification
    data = specification.pack(reports)
    singles = [specification.pack(reports[i : i + 1]) for i in range(len(reports))]
    forms = [reports, data, bytearray(data), memoryview(data), singles, iter(singles), tuple(singles)]
    forms += [pd.Series(singles), [data], (piece for piece in (data[:20], data[20:]))]
    for form in forms:
        other = make_curator(rows)
        other.update(form)
        np.testing.assert_array_equal(counts(other), specification.randomizer.aggregate(reports))
        assert other.n_reports == N_PRIVATE


def test_many_small_reports_are_added_in_pieces(curator, reports, monkeypatch):
    monkeypatch.setattr(_report_counter, "_BYTES_AT_ONCE", 10)
    curator.update([curator.specification.pack(reports[i : i + 1]) for i in range(N_PRIVATE)])
    np.testing.assert_array_equal(counts(curator), curator.specification.randomizer.aggregate(reports))
    assert curator.n_reports == N_PRIVATE


@pytest.mark.parametrize(
    "bad",
    [
        b"x",
        [b"xx", b"x"],
        [b"x", b"x"],
        "text",
        [1],
        5,
        None,
        {b"xx": 1},
        np.zeros(3),
        np.zeros((3, 1), "<u2"),
    ],
)
def test_a_bad_update_counts_nothing(curator, reports, bad):
    curator.update(reports)
    before = curator.to_bytes()
    with pytest.raises((TypeError, ValueError)):
        curator.update(bad)
    assert curator.to_bytes() == before


def test_a_forged_report_among_others_counts_nothing(rows):
    curator = make_curator(rows, plan("subset"))
    good = draw(curator, rows)
    curator.update(good)
    before = curator.to_bytes()
    # Every bit set: a vote for everybody.
    with pytest.raises(ValueError, match="report"):
        curator.update([curator.specification.pack(good), b"\xff" * good[0].nbytes])
    assert curator.to_bytes() == before


def test_reports_without_a_file_have_one_id(curator, reports):
    for part in np.array_split(reports, 5):
        curator.update(part)
    ((batch, numbers),) = curator.history.items()
    assert numbers == (N_PRIVATE, N_PRIVATE)
    assert len(bytes.fromhex(batch)) == 16
    # Two copies that each go on must not look alike: equal counts of one id are the same reports.
    again = TreeCurator.from_bytes(curator.to_bytes())
    again.update(reports)
    assert again.history[batch] == numbers
    assert list(again.history.values()) == [numbers, numbers]


def test_nothing_is_nothing(curator):
    before = curator.to_bytes()
    for empty in (b"", [], np.zeros(0, "u2")):
        curator.update(empty)
    assert curator.to_bytes() == before
    assert curator.history == {}


def test_sums_never_wrap_around(rows):
    curator = make_curator(rows, plan("laplace"))
    randomizer = curator.specification.randomizer
    huge = np.full((1, *randomizer.report_shape), 2**61, dtype=randomizer.report_dtype)
    for _ in range(3):
        curator.update(huge)
    before = curator.to_bytes()
    with pytest.raises(ValueError, match=r"pass 2\^63"):
        curator.update(huge)
    assert curator.to_bytes() == before


# Files


def test_a_batch_counts_once(curator, reports, tmp_path):
    path = write(tmp_path / "reports.bin", curator, reports)
    assert curator.update_file(path) is True
    before = curator.to_bytes()
    assert curator.update_file(path) is False
    os.rename(path, tmp_path / "renamed.bin")
    assert curator.update_file(str(tmp_path / "renamed.bin")) is False
    assert curator.to_bytes() == before
    assert list(curator.history.values()) == [(N_PRIVATE, N_PRIVATE)]


def test_an_empty_file_is_remembered(curator, tmp_path):
    path = write(tmp_path / "reports.bin", curator)
    assert curator.update_file(path) is True
    assert curator.update_file(path) is False


def test_progress_and_checkpoints(curator, reports, tmp_path, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 256)
    monkeypatch.setattr(_report_counter, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    path, state, seen = write(tmp_path / "reports.bin", curator, reports), tmp_path / "state", []

    def progress(counted, total):
        saved = TreeCurator.from_bytes(state.read_bytes()).n_reports if state.exists() else 0
        seen.append((counted, total, saved))

    curator.update_file(path, progress, checkpoint=state)
    assert seen == [(128, 400, 0), (256, 400, 128), (384, 400, 256), (400, 400, 384)]
    assert state.read_bytes() == curator.to_bytes()


@pytest.mark.parametrize("where", [0, 1, 2])
def test_it_goes_on_from_a_checkpoint(rows, curator, reports, tmp_path, monkeypatch, where):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 256)
    path, states = write(tmp_path / "reports.bin", curator, reports), []
    curator.update_file(path, lambda *_: states.append(curator.to_bytes()))
    again = TreeCurator.from_bytes(states[where])
    assert again.n_reports == 128 * (where + 1)
    assert again.update_file(path) is True
    assert again.update_file(path) is False
    assert again.to_bytes() == curator.to_bytes()


def test_what_was_counted_before_a_bad_file_stays(curator, reports, tmp_path):
    good = write(tmp_path / "good.bin", curator, reports[:100])
    bad = write(tmp_path / "bad.bin", curator, reports[100:])
    os.truncate(bad, 72 + 33)
    curator.update_file(good)
    before = curator.to_bytes()
    with pytest.raises(
        ValueError, match=r"bad\.bin, byte 105: the file ends here, but should have 672 bytes"
    ):
        curator.update_file(bad)
    assert curator.to_bytes() == before


def test_an_impossible_report_in_a_file(rows, curator, reports, tmp_path, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 256)
    path = write(tmp_path / "reports.bin", curator, reports)
    data = bytearray(path.read_bytes())
    data[72 + 2 * 200 + 1] = 255
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"reports\.bin, byte {72 + 256}: from here on: a report lies"):
        curator.update_file(path)
    np.testing.assert_array_equal(counts(curator), curator.specification.randomizer.aggregate(reports[:128]))
    assert curator.n_reports == 128
    # The file repaired, it goes on where it stopped.
    data[72 + 2 * 200 : 72 + 2 * 201] = reports[200:201].tobytes()
    path.write_bytes(data)
    curator.update_file(path)
    np.testing.assert_array_equal(counts(curator), curator.specification.randomizer.aggregate(reports))


def test_a_batch_id_with_another_length(curator, reports, tmp_path):
    path = write(tmp_path / "reports.bin", curator, reports)
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


def test_a_killed_curator_loses_nothing_and_counts_nothing_twice(rows, curator, reports, tmp_path):
    state = tmp_path / "state"
    path = write(tmp_path / "reports.bin", curator, reports)
    state.write_bytes(curator.to_bytes())
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(state), str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "128\n"
        assert process.stdout.readline() == "256\n"
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    resumed = TreeCurator.from_bytes(state.read_bytes())
    assert resumed.n_reports == 128  # the second piece was counted, but not saved
    resumed.update_file(path)
    curator.update_file(path)
    assert resumed.to_bytes() == curator.to_bytes()
    assert resumed.n_reports == N_PRIVATE


# Merging


def test_two_merged_curators_equal_one(rows, reports, tmp_path):
    one, left, right = (make_curator(rows) for _ in range(3))
    for number, part in enumerate(np.array_split(reports, 4)):
        path = write(tmp_path / f"{number}", one, part)
        one.update_file(path)
        (left, right)[number % 2].update_file(path)
    before = right.to_bytes()
    left.merge(right)
    assert same(left, one)
    assert left.history == one.history
    assert right.to_bytes() == before
    np.testing.assert_array_equal(left.release().leaf_proba_, one.release().leaf_proba_)


def test_a_merge_never_counts_twice(rows, reports, tmp_path):
    left, right = make_curator(rows), make_curator(rows)
    shared = write(tmp_path / "shared", left, reports[:100])
    for curator in (left, right):
        curator.update_file(shared)
        curator.update(reports[100:])
    before = left.to_bytes()
    with pytest.raises(ValueError, match="would count reports twice"):
        left.merge(right)
    with pytest.raises(ValueError, match="would count reports twice"):
        left.merge(left)
    assert left.to_bytes() == before


def test_copies_of_an_empty_curator_can_be_merged(curator, reports):
    workers = [TreeCurator.from_bytes(curator.to_bytes()) for _ in range(2)]
    workers[0].update(reports[:150])
    workers[1].update(reports[150:])
    curator.merge(workers[0])
    curator.merge(workers[1])
    np.testing.assert_array_equal(counts(curator), curator.specification.randomizer.aggregate(reports))
    for worker in workers:
        with pytest.raises(ValueError, match="twice"):
            curator.merge(worker)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda c: TreeCurator.from_bytes(c.to_bytes())])
def test_copies_that_share_counts_cannot_be_merged(curator, reports, copier):
    curator.update(reports[:150])
    other = copier(curator)
    other.update(reports[150:])
    assert curator.n_reports == 150
    with pytest.raises(ValueError, match="twice"):
        curator.merge(other)
    with pytest.raises(ValueError, match="twice"):
        other.merge(curator)


def test_only_one_specification_is_merged(rows, reports):
    curator, other = make_curator(rows), make_curator(rows, plan(max_depth=2))
    curator.update(reports)
    with pytest.raises(ValueError, match="different specifications"):
        other.merge(curator)
    with pytest.raises(TypeError, match="must be a TreeCurator"):
        other.merge(curator.to_bytes())
    assert other.n_reports == 0


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_split_gives_the_same_counts(data, rows, reports, tmp_path_factory):
    """Files, updates, repeated files, interruptions and merges in any order."""
    folder = tmp_path_factory.mktemp("split")
    workers = [make_curator(rows) for _ in range(data.draw(st.integers(1, 3)))]
    cuts = sorted(data.draw(st.lists(st.integers(0, N_PRIVATE), max_size=6)))
    parts = np.split(reports, cuts)
    order = data.draw(st.permutations(range(len(parts))))
    for number in order:
        which = data.draw(st.integers(0, len(workers) - 1))
        worker, part = workers[which], parts[number]
        how = data.draw(st.sampled_from(["update", "file", "interrupted"]))
        if how == "update":
            worker.update(worker.specification.pack(part))
            continue
        path = write(folder / f"{number}", worker, part)
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
    np.testing.assert_array_equal(counts(workers[0]), workers[0].specification.randomizer.aggregate(reports))
    assert workers[0].n_reports == N_PRIVATE


# Saving


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"epsilon": Fraction(1, 3), "max_depth": "auto", "prune": True},
        {"bounds": (np.array([0, 0.5]), np.float64(1.0)), "classes": np.array([0, 1])},
        {"bounds": {0: (0, 1), 1: [0, 2]}, "classes": (0, 1), "public_weight": 0.5},
        {
            "mechanism": "auto",
            "protect": "label",
            "rule": "cart",
            "criterion": "entropy",
            "min_samples_leaf": 2,
        },
    ],
)
def test_bytes_restore_the_curator(rows, parameters):
    tree = plan().set_params(**parameters)
    curator = make_curator(rows, tree)
    assert TreeCurator.from_bytes(curator.to_bytes()).to_bytes() == curator.to_bytes()
    curator.update(draw(curator, rows))
    again = TreeCurator.from_bytes(curator.to_bytes())
    assert again.to_bytes() == curator.to_bytes()
    assert again.specification == curator.specification
    mine, theirs = curator.release(), again.release()
    np.testing.assert_array_equal(mine.leaf_proba_, theirs.leaf_proba_)
    np.testing.assert_array_equal(mine.bounds_, theirs.bounds_)
    assert mine.classes_.dtype == theirs.classes_.dtype
    assert mine.privacy_spent_ == theirs.privacy_spent_
    assert vars(mine).keys() == vars(theirs).keys()
    assert mine.epsilon == theirs.epsilon
    assert isinstance(again.to_bytes(), bytes)


@pytest.mark.parametrize("classes", [["a", "b"], [False, True], [0.0, 2.0], [-1, 1]])
def test_labels_of_every_type_survive(rows, classes):
    X, y = rows[0][:N_PUBLIC], np.array(classes)[np.minimum(rows[1][:N_PUBLIC], 1)]
    curator = TreeCurator(plan(), X, y, n_clients=10)
    curator.update(curator.client().randomize([0.1, 0.2], classes[1]))
    again = TreeCurator.from_bytes(curator.to_bytes()).release()
    assert again.classes_.tolist() == classes
    assert again.classes_.dtype == curator.release().classes_.dtype


def test_a_state_shows_reports_only(curator, rows, reports):
    curator.update(reports)
    state = json.loads(curator.to_bytes())
    assert set(state) == {
        *("format", "version", "specification", "tree", "rule", "bounds", "named", "public_counts"),
        *("counts", "history", "stream", "public", "first", "checksum"),
    }


def _resealed(data, **changes):
    state = json.loads(data) | changes
    del state["checksum"]
    return json.dumps(state | {"checksum": digest(state)}).encode()


def _replanned(data, **changes):
    return _resealed(data, tree=json.loads(data)["tree"] | changes)


DAMAGES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-9],
    "binary": lambda data: b"\x80" + data,
    "pickle": lambda data: b"cos\nsystem\n(S'true'\ntR.",
    "deep": lambda data: b"[" * 100_000,
    "a number": lambda data: b"1",
    "foreign": lambda data: data.replace(b"skprivate.curator", b"skprivate.other"),
    "newer": lambda data: data.replace(b'"version": 4', b'"version": 5', 1),
    "older": lambda data: data.replace(b'"version": 4', b'"version": 3', 1),
    "changed": lambda data: data.replace(b'"named": false', b'"named": true'),
    "a field more": lambda data: _resealed(data, more=1),
    "counts too short": lambda data: _resealed(data, counts="AAAAAAAAAAA="),
    "no counts": lambda data: _resealed(data, counts=None),
    "no base64": lambda data: _resealed(data, counts="????"),
    "public counts": lambda data: _resealed(data, public_counts=""),
    "history": lambda data: _resealed(data, history={"a": [2, 1]}),
    "history of texts": lambda data: _resealed(data, history={"a": ["1", "1"]}),
    "history as list": lambda data: _resealed(data, history=[]),
    "stream": lambda data: _resealed(data, stream="unknown"),
    "specification": lambda data: _resealed(data, specification="/etc/passwd"),
    "parameters": lambda data: _resealed(data, tree={"unknown": 1}),
    "another epsilon": lambda data: _resealed(data, tree={"epsilon": -1}),
    "bounds": lambda data: _resealed(data, bounds=[0]),
    "bounds beyond floats": lambda data: _resealed(data, bounds=[[10**400] * 2, [1, 1]]),
    "bounds of another box": lambda data: _resealed(data, bounds=[[-9, -9], [9, 9]]),
    "an impossible history": lambda data: _resealed(data, history={"a": [2**70, 2**70]}, stream=None),
    "a smaller epsilon": lambda data: _replanned(data, epsilon=1e-3),
    "less protection": lambda data: _replanned(data, protect="label", mechanism="auto"),
    "rule": lambda data: _resealed(data, rule="mine"),
    "negative public counts": lambda data: _resealed(
        data, public_counts=pack_integers(-unpack_integers(json.loads(data)["public_counts"], (-1,)))
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_states_are_refused(curator, reports, name):
    curator.update(reports)
    with pytest.raises(ValueError, match="no state of a curator"):
        TreeCurator.from_bytes(DAMAGES[name](curator.to_bytes()))


# Counts from elsewhere

SERVICE = {"mechanism": "discrete-laplace", "epsilon": 1, "relation": "add-remove"}


def exact_counts(curator, rows, n_labels):
    X, y = rows[0][N_PUBLIC:], np.minimum(rows[1][N_PUBLIC:], n_labels - 1)
    leaves = curator.specification.partition.apply(X)
    table = np.zeros((curator.specification.partition.n_leaves, n_labels), dtype=np.int64)
    np.add.at(table, (leaves, y), 1)
    return table


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", [int, float])
def test_counts_of_a_service(rows, n_labels, kind):
    curator = make_curator(rows, plan("krr", public_weight=0.0), n_labels)
    table = exact_counts(curator, rows, n_labels).astype(kind)
    finished = curator.from_counts(table, mechanism="laplace", noise_variance=2.0, relation="add-remove")
    tree = finished.release()
    spent = tree.privacy_spent_
    assert (spent.relation, spent.deployment, spent.claim) == ("add-remove", "collected", "dp")
    assert 1 < spent.epsilon < 1 + 1e-9
    assert spent.public_inputs == ("public rows with their labels",)
    assert N_PRIVATE not in spent.unprotected.values()
    assert finished.n_reports == tree.n_reports_ == N_PRIVATE
    filled = table.sum(axis=1) > 0
    np.testing.assert_array_equal(
        np.argmax(tree.leaf_proba_, axis=1)[filled], np.argmax(table, axis=1)[filled]
    )
    np.testing.assert_array_equal(tree.randomizer_.variance(5), 4.0)
    np.testing.assert_array_equal(tree.randomizer_.estimate_cells(table, 1), table.sum(axis=1))
    assert tree.mechanism_ == "external"
    assert curator.n_reports == 0
    assert tree.repruned(public_weight=1.0).predict([[0.5, 0.5]]).shape == (1,)


@pytest.mark.parametrize("variance", [0.01, 1e9, 1e15, 4e15, 1e20, 1e299])
def test_epsilon_of_a_service_with_large_noise_is_not_rounded_down(variance):
    noise = ExternalNoise.of("discrete-laplace", None, variance)
    # The variance is 1 / (2 sinh(r / 2)^2) where epsilon is 2 r; the series is exact in fractions.
    half = noise.epsilon / 4
    sinh = sum(half ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(20))
    assert 1 <= 2 * sinh**2 * Fraction(variance) < 1 + 1e-10


@pytest.mark.parametrize(
    "known", [{"epsilon": 1e-170}, {"noise_variance": Fraction(1, 10**400)}, {"noise_variance": 5e-324}]
)
@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace"])
def test_noise_of_a_service_that_doubles_cannot_hold(mechanism, known):
    with pytest.raises(ValueError, match="in doubles"):
        ExternalNoise.of(mechanism, **known)


def test_counts_of_a_service_may_be_fractions(rows):
    curator = make_curator(rows)
    table = exact_counts(curator, rows, 2) + 0.25
    tree = curator.from_counts(table, mechanism="laplace", epsilon=2).release()
    np.testing.assert_array_equal(tree.report_counts_, table)
    with pytest.raises(ValueError, match="whole numbers"):
        curator.from_counts(table, mechanism="discrete-laplace", epsilon=2)


@pytest.mark.parametrize("prune", [False, True, "paper"])
def test_almost_exact_counts_of_a_service(rows, prune):
    curator = make_curator(rows, plan("krr", public_weight=0.0, prune=prune))
    table = exact_counts(curator, rows, 2)
    # As good as none.
    tree = curator.from_counts(table, mechanism="laplace", epsilon=1e6).release()
    assert tree.leaf_proba_.min() >= 0
    if prune is not True:
        return
    # Nothing is noisy, so a leaf with a clear majority is judged by itself.
    clear = np.abs(table[:, 1] - table[:, 0]) > 10
    assert clear.any()
    np.testing.assert_array_equal(tree.leaf_proba_.argmax(axis=1)[clear], table.argmax(axis=1)[clear])


def test_a_finished_sum_takes_no_reports(rows, curator, reports, tmp_path):
    path = write(tmp_path / "reports.bin", curator, reports)
    curator.update(reports[:10])
    finished = curator.from_counts(exact_counts(curator, rows, 2), **SERVICE)
    for operation in (
        lambda: finished.update(reports),
        lambda: finished.update_file(path),
        lambda: finished.merge(curator),
        lambda: curator.merge(finished),
        finished.to_bytes,
    ):
        with pytest.raises(ValueError, match="only release it"):
            operation()


@pytest.mark.parametrize(
    "bad",
    [
        *(np.zeros((8, 3)), np.zeros(8), np.zeros((8, 2)), np.full((8, 2), np.nan), [["a", "b"]] * 8),
        *(np.full((8, 2), 1e300), np.full((8, 2), 2**64 - 1, dtype=np.uint64)),
    ],
)
def test_bad_counts(curator, bad):
    with pytest.raises(ValueError, match="counts must be"):
        curator.from_counts(bad, **SERVICE)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        # As it was before: a statement of epsilon 1/1000 over noise of variance 2.
        ({"mechanism": "laplace", "epsilon": 0.001, "noise_variance": 2.0}, ValueError, "contradict"),
        ({"mechanism": "discrete-laplace", "epsilon": 1, "noise_variance": 2.0}, ValueError, "contradict"),
        (
            {"mechanism": "gaussian", "epsilon": 1, "noise_variance": 4, "delta": 1e-6},
            ValueError,
            "contradict",
        ),
        ({"mechanism": "gaussian", "epsilon": 1, "delta": 1e-6}, TypeError, "noise_variance and delta"),
        ({"mechanism": "gaussian", "noise_variance": 4}, TypeError, "noise_variance and delta"),
        ({"mechanism": "laplace"}, TypeError, "epsilon or noise_variance"),
        ({"mechanism": "laplace", "epsilon": 1, "delta": 1e-6}, ValueError, "delta must be 0"),
        ({"mechanism": "laplace", "epsilon": 1e200}, ValueError, "beyond what counts"),
        ({"mechanism": "laplace", "epsilon": 1, "relation": "local"}, ValueError, "relation must be one of"),
        ({"mechanism": "geometric", "epsilon": 1}, ValueError, "mechanism must be one of"),
        ({"mechanism": "laplace", "epsilon": 1, "max_rows_per_unit": 0}, ValueError, "max_rows_per_unit"),
        *(
            ({"mechanism": "laplace", "noise_variance": variance}, ValueError, "noise_variance")
            for variance in (-1, 0, float("inf"), float("nan"))
        ),
    ],
)
def test_bad_declarations(curator, parameters, error, match):
    table = np.ones((curator.specification.partition.n_leaves, 2))
    with pytest.raises(error, match=match):
        curator.from_counts(table, **parameters)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows_per_unit", [None, 3])
@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace", "gaussian"])
def test_epsilon_and_variance_of_a_service_follow_from_one_another(
    curator, relation, rows_per_unit, mechanism
):
    table = np.full((curator.specification.partition.n_leaves, 2), 5)
    units = {"relation": relation, "max_rows_per_unit": rows_per_unit}
    l1 = (2 if relation == "replace-one" else 1) * (rows_per_unit or 1)
    if mechanism == "gaussian":
        squared = (2 if relation == "replace-one" else 1) * (rows_per_unit or 1) ** 2
        given, delta = {"noise_variance": 18.0, "delta": 1e-6}, Fraction(1e-6)
        epsilon = zcdp_to_epsilon(Fraction(squared, 36), 1e-6)
    else:
        own = DiscreteLaplaceMechanism(Fraction(1, 2), sensitivity=l1)
        variance = own.variance if mechanism == "discrete-laplace" else 2.0 * (2 * l1) ** 2
        given, delta, epsilon = {"noise_variance": variance}, 0, Fraction(1, 2)
    for both in (given, {**given, "epsilon": epsilon}):
        spent = curator.from_counts(table, mechanism=mechanism, **both, **units).release().privacy_spent_
        assert epsilon <= spent.epsilon < epsilon * (1 + Fraction(1, 10**9))
        assert (spent.delta, spent.relation) == (delta, relation)
        assert (spent.unit, spent.max_rows_per_unit) == (("group", 3) if rows_per_unit else ("row", 1))


def test_estimated_bounds_of_a_plan_survive_a_saved_state(rows):
    bounds = estimate_bounds(rows[0], 0.5, random_state=0)
    curator = make_curator(rows, plan(bounds=bounds))
    curator.update(draw(curator, rows))
    for one in (curator, TreeCurator.from_bytes(curator.to_bytes())):
        spent = one.release().privacy_spent_
        assert spent.claim == "not-private"
        assert "bounds (estimated for epsilon = 0.5, charged separately)" in spent.public_inputs


# Threads


@pytest.mark.parametrize("how", ["update", "update_file", "merge"])
def test_threads_lose_no_report(curator, reports, tmp_path, monkeypatch, how):
    halves = reports[:200], reports[200:]
    files = [write(tmp_path / f"{number}", curator, half) for number, half in enumerate(halves)]
    others = [copy.copy(curator) for _ in halves]
    for other, half in zip(others, halves, strict=True):
        other.update(half)
    expected = curator.specification.randomizer.aggregate(reports)
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
    assert curator.n_reports == len(reports)
    np.testing.assert_array_equal(counts(curator), expected)


def test_a_thread_that_saves_puts_no_older_state_in_place(curator, reports, tmp_path, monkeypatch):
    save, started = _report_counter.Checkpoint.save, threading.Event()

    def save_slowly(self, state):
        if not started.is_set():
            started.set()
            time.sleep(0.05)
        save(self, state)

    monkeypatch.setattr(_report_counter.Checkpoint, "save", save_slowly)
    path = tmp_path / "state"
    with curator, ThreadPoolExecutor(1) as pool:
        curator.update(reports[:200])
        older = pool.submit(curator.save, path)
        started.wait(60)
        curator.update(reports[200:])
        curator.save(path)
        older.result()
    assert TreeCurator.from_bytes(path.read_bytes()).n_reports == len(reports)


def test_a_file_that_is_added_while_it_is_added_is_counted_once(curator, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 64)
    path, once = write(tmp_path / "one.bin", curator, draw(curator, rows)), copy.copy(curator)
    once.update_file(path)

    def add_again(counted, total):
        if counted < total:
            curator.update_file(path)

    with pytest.raises(ValueError, match="counted by another call meanwhile"):
        curator.update_file(path, progress=add_again)
    assert curator.history == once.history
    assert np.array_equal(counts(curator), counts(once))


@pytest.mark.process
def test_a_fork_counts_under_an_id_of_its_own(curator, reports, tmp_path):
    curator.update(reports[:5])
    folder = tmp_path / "states"
    folder.mkdir()
    child = os.fork()
    if not child:
        curator.update(reports[5:9])
        (folder / "child").write_bytes(curator.to_bytes())
        os._exit(0)
    os.waitpid(child, 0)
    curator.update(reports[5:7])
    forked = TreeCurator.from_bytes((folder / "child").read_bytes())
    assert len(forked.history) == 2
    assert set(curator.history) < set(forked.history)
    with pytest.raises(ValueError, match="count reports twice"):
        curator.merge(forked)
