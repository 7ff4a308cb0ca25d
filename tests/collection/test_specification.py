# SPDX-License-Identifier: BSD-3-Clause
"""A specification is read back exactly, its hash covers every field, and its reports are packed in bytes."""

import copy
import json
import pickle

import numpy as np
import pytest

from skprivate.collection import TreeSpecification
from skprivate.partition import Partition
from skprivate.randomizers import HadamardRandomizer
from tests.collection.studies import (
    domain_specification,
    make_domain,
    make_specification,
    number_specification,
    with_hash,
)

MECHANISMS = ["hadamard", "krr", "subset", "unary", "signed-laplace", "laplace"]
WORDS = {"classes": ["no", "ja, ü"], "features": ["a", "b"], "label": "y"}


@pytest.mark.parametrize(
    "specification",
    [
        *(make_specification(mechanism, **WORDS) for mechanism in MECHANISMS),
        number_specification(),
        domain_specification(),
    ],
    ids=repr,
)
def test_json_restores_everything(specification, tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(specification.to_json(), encoding="utf-8")
    pretty = json.dumps(dict(reversed(json.loads(specification.to_json()).items())), indent=2)
    for source in (specification.to_json(), path, str(path), "\n " + specification.to_json(), pretty):
        again = TreeSpecification.from_json(source)
        assert again == specification
        assert hash(again) == hash(specification)
        assert again.to_json() == specification.to_json()
        assert again.randomizer.specification == specification.randomizer.specification
        for name in ("partition", "classes", "features", "label", "bounds_y", "domain"):
            assert getattr(again, name) == getattr(specification, name)
    assert pickle.loads(pickle.dumps(specification)) == copy.deepcopy(specification) == specification


def test_what_the_json_says():
    assert number_specification().to_dict()["target"] == {"lower": 0.0, "upper": 10.0, "levels": 5}
    assert (number_specification().classes, number_specification().bounds_y) == (None, (0.0, 10.0))
    assert domain_specification().features == ("age", "job", "since")
    assert (make_specification().features, make_specification().label) == (("x0", "x1"), "label")
    assert "numbers from 0 to 10 on 5 levels" in repr(number_specification())
    wanted = "TreeSpecification(8 cells of 2 columns, 2 classes, hadamard"
    assert repr(make_specification()).startswith(wanted)


def test_the_hash_covers_every_field():
    specifications = [
        make_specification(),
        make_specification(depth=2),
        make_specification(epsilon=2.0),
        make_specification("krr"),
        make_specification(classes=(0, 2)),
        make_specification(classes=(1, 0)),
        make_specification(features=["a", "b"]),
        make_specification(label="y"),
        domain_specification(),
        domain_specification(make_domain(job=["smith", "clerk"])),
        number_specification(),
        number_specification(bounds_y=(0.0, 11.0)),
    ]
    hashes = {specification.hash for specification in specifications}
    assert len(hashes) == len(specifications)
    assert all(len(bytes.fromhex(text)) == 32 for text in hashes)
    assert specifications[0] != specifications[1]
    assert specifications[0] != specifications[0].hash


def test_the_bytes_of_a_specification_are_known():
    # Clients and curators of different versions of the package compare this hash: a change needs a version.
    partition = Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0])
    made = TreeSpecification(partition, HadamardRandomizer(1.0, n_cells=2), ["no", "yes"], ["age"], "smokes")
    assert made.hash == "6855dc2ede19cb2ca611ee5d113876f31aa0bdc07d40b5ba1b404fae0dda1c0b"
    # A published one of version 5, which lacks the threshold, stays what it is.
    old = made.to_dict() | {"version": 5, "randomizer": made.randomizer.to_dict()}
    old["hash"] = "25bef73a03e5c9bcf374b3f444a0ccfd0602654820ac1f1fed8864dde6adc947"
    assert TreeSpecification.from_dict(old).to_dict() == old
    # A threshold that costs more than epsilon is none of this specification, whatever its hash.
    dear = made.to_dict()["randomizer"] | {"threshold": str(2**64 - 1)}
    with pytest.raises(ValueError, match="not in the one form"):
        TreeSpecification.from_dict(with_hash(made.to_dict(), randomizer=dear))


def test_fields_of_the_domain_are_checked_one_by_one():
    state = domain_specification().to_dict()

    def change(value, path):
        if isinstance(value, dict):
            places = list(value)
        elif isinstance(value, list):
            places = range(len(value))
        else:
            return
        for place in places:
            for foreign in (None, [], {}, "\ud800", 1e308, -7, True, "2001-13-01"):
                whole = copy.deepcopy(state)
                inner = whole["domain"]
                for step in path:
                    inner = inner[step]
                if inner[place] != foreign:
                    inner[place] = foreign
                    yield whole
            yield from change(value[place], [*path, place])

    n_read = 0
    for whole in change(state["domain"], []):
        try:
            made = TreeSpecification.from_dict(with_hash(whole))
        except ValueError:
            continue
        n_read += 1
        assert made.to_dict() == with_hash(whole)
    assert n_read < 40


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_pack_and_unpack(mechanism):
    specification = make_specification(mechanism)
    reports = specification.randomizer.randomize(np.arange(7), random_state=0)
    data = specification.pack(reports)
    assert len(data) == 7 * specification.randomizer.report_bytes
    for again in (specification.unpack(data), specification.unpack(memoryview(data))):
        assert again.dtype == reports.dtype
        np.testing.assert_array_equal(again, reports)
    # Little-endian: the first byte of an integer is its lowest.
    assert data[0] == int(reports.reshape(7, -1)[0, 0]) & 255
    if specification.randomizer.report_bytes > 1:
        with pytest.raises(ValueError, match="not a whole number of reports"):
            specification.unpack(data[:-1])


def test_pickles_of_version_5_are_read():
    partition = Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0])
    old = TreeSpecification(partition, HadamardRandomizer(1.0, n_cells=2), [0, 1])
    del old.__dict__["_version"]
    again = pickle.loads(pickle.dumps(old))
    assert again.to_dict()["version"] == 5
    assert TreeSpecification.from_json(again.to_json()) == again


@pytest.mark.parametrize("text", ["a\nSent: nothing", "\u202eno", "a\u2028b", "\u200b"])
def test_names_and_classes_are_what_people_see(text):
    partition = Partition.from_splits([0, -1, -1], [40.0], [0.0], [100.0])
    for classes, features, label in (
        (["no", text], ["a"], "y"),
        ([0, 1], [text], "y"),
        ([0, 1], ["a"], text),
    ):
        with pytest.raises(ValueError, match="remove them"):
            TreeSpecification(partition, HadamardRandomizer(1.0, n_cells=2), classes, features, label)
