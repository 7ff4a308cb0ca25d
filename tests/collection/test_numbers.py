# SPDX-License-Identifier: BSD-3-Clause
"""Collections of numbers: specification, clients that round at random, files, curators, regression trees."""

import json
import re
from fractions import Fraction

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chi2
from sklearn.ensemble import RandomForestRegressor

from skprivate import LocallyPrivateTreeRegressor, TableDomain
from skprivate.collection import ReportWriter, SplitCurator, TreeClient, TreeCurator, TreeSpecification
from skprivate.collection import _specification as specifications
from skprivate.collection._commands import main
from skprivate.collection._questions import NumberTarget
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError
from skprivate.partition import Partition
from skprivate.randomizers import HadamardRandomizer, KRRRandomizer, LabelRandomizer
from skprivate.utils._json_documents import digest, pack_integers

SECRET = 4711.0815
ROOT = Partition.from_splits([-1], [], [0.0, 0.0], [1.0, 1.0])
NAMES = ["a", "b"]


def make_rows(n, n_columns=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, n_columns))
    return X, 10 * (X[:, 0] > 0.4) + rng.normal(size=n)


def plan(**options):
    return LocallyPrivateTreeRegressor(3.0, **{"bounds_X": (0, 1), "bounds_y": (-5, 15), **options})


def make_curator(n_public=200, **options):
    X, y = make_rows(n_public, seed=1)
    return TreeCurator(plan(**options), X, y, n_clients=3000, features=NAMES, label="cost")


def make_specification(randomizer, bounds_y=(0.0, 10.0)):
    return TreeSpecification(ROOT, randomizer, features=NAMES, label="cost", bounds_y=bounds_y)


@pytest.fixture
def specification():
    return make_specification(KRRRandomizer(1.0, 1, 5))


def draw(specification, *args, seed=20, **options):
    return np.concatenate(list(specification.randomize_many(*args, random_state=seed, **options)))


def named(rows):
    return pd.DataFrame(rows, columns=NAMES)


# From the specification to the tree


