# SPDX-License-Identifier: BSD-3-Clause
"""A specification is read back exactly, or refused with a reason."""

import hashlib
import json
import pickle

import numpy as np
import pytest

from skprivate.collection import TreeSpecification
from skprivate.collection._questions import LabelTarget
from skprivate.partition import Partition
from skprivate.randomizers import HadamardRandomizer, KRRRandomizer

MECHANISMS = ["hadamard", "krr", "subset", "unary", "signed-laplace", "laplace"]


def resealed(text, **changes):
    """Change fields and write the hash that fits."""
    state = json.loads(text) | changes
    del state["hash"]
    canonical = json.dumps(state, sort_keys=True, separators=(",", ":"))
    return json.dumps(state | {"hash": hashlib.sha256(canonical.encode()).hexdigest()})


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_json_restores_everything(make_specification, mechanism, tmp_path):
    specification = make_specification(mechanism, classes=["no", "ja, ü"], features=["a", "b"], label="y")
    path = tmp_path / "spec.json"
    path.write_text(specification.to_json(), encoding="utf-8")
    for source in (specification.to_json(), path, str(path), "\n " + specification.to_json()):
        again = TreeSpecification.from_json(source)
        assert again == specification
        assert hash(again) == hash(specification)
        assert again.to_json() == specification.to_json()
        assert again.partition == specification.partition
        assert again.randomizer.specification == specification.randomizer.specification
        assert (again.classes, again.features, again.label) == (("no", "ja, ü"), ("a", "b"), "y")
    assert pickle.loads(pickle.dumps(specification)) == specification


def test_the_hash_covers_every_field(make_specification):
    base = make_specification()
    others = [
        make_specification(depth=2),
        make_specification(epsilon=2.0),
        make_specification("krr"),
        make_specification(classes=(0, 2)),
        make_specification(classes=(1, 0)),
        make_specification(features=["a", "b"]),
        make_specification(label="y"),
    ]
    hashes = {specification.hash for specification in (base, *others)}
    assert len(hashes) == 8
    assert all(len(bytes.fromhex(text)) == 32 for text in hashes)
    assert base != others[0]
    assert base != base.hash


def test_the_hash_does_not_depend_on_formatting(make_specification):
    text = make_specification().to_json()
    pretty = json.dumps(dict(reversed(json.loads(text).items())), indent=2)
    assert TreeSpecification.from_json(pretty).to_json() == text


def test_labels_of_numpy_become_plain(make_specification):
    assert make_specification(classes=np.array([0, 1])).classes == (0, 1)
    assert type(make_specification(classes=np.array([0.5, 1])).classes[0]) is float
    assert make_specification(classes=np.array([False, True])).classes == (False, True)
    assert type(make_specification(classes=np.array(["a", "b"])).classes[0]) is str
    assert make_specification().features == ("x0", "x1")
    assert make_specification().label == "label"


@pytest.mark.parametrize(
    ("classes", "value", "index"),
    [
        ((0, 1), 1, 1),
        ((0, 1), 1.0, 1),
        ((0, 1), np.int64(1), 1),
        ((0, 1), True, 1),
        ((0, 1), "1", -1),
        ((0, 1), 2, -1),
        ((0, 1), float("nan"), -1),
        ((0, 1), None, -1),
        ((0, 1), [1], -1),
        (("0", "1"), "1", 1),
        (("0", "1"), np.str_("1"), 1),
        (("0", "1"), 1, -1),
        ((False, True), True, 1),
        ((0.5, 1.5, 2.5), 2.5, 2),
    ],
)
def test_position_of_a_label(classes, value, index):
    target = LabelTarget(classes)
    if index >= 0:
        assert target.read(value, "sick") == index
    else:
        with pytest.raises(ValueError, match=r"^'sick' is not one of the specification's classes\.$"):
            target.read(value, "sick")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"classes": [0, 0]}, "different labels"),
        ({"classes": [1, True]}, "different labels"),
        ({"classes": [0, "1"]}, "all text or all finite numbers"),
        ({"classes": [0, None]}, "all text or all finite numbers"),
        ({"classes": ["no", " no"]}, "white space"),
        ({"classes": [0, float("nan")]}, "finite"),
        ({"classes": [0, 10**400]}, r"2\^53"),
        ({"features": ["a", "a"]}, "different names"),
        ({"features": ["a", "label"]}, "different names"),
        ({"features": ["a"]}, "2 columns, but features has 1"),
        ({"features": ["a", ""]}, "not empty"),
        ({"features": ["a", 1]}, "texts"),
        ({"label": None}, "texts"),
    ],
)
def test_bad_arguments(make_specification, arguments, match):
    with pytest.raises(ValueError, match=match):
        make_specification(**arguments)