@pytest.mark.parametrize("protect", ["record", "label"])
def test_from_the_specification_to_the_tree(tmp_path, protect):
    curator = make_curator(protect=protect)
    (tmp_path / "study.json").write_text(curator.specification.to_json())
    specification = TreeSpecification.from_json(tmp_path / "study.json")
    assert specification == curator.specification
    X, y = make_rows(3000)
    with ReportWriter(tmp_path / "phones.bin", specification) as writer:
        for row, cost in zip(X[:300], y[:300], strict=True):
            writer.write(TreeClient(specification, protect=protect).randomize(row, cost))
    with ReportWriter(tmp_path / "fleet.bin", specification) as writer:
        for reports in specification.randomize_many(X[300:], y[300:], protect=protect, random_state=9):
            writer.write(reports)
    other = TreeCurator.from_bytes(curator.to_bytes())
    assert curator.update_file(tmp_path / "phones.bin", checkpoint=tmp_path / "study.state")
    assert other.update_file(tmp_path / "fleet.bin")
    curator.close()
    with TreeCurator.from_file(tmp_path / "study.state") as again:
        again.merge(other)
        again.save(tmp_path / "study.state")
        tree = again.release()
    assert isinstance(tree, LocallyPrivateTreeRegressor)
    assert tree.n_reports_ == 3000
    assert tree.bounds_y_ == (-5.0, 15.0)
    spent = tree.privacy_spent_
    relation = "local" if protect == "record" else "label"
    assert (spent.deployment, spent.epsilon, spent.claim) == ("collected", 3, "dp")
    assert spent.relation == relation
    # Of 19 units of variance 18 are between the two halves: without reports the score would be 0.
    assert tree.score(named(X), y) > 0.7
    state = (tmp_path / "study.state").read_bytes()
    assert TreeCurator.from_bytes(state).to_bytes() == state


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mechanism": "krr"},
        {"mechanism": "hadamard"},
        {"mechanism": "unary"},
        {"protect": "label"},
        {"public_weight": 0.5, "rule": "max-edge"},
    ],
)
def test_the_release_is_what_fit_makes_of_the_same_reports(options):
    X, y = make_rows(3200)
    is_public = np.arange(3200) < 200
    curator = TreeCurator(plan(**options), X[:200], y[:200], n_clients=3000)
    fitted = plan(**options, random_state=11).fit(X, y, is_public=is_public)
    assert fitted.randomizer_.to_dict() == curator.specification.randomizer.to_dict()
    curator._state = curator._state.with_counts(fitted.report_counts_, {"00": (3000, 3000)})
    again = TreeCurator.from_bytes(curator.to_bytes())
    for tree in (curator.release(), again.release()):
        np.testing.assert_array_equal(tree.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(tree.leaf_errors_, fitted.leaf_errors_)
        np.testing.assert_array_equal(tree.leaf_intervals(), fitted.leaf_intervals())
        np.testing.assert_array_equal(tree.public_counts_, fitted.public_counts_)
        np.testing.assert_array_equal(tree.public_weight_, fitted.public_weight_)


def test_a_public_model_stays_and_its_leaves_are_saved():
    model = RandomForestRegressor(30, random_state=0)
    curator = make_curator(public_model=model)
    X, y = make_rows(3000)
    curator.update(curator.specification.randomize_many(X, y, random_state=9))
    again = TreeCurator.from_bytes(curator.to_bytes())
    tree, restored = curator.release(), again.release()
    np.testing.assert_array_equal(tree.leaf_values_, restored.leaf_values_)
    assert tree.score(named(X), y) > 0.9
    assert restored.score(named(X), y) > 0.8
    assert again.to_bytes() == curator.to_bytes()


def test_without_public_rows_everything_is_declared():
    for missing in ("bounds_X", "bounds_y"):
        with pytest.raises(PrivacyLeakError, match=f"without public rows {missing} must be declared"):
            TreeCurator(plan(**{missing: None}, split_share=0), n_clients=100, features=NAMES)
    curator = TreeCurator(plan(split_share=0, max_depth=2), n_clients=100, features=NAMES)
    assert curator.specification.bounds_y == (-5.0, 15.0)
    assert TreeCurator.from_bytes(curator.to_bytes()).specification == curator.specification


def test_bounds_of_public_rows():
    X, y = make_rows(200)
    curator = TreeCurator(plan(bounds_y=None), X, y, n_clients=100)
    assert curator.specification.bounds_y == (y.min(), y.max())


@pytest.mark.parametrize(
    ("y", "match"),
    [(["many"] * 50, "y holds text"), ([np.nan] * 50, "NaN"), (np.ones((50, 2)), "1d array")],
)
def test_public_targets_that_are_no_numbers(y, match):
    with pytest.raises(ValueError, match=match):
        TreeCurator(plan(), make_rows(50)[0], y, n_clients=100)


def test_external_counts_are_of_labels():
    curator = make_curator()
    with pytest.raises(ValueError, match="asks for a number"):
        curator.from_counts(np.ones((4, 2)), mechanism="laplace", epsilon=1.0)


# Two phases


@pytest.fixture(scope="module")
def phases():
    X, y = make_rows(9000, 3)
    first = SplitCurator(plan(bounds_X=([0, 0, 0], [1, 1, 1]), split_share=0.6), n_clients=9000)
    first.update(first.specification.randomize_many(X[:5400], y[:5400], random_state=5))
    return X, y, first


def test_two_phases_make_a_tree(phases):
    X, y, first = phases
    assert first.specification.randomizer.n_labels == 2
    second = SplitCurator.from_bytes(first.to_bytes()).shape(n_clients=3600)
    assert second.specification.partition.feature[0] == 0
    assert second.to_bytes() == first.shape(n_clients=3600).to_bytes()
    second.update(second.specification.randomize_many(X[5400:], y[5400:], random_state=6))
    tree, restored = second.release(), TreeCurator.from_bytes(second.to_bytes()).release()
    np.testing.assert_array_equal(tree.predict(X), restored.predict(X))
    np.testing.assert_array_equal(tree.split_counts_, restored.split_counts_)
    assert (tree.n_reports_, tree.privacy_spent_.unprotected["reports that shape the tree"]) == (3600, 5400)
    assert tree.score(X, y) > 0.8


def test_two_phases_are_those_of_fit(phases):
    X, y, _ = phases
    box = {"bounds_X": ([0, 0, 0], [1, 1, 1]), "split_share": 0.6, "mechanism": "krr"}
    fitted = plan(**box, random_state=1).fit(X, y)
    first = SplitCurator(plan(**box), n_clients=9000)
    first._state = first._state.with_counts(fitted.split_counts_, {"00": (5400, 5400)})
    second = first.shape(n_clients=3600)
    assert second.specification.randomizer.to_dict() == fitted.randomizer_.to_dict()
    second._state = second._state.with_counts(fitted.report_counts_, {"00": (3600, 3600)})
    for curator in (second, TreeCurator.from_bytes(second.to_bytes())):
        np.testing.assert_array_equal(curator.release().predict(X), fitted.predict(X))


def test_a_client_of_both_phases_is_refused(phases, tmp_path):
    X, y, first = phases
    second = first.shape(n_clients=3600)
    TreeClient(first.specification, memory=tmp_path / "memory").randomize(X[0], y[0])
    with pytest.raises(BudgetExceededError, match="Nothing was drawn"):
        TreeClient(second.specification, memory=tmp_path / "memory").randomize(X[0], y[0])


@pytest.mark.parametrize("two_phases", [False, True])
def test_declared_columns(two_phases):
    domain = TableDomain({"kind": list("abcd"), "x": (0, 1)}, missing_values=["?"])
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"kind": rng.choice(list("abcd"), 6000), "x": rng.uniform(size=6000)})
    y = np.where(table["kind"].isin(["a", "d"]), 9.0, 1.0)
    options = {"bounds_X": None, "bounds_y": (0, 10), "domain": domain}
    if two_phases:
        first = SplitCurator(plan(**options, split_share=0.5), n_clients=6000, label="cost")
        first.update(first.specification.randomize_many(table[:3000], y[:3000], random_state=7))
        curator = first.shape(n_clients=3000)
    else:
        curator = TreeCurator(plan(**options), table[:300], y[:300], n_clients=5700, label="cost")
    specification = TreeSpecification.from_json(curator.specification.to_json())
    assert specification == curator.specification
    curator.update(specification.randomize_many(table[3000:], y[3000:], random_state=8))
    curator.update(TreeClient(specification).randomize({"kind": "?", "x": 0.5}, 3))
    tree = TreeCurator.from_bytes(curator.to_bytes()).release()
    assert tree.score(table, y) > 0.8


# The specification


def test_the_json_says_what_the_target_is(specification):
    state = json.loads(specification.to_json())
    assert state["target"] == {"lower": 0.0, "upper": 10.0, "levels": 5}
    assert state["label"] == "cost"
    assert "classes" not in state
    assert specification.classes is None
    again = TreeSpecification.from_json(specification.to_json())
    assert again == specification
    assert again.bounds_y == (0.0, 10.0)
    assert "numbers from 0 to 10 on 5 levels" in repr(again)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"target": {"lower": 0.0, "upper": 10.0}}, "must have the fields"),
        ({"target": {"lower": 0.0, "upper": 10.0, "levels": 5, "more": 1}}, "must have the fields"),
        ({"target": {"lower": 0.0, "upper": 10.0, "levels": 6}}, "another number of cells or labels"),
        ({"target": {"lower": 0.0, "upper": 10.0, "levels": True}}, "whole number"),
        ({"target": {"lower": 0.0, "upper": 10.0, "levels": 10**9}}, "whole number from 2 to 1024"),
        ({"target": {"lower": 10.0, "upper": 0.0, "levels": 5}}, "lower one below the upper one"),
        ({"target": {"lower": 0.0, "upper": 0.0, "levels": 5}}, "lower one below the upper one"),
        ({"target": {"lower": "0", "upper": 10.0, "levels": 5}}, "finite number"),
        ({"target": {"lower": 0, "upper": 10.0, "levels": 5}}, "not in the one form"),
        ({"target": [0.0, 10.0]}, "target must be an object"),
        ({"classes": [0, 1]}, "its fields must be"),
        ({"partition": {"lower": [0.0], "upper": [1.0], "n_bins": 4}}, "cells or labels|belong together"),
    ],
)
def test_changed_specifications_are_refused(specification, changes, match):
    state = {**specification.to_dict(), **changes}
    with pytest.raises(ValueError, match=r"changed or damaged|fields|update"):
        TreeSpecification.from_dict(state)
    del state["hash"]
    with pytest.raises(ValueError, match=match):
        TreeSpecification.from_dict(state | {"hash": digest(state)})


@pytest.mark.parametrize(
    ("target", "match"),
    [
        ({}, "either classes or bounds_y"),
        ({"classes": [0, 1, 2, 3, 4], "bounds_y": (0, 1)}, "either classes or bounds_y"),
        ({"bounds_y": (0, 1, 2)}, "pair"),
        ({"bounds_y": ("0", "1")}, "pair"),
        ({"bounds_y": (0, np.inf)}, "finite"),
        ({"bounds_y": (np.nan, 1)}, "finite"),
        ({"bounds_y": (1, 1)}, "below"),
    ],
)
def test_bad_targets(target, match):
    with pytest.raises(ValueError, match=match):
        TreeSpecification(ROOT, KRRRandomizer(1.0, 1, 5), features=NAMES, **target)