def test_sizes_must_agree():
    partition = Partition.from_splits([0, -1, -1], [0.5], [0.0], [1.0])
    with pytest.raises(ValueError, match="for 3 cells and 2 labels, but there are 2 cells and 2"):
        TreeSpecification(partition, HadamardRandomizer(1.0, 3), [0, 1])
    with pytest.raises(ValueError, match="2 classes"):
        TreeSpecification(partition, KRRRandomizer(1.0, 2, 3), [0, 1])


@pytest.mark.parametrize(
    ("version", "match"), [(99, "knows 5: update skprivate"), (4, "reads 5 only: make it anew")]
)
def test_another_version_is_refused_by_name(make_specification, version, match):
    text = json.dumps(json.loads(make_specification().to_json()) | {"version": version, "more": 1})
    with pytest.raises(ValueError, match=f"it is of version {version}, .*{match}"):
        TreeSpecification.from_json(text)


def test_the_bytes_of_a_specification_are_known():
    # Clients and curators of different versions of the package compare this hash: a change needs a version.
    partition = Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0])
    made = TreeSpecification(partition, HadamardRandomizer(1.0, n_cells=2), ["no", "yes"], ["age"], "smokes")
    assert made.hash == "25bef73a03e5c9bcf374b3f444a0ccfd0602654820ac1f1fed8864dde6adc947"


def test_a_changed_specification_is_refused(make_specification):
    text = make_specification().to_json().replace('"epsilon":"1"', '"epsilon":"9"')
    with pytest.raises(ValueError, match="does not fit its hash"):
        TreeSpecification.from_json(text)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format": "other"}, "format"),
        ({"version": 0}, "version is not 5"),
        ({"version": True}, "version is not 5"),
        ({"version": "5"}, "version is not 5"),
        ({"more": 1}, "fields must be"),
        ({"target": {"classes": "ab"}}, "classes must be a list"),
        ({"target": {"classes": {"a": 1, "b": 2}}}, "classes must be a list"),
        ({"target": {"classes": [0, 0]}}, "different labels"),
        ({"target": {"classes": [0, [1]]}}, "one-dimensional"),
        ({"target": {"classes": [0, 1, 2]}}, "another number of cells or labels"),
        ({"target": {"classes": [0, 1], "lower": 0.0}}, "the target must have the fields"),
        ({"features": "xy"}, "features must be a list"),
        ({"features": ["a", "a"]}, "different names"),
        ({"label": 1}, "texts"),
        ({"randomizer": None}, "randomizer must be an object"),
        ({"partition": None}, "a partition has the keys"),
    ],
)
def test_bad_fields_under_a_fitting_hash(make_specification, changes, match):
    with pytest.raises(ValueError, match=match):
        TreeSpecification.from_json(resealed(make_specification().to_json(), **changes))


def test_a_randomizer_of_another_size_is_refused_before_it_is_made(make_specification, monkeypatch):
    specification = make_specification("krr")
    huge = specification.randomizer.to_dict() | {"n_cells": 2**31}
    monkeypatch.setattr("skprivate.collection._specification.randomizer_from_dict", lambda _: 1 / 0)
    with pytest.raises(ValueError, match="another number of cells"):
        TreeSpecification.from_json(resealed(specification.to_json(), randomizer=huge))


@pytest.mark.parametrize("text", ["{", "{}", '{"format": NaN}', '{"a": ' + "[" * 100_000])
def test_what_is_no_specification(text, tmp_path):
    with pytest.raises(ValueError, match="this text is no specification"):
        TreeSpecification.from_json(text)
    path = tmp_path / "spec.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"spec\.json is no specification"):
        TreeSpecification.from_json(path)


def test_files_that_are_no_text_or_too_large(tmp_path):
    path = tmp_path / "spec.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"spec\.json is no specification"):
        TreeSpecification.from_json(path)
    with open(path, "wb") as file:
        file.truncate(2**26 + 1)
    with pytest.raises(ValueError, match="too large"):
        TreeSpecification.from_json(path)
    with pytest.raises(FileNotFoundError):
        TreeSpecification.from_json(tmp_path / "none.json")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_pack_and_unpack(make_specification, mechanism):
    specification = make_specification(mechanism)
    reports = specification.randomizer.randomize(np.arange(7), random_state=0)
    data = specification.pack(reports)
    assert len(data) == 7 * specification.randomizer.report_bytes
    again = specification.unpack(data)
    assert again.dtype == reports.dtype
    np.testing.assert_array_equal(again, reports)
    np.testing.assert_array_equal(specification.unpack(memoryview(data)), reports)
    # Little-endian: the first byte of an integer is its lowest.
    first = reports.reshape(7, -1)[0, 0]
    assert data[0] == int(first) & 255
    if specification.randomizer.report_bytes > 1:
        with pytest.raises(ValueError, match="no whole number of reports"):
            specification.unpack(data[:-1])


def test_repr_is_short(make_specification):
    assert repr(make_specification()).startswith(
        "TreeSpecification(8 cells of 2 columns, 2 classes, hadamard"
    )