# Clients


@pytest.mark.parametrize(
    "value",
    [str(SECRET), "much", None, np.nan, np.inf, 10**400, [SECRET], (SECRET,), complex(SECRET), b"4711"]
    + [np.datetime64("2020-01-01"), np.timedelta64(4711, "s"), pd.NA, np.array([SECRET])],
)
def test_what_is_no_number_is_refused_without_the_value(specification, value):
    client = TreeClient(specification)
    with pytest.raises(ValueError, match=r"^column 'cost' must hold a finite number\.$") as caught:
        client.randomize([0.5, 0.5], value)
    assert caught.value.__cause__ is None
    assert client.spent_epsilon == 0
    # It may ask again.
    assert len(client.randomize([0.5, 0.5], SECRET)) == specification.randomizer.report_bytes


@pytest.mark.parametrize("value", [10, 10.0, np.float32(10), np.int8(10), Fraction(10), 1e308, 10**300])
def test_numbers_beyond_the_bounds_are_clipped(value):
    # A lie has a probability below 1e-25.
    specification = make_specification(KRRRandomizer(60.0, 1, 5))
    for number, level in ((value, 4), (-value, 0)):
        report = TreeClient(specification).randomize([0.5, 0.5], number)
        assert int.from_bytes(report, "little") == level


def test_numbers_far_beyond_narrow_bounds_do_not_overflow():
    specification = make_specification(KRRRandomizer(60.0, 1, 5), bounds_y=(1.0, 1.0 + 1e-9))
    for number, level in ((1e308, 4), (-1e308, 0)):
        assert TreeClient(specification).randomize([0.5, 0.5], number)[0] == level
        assert draw(specification, [[0.5, 0.5]], [number]).item() == level


def test_a_client_rounds_once():
    specification = make_specification(KRRRandomizer(60.0, 1, 2))
    clients = [TreeClient(specification) for _ in range(64)]
    first = [client.randomize([0.5, 0.5], 5.0) for client in clients]
    # Fair coins, which differ but for a probability of 2^-63; asked again, none is thrown again.
    assert {int.from_bytes(report, "little") for report in first} == {0, 1}
    assert [client.randomize([0.5, 0.5], 9.0) for client in clients] == first


def test_a_memory_repeats_the_report(specification, tmp_path):
    report = TreeClient(specification, memory=tmp_path / "memory").randomize([0.5, 0.5], 3.3)
    for value in (9.9, None):
        client = TreeClient(specification, memory=tmp_path / "memory")
        assert client.randomize([0.1, 0.5], value) == report
    assert "3.3" not in (tmp_path / "memory").read_text()


def test_nothing_is_drawn_where_the_ceiling_is_reached(specification, monkeypatch):
    client = TreeClient(specification, lifetime_epsilon=0.5)
    asked = []
    monkeypatch.setattr(NumberTarget, "draw", lambda *_: asked.append(1))
    with pytest.raises(BudgetExceededError):
        client.randomize([0.5, 0.5], 3)
    assert not asked


def test_label_protection_is_agreed_to():
    specification = make_specification(LabelRandomizer(1.0, 1, 5))
    with pytest.raises(PrivacyLeakError, match="label alone"):
        TreeClient(specification)
    with pytest.raises(PrivacyLeakError, match="label alone"):
        specification.randomize_many([[0.5, 0.5]], [3])
    assert len(TreeClient(specification, protect="label").randomize([0.5, 0.5], 3)) > 0


def probabilities_of(share, epsilon, levels):
    """Probabilities of the reports of k-ary randomised response on a share that is rounded at random."""
    place = share * (levels - 1)
    rounded = np.maximum(1 - np.abs(np.arange(levels) - place), 0)
    truth = np.exp(epsilon) / (np.exp(epsilon) + levels - 1)
    return rounded * truth + (1 - rounded) * (1 - truth) / (levels - 1)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.6, 1.0])
@pytest.mark.parametrize("kind", [KRRRandomizer, LabelRandomizer])
def test_reports_have_their_exact_distribution(kind, share):
    specification = make_specification(kind(1.5, 1, 5), bounds_y=(-20.0, 60.0))
    n = 200_000
    reports = draw(specification, np.full((n, 2), 0.5), np.full(n, -20 + 80 * share), protect="label")
    found = np.bincount(reports.ravel().astype(np.int64), minlength=5)
    expected = n * probabilities_of(share, 1.5, 5)
    # False alarms: 1e-7 of all seeds.
    assert np.sum((found - expected) ** 2 / expected) < chi2.isf(1e-7, df=4)


def test_reports_of_devices_have_the_same_distribution():
    specification = make_specification(KRRRandomizer(1.0, 1, 2))
    n = 4000
    told = sum(TreeClient(specification).randomize([0.5, 0.5], 2.0)[0] for _ in range(n))
    p = probabilities_of(0.2, 1.0, 2)[1]
    # 7 standard deviations: below 3e-12.
    assert abs(told / n - p) < 7 * np.sqrt(p * (1 - p) / n)


def test_reports_about_different_numbers_are_within_the_factor():
    for levels in (2, 5, 9):
        laws = np.array([probabilities_of(share, 1.0, levels) for share in np.linspace(0, 1, 41)])
        assert (laws.max(axis=0) / laws.min(axis=0)).max() <= np.e * (1 + 1e-12)


# Many rows at once


def frame_of(X, y):
    return pd.DataFrame({"cost": y, "b": X[:, 1], "unasked": "text", "a": X[:, 0]})


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(lambda X, y: (X.tolist(), y.tolist()), id="lists"),
        pytest.param(lambda X, y: (X, y.astype(object)), id="objects"),
        pytest.param(lambda X, y: (X, [str(value) for value in y]), id="texts"),
        pytest.param(lambda X, y: (frame_of(X, y), None), id="pandas"),
        pytest.param(lambda X, y: (pl.from_pandas(frame_of(X, y)), None), id="polars"),
        pytest.param(lambda X, y: (pa.Table.from_pandas(frame_of(X, y)), None), id="arrow"),
        pytest.param(lambda X, y: (iter([(X[:7], y[:7]), frame_of(X[7:], y[7:])]), None), id="iterator"),
        pytest.param(lambda X, y: (zip(X[:, None], y[:, None], strict=True), None), id="one-by-one"),
    ],
)
def test_every_form_of_the_same_rows_gives_the_same_reports(table, monkeypatch):
    monkeypatch.setattr(specifications, "_ROWS_AT_ONCE", 16)
    specification = make_curator().specification
    X, y = make_rows(50)
    np.testing.assert_array_equal(draw(specification, *table(X, y)), draw(specification, X, y))


@pytest.mark.parametrize(
    ("value", "counts_as"),
    [
        (None, 5.0),
        (np.nan, 5.0),
        ("much", 5.0),
        ({"a": 1}, 5.0),
        (np.inf, 10.0),
        (-np.inf, 0.0),
        (10**400, 10.0),
    ]
    + [(SECRET, 10.0), (-1e308, 0.0), ("2.5", 2.5), (True, 1.0), (pd.NA, 5.0), (1j, 5.0)],
)
def test_no_value_makes_it_fail(specification, value, counts_as):
    X = np.full((400, 2), 0.5)
    y = np.full(400, 2.5, dtype=object)
    y[1::2] = [value] * 200
    expected = draw(specification, X, np.tile([2.5, counts_as], 200))
    np.testing.assert_array_equal(draw(specification, X, y), expected)
    # Neighbours of what it counts as are told apart by this seed.
    assert (draw(specification, X, np.tile([2.5, (counts_as + 5) % 10], 200)) != expected).any()


@pytest.mark.parametrize(
    "y", [np.full(3, "2020-01-01", dtype="datetime64[D]"), np.ones((3, 2)), np.ma.masked_all(3)]
)
def test_targets_of_another_form_are_refused(specification, y):
    with pytest.raises((TypeError, ValueError), match=r"^y "):
        list(specification.randomize_many(np.full((3, 2), 0.5), y))


# States of curators


def changed(curator, **changes):
    state = json.loads(curator.to_bytes())
    for path, value in changes.items():
        place, *inner = path.split("__")
        if inner:
            state[place][inner[0]] = value
        else:
            state[place] = value
    del state["checksum"]
    return json.dumps(state | {"checksum": digest(state)}).encode()


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"public_counts": [0.5]}, "list of finite numbers"),
        ({"public_counts": "AAAA"}, "list of finite numbers"),
        ({"tree__bounds_y": [0, 1]}, "different bounds of the target"),
        ({"tree__epsilon": 1.0}, "protect differently"),
        ({"public__row_variance": 0.0}, "variance of public rows"),
        ({"public__total_variance": 1.5}, "variance of public rows"),
        ({"public": {"slope": 1.0, "model": None}}, "must have the fields"),
        ({"tree__classes": [0, 1]}, "classes"),
    ],
)
def test_changed_states_are_refused(changes, match):
    curator = make_curator()
    assert TreeCurator.from_bytes(changed(curator)).specification == curator.specification
    with pytest.raises(ValueError, match="no state of a curator that can be used") as caught:
        TreeCurator.from_bytes(changed(curator, **changes))
    assert re.search(match, str(caught.value))


def test_public_rows_are_no_negative_numbers():
    curator = make_curator()
    counts = json.loads(curator.to_bytes())["public_counts"]
    with pytest.raises(ValueError, match="negative"):
        TreeCurator.from_bytes(changed(curator, public_counts=[-1.0, *counts[1:]]))


def test_a_mechanism_that_does_not_tell_the_size_of_a_leaf_is_refused():
    own = TreeCurator(plan(mechanism="hadamard", split_share=0, max_depth=2), n_clients=9, features=NAMES)
    partition, signed = own.specification.partition, HadamardRandomizer(3.0, 4, 2, signed=True)
    other = TreeSpecification(partition, signed, features=NAMES, bounds_y=(-5, 15)).to_dict()
    counts = pack_integers(np.zeros(signed.counts_shape, dtype=np.int64))
    with pytest.raises(ValueError, match="how many clients a leaf holds"):
        TreeCurator.from_bytes(changed(own, specification=other, counts=counts))


def test_curators_of_other_bounds_are_not_merged():
    one = TreeCurator(plan(split_share=0, max_depth=2), n_clients=9, features=NAMES)
    other = TreeCurator(plan(split_share=0, max_depth=2, bounds_y=(-5, 16)), n_clients=9, features=NAMES)
    with pytest.raises(ValueError, match="different specifications"):
        one.merge(other)


# The command line


def write_rows(path, n, seed):
    X, y = make_rows(n, seed=seed)
    lines = [f"{a},{cost},{b}" for (a, b), cost in zip(X, y, strict=True)]
    path.write_text("\n".join(["a,cost,b", *lines, ""]))
    return X, y


PLAN = "curator plan study.state spec.json --label cost --epsilon 3 --clients 3000 --target numbers"


@pytest.mark.process
def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "public.csv", 200, seed=1)
    X, y = write_rows(tmp_path / "rows.csv", 3000, seed=2)
    assert (
        main([*PLAN.split(), "--public", "public.csv", "--mechanism", "krr", "--bounds-y", "[-5, 15]"]) == 0
    )
    assert TreeSpecification.from_json(tmp_path / "spec.json").bounds_y == (-5.0, 15.0)
    for line in (
        "client spec.json rows.csv monday.bin",
        "curator add study.state monday.bin",
        "curator show study.state",
        "curator release study.state tree.joblib",
    ):
        assert main(line.split()) == 0
    assert "target: numbers from -5 to 15 on" in capsys.readouterr().out
    tree = joblib.load(tmp_path / "tree.joblib")
    assert (tree.mechanism_, tree.rule_, tree.n_reports_) == ("krr", "cart", 3000)
    assert tree.score(named(X), y) > 0.7


@pytest.mark.process
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "without public rows bounds_X and bounds_y must be declared"),
        (["--bounds", '{"a": [0, 1], "b": [0, 1]}'], "without public rows bounds_y must be declared"),
        (["--classes", "[0, 1]"], "--classes does not go with --target numbers"),
        (["--prune"], "--prune does not go with --target numbers"),
        (["--criterion", "gini"], "--criterion does not go with --target numbers"),
        (["--target", "labels", "--bounds-y", "[0, 1]"], "--bounds-y does not go with --target labels"),
    ],
)
def test_plans_that_are_refused(tmp_path, monkeypatch, capsys, more, message):
    monkeypatch.chdir(tmp_path)
    assert main([*PLAN.split(), *more]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.process
def test_a_cell_that_is_no_number_is_named_by_its_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.json").write_text(make_specification(KRRRandomizer(1.0, 1, 5)).to_json())
    (tmp_path / "rows.csv").write_text(f"a,b,cost\n0.5,0.5,{SECRET}\n0.5,0.5,{SECRET}x\n")
    assert main(["client", "spec.json", "rows.csv", "reports.bin"]) == 2
    assert capsys.readouterr().err == "error: rows.csv, line 3: column 'cost' must hold a finite number.\n"
    assert not (tmp_path / "reports.bin").exists()
