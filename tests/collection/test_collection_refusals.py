# SPDX-License-Identifier: BSD-3-Clause
"""What the deployment refuses: nothing is drawn, spent, counted or shown, and documents are read whole."""

import base64
import functools
import json
import os
import traceback
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import skprivate
from skprivate import LocallyPrivateTreeClassifier, PrivacyLedger
from skprivate.collection import SplitCurator, TreeClient, TreeCurator, TreeSpecification, _report_files
from skprivate.collection._external_counts import ExternalNoise
from skprivate.collection._report_files import ReportReader
from skprivate.domain import NumberColumn, TableDomain
from skprivate.exceptions import PrivacyLeakError
from skprivate.partition import Partition
from skprivate.randomizers import HadamardRandomizer, KRRRandomizer, LabelRandomizer
from skprivate.utils._json_documents import pack_integers, unpack_integers
from tests.collection.studies import (
    N_PUBLIC,
    NAMES,
    ROOT,
    SECRET,
    domain_specification,
    label_plan,
    label_rows,
    make_domain,
    make_specification,
    number_plan,
    number_rows,
    number_specification,
    resealed,
    with_hash,
    write_reports,
)

LABELS = make_specification("krr", depth=8, epsilon=Fraction(1, 4), features=NAMES, label="sick")
NUMBER, DECLARED = number_specification(), domain_specification()
LABEL_ONLY = TreeSpecification(ROOT, LabelRandomizer(1.0, 1), (0, 1), NAMES)
NAN, INF = float("nan"), float("inf")


# A client shows no value and spends nothing

RECORD = {"since": "2020-06-01", "age": 80, "job": "smith"}
ANSWERS = [
    *(
        (LABELS, row, 1, match)
        for row, match in (
            ({"a": SECRET}, "'b' is missing"),
            ({"a": SECRET, "b": SECRET, "c": SECRET}, "'c' is unknown"),
            (pd.Series([SECRET] * 3, index=["a", "b", "a"]), "'a' is repeated"),
            ([SECRET], "2 values .a, b., got 1"),
            ([[SECRET, SECRET]], "2 values .a, b., got 1"),
            ([SECRET, NAN], "'b' must hold a finite number"),
            ([SECRET, 10**400], "'b' must hold a finite number"),
            ([str(SECRET), 1], "'a' must hold a finite number"),
            ([SECRET, None], "'b' must hold a finite number"),
            *((whole, "sequence of values") for whole in (str(SECRET), SECRET, {SECRET}, None)),
        )
    ),
    *(
        (LABELS, [0.3, 0.4], label, "'sick' is not one of the specification's classes")
        for label in (7, "1", None, NAN, [1], np.array([0, 1]), str(SECRET))
    ),
    *(
        (NUMBER, [0.5, 0.5], value, r"^column 'cost' must hold a finite number\.$")
        for value in (
            *(str(SECRET), None, NAN, INF, 10**400, [SECRET], complex(SECRET), b"4711.0815", pd.NA),
            *(np.datetime64("2020-01-01"), np.timedelta64(4711, "s"), np.array([SECRET])),
        )
    ),
    *(
        (DECLARED, RECORD | change, "yes", match)
        for change, match in (
            ({"age": f"old{SECRET}"}, "'age' holds a value that is no finite number"),
            ({"age": [SECRET]}, "'age' holds a value"),
            ({"since": str(SECRET)}, "'since' holds a value that is no date"),
            ({"trade": str(SECRET)}, "'trade' is unknown"),
        )
    ),
]


@pytest.mark.parametrize(("specification", "row", "answer", "match"), ANSWERS)
def test_answers_of_a_client(specification, row, answer, match, monkeypatch, tmp_path):
    monkeypatch.setattr(specification.randomizer, "randomize", lambda *_: 1 / 0)
    for memory, strict in ((None, False), (tmp_path / "memory", True)):
        client = TreeClient(specification, memory=memory)
        with skprivate.config_context(strict=strict), pytest.raises(ValueError, match=match) as caught:
            client.randomize(row, answer)
        assert str(SECRET) not in "".join(traceback.format_exception(caught.value))
        assert client.spent_epsilon == 0
    assert not (tmp_path / "memory").exists()
    # It may ask again.
    monkeypatch.undo()
    good = RECORD if specification is DECLARED else [0.5, 0.5]
    assert client.randomize(good, "yes" if specification is DECLARED else 1)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: TreeClient(LABELS, random_state=0), TypeError, "random_state"),
        (lambda: TreeClient(LABELS.to_json()), TypeError, "TreeSpecification"),
        (lambda: TreeClient(LABEL_ONLY, protect="features"), ValueError, "protect must be"),
        (lambda: TreeClient(LABEL_ONLY), PrivacyLeakError, "the label alone"),
        (lambda: LABEL_ONLY.randomize_many([[0.5, 0.5]], [1]), PrivacyLeakError, "the label alone"),
        *(
            (lambda ceiling=ceiling: TreeClient(LABELS, lifetime_epsilon=ceiling), ValueError, "lifetime")
            for ceiling in (0, -1, INF, NAN)
        ),
    ],
)
def test_clients(call, error, match):
    with pytest.raises(error, match=match):
        call()


MEMORIES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-5],
    "binary": lambda data: b"\xff" + data,
    "another format": lambda data: data.replace(b"skprivate.client", b"skprivate.server"),
    "a newer version": lambda data: data.replace(b'"version": 1', b'"version": 2'),
    "less spent": lambda data: data.replace(b'"spent": "1/4"', b'"spent": "1/9"'),
    "forgotten": lambda data: json.dumps(json.loads(data) | {"reports": {}}).encode(),
    "a deep list": lambda data: b"[" * 100_000,
    "no amount": lambda data: resealed(data, spent=0.25),
    "no reports": lambda data: resealed(data, reports=[]),
    "no text": lambda data: resealed(data, reports={"a": 1}),
    "no base64": lambda data: resealed(data, reports={"a": "?"}),
    "another size": lambda data: resealed(data, reports={LABELS.hash: base64.b64encode(b"abc").decode()}),
}


@pytest.mark.parametrize("name", MEMORIES)
def test_a_damaged_memory_is_never_started_anew(tmp_path, name):
    path = tmp_path / "memory"
    known = TreeClient(LABELS, memory=path)
    TreeClient(LABELS, memory=path).randomize([0.3, 0.4], 1)
    path.write_bytes(MEMORIES[name](path.read_bytes()))
    before = path.read_bytes()
    for ask in (lambda: TreeClient(LABELS, memory=path), lambda: known.randomize([0.3, 0.4], 1)):
        with pytest.raises(ValueError, match="damaged"):
            ask()
    assert path.read_bytes() == before


# Many rows at once: the kinds of a table are told, and no cell

ROWS = np.full((3, 2), SECRET)
TABLES = [
    (LABELS, ROWS, None, ValueError, "y is missing"),
    (LABELS, ROWS, [1] * 2, ValueError, "one value per row"),
    (LABELS, ROWS, np.ones((3, 2)), ValueError, "one-dimensional"),
    (LABELS, np.full((3, 3), SECRET), [1] * 3, ValueError, "X must have 2 columns"),
    (LABELS, np.full(3, SECRET), [1] * 3, ValueError, "two-dimensional"),
    (LABELS, [[SECRET], [SECRET, SECRET]], [1] * 2, ValueError, "two-dimensional"),
    (LABELS, SECRET, [1], TypeError, "must be a table"),
    (LABELS, ROWS, np.array(["0", "1", "1"]), TypeError, "y holds text"),
    (DECLARED, [RECORD] * 3, np.full(3, SECRET), TypeError, "y holds numbers or booleans"),
    (LABELS, ROWS, np.full(3, 4711, "M8[D]"), TypeError, "dates"),
    (LABELS, np.ma.masked_all((3, 2)), [1] * 3, TypeError, "masked"),
    (LABELS, pd.DataFrame({"a": [SECRET], "b": [SECRET]}), None, ValueError, "sick"),
    (LABELS, pa.table({"a": [SECRET], "b": [SECRET], "sick": [1]}), [1], ValueError, "leave y out"),
    (LABELS, iter([ROWS]), None, ValueError, "y is missing"),
    (LABELS, iter([]), [1], ValueError, "pairs"),
    *(
        (NUMBER, ROWS, y, (TypeError, ValueError), r"^y ")
        for y in (np.full(3, "2020-01-01", dtype="M8[D]"), np.ones((3, 2)), np.ma.masked_all(3))
    ),
]


@pytest.mark.parametrize(("specification", "X", "y", "error", "match"), TABLES)
def test_tables(specification, X, y, error, match):
    with pytest.raises(error, match=match) as caught:
        list(specification.randomize_many(X, y))
    assert str(SECRET) not in str(caught.value)


# Specifications

FIVE = KRRRandomizer(1.0, 1, 5)
HALVES = Partition.from_splits([0, -1, -1], [0.5], [0.0], [1.0])
OTHER_DOMAINS = (
    {"age": (17, 90), "job": ["clerk", "smith", "none"], "since": (0, 1)},
    {"age": (17, 90), "size": (0, 1), "job": ["clerk", "smith", "none"]},
)


def of_domain(**options):
    return TreeSpecification(DECLARED.partition, DECLARED.randomizer, ["no", "yes"], **options)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        *(
            (functools.partial(make_specification, **arguments), match)
            for arguments, match in (
                ({"classes": [0, 0]}, "different labels"),
                ({"classes": [0, "1"]}, "all text or all finite numbers"),
                ({"classes": [0, None]}, "all text or all finite numbers"),
                ({"classes": ["no", " no"]}, "white space"),
                ({"classes": [0, NAN]}, "finite"),
                ({"classes": [0, 10**400]}, r"2\^53"),
                ({"features": ["a", "label"]}, "different names"),
                ({"features": ["a"]}, "2 columns, but features has 1"),
                ({"features": ["a", 1]}, "text"),
                ({"label": None}, "text"),
            )
        ),
        *(
            (functools.partial(TreeSpecification, ROOT, FIVE, features=NAMES, **target), match)
            for target, match in (
                ({}, "either classes or bounds_y"),
                ({"classes": [0, 1, 2, 3, 4], "bounds_y": (0, 1)}, "either classes or bounds_y"),
                ({"bounds_y": (0, 1, 2)}, "pair"),
                ({"bounds_y": (0, INF)}, "finite"),
                ({"bounds_y": (1, 1)}, "below"),
            )
        ),
        (
            lambda: TreeSpecification(HALVES, HadamardRandomizer(1.0, 3), [0, 1]),
            "for 3 cells and 2 labels, but there are 2 cells and 2",
        ),
        (lambda: TreeSpecification(HALVES, KRRRandomizer(1.0, 2, 3), [0, 1]), "2 classes"),
        (of_domain, "pass this domain"),
        (lambda: of_domain(domain={"age": (0, 1)}), "domain must be a TableDomain"),
        (lambda: of_domain(domain=TableDomain({"age": (0, 1)})), "5 columns, but the domain encodes 1"),
        *(
            (lambda other=other: of_domain(domain=TableDomain(other)), r"derived columns|encodes")
            for other in OTHER_DOMAINS
        ),
        (lambda: of_domain(domain=make_domain(since=bool)), r"derived columns|the domain encodes"),
        (lambda: domain_specification(features=["job", "age", "since"]), "must be the columns of the domain"),
        (lambda: domain_specification(label="age"), "different names"),
    ],
)
def test_arguments_of_a_specification(call, match):
    with pytest.raises((TypeError, ValueError), match=match):
        call()


PLAIN = make_specification()
HUGE = PLAIN.randomizer.to_dict() | {"n_cells": 2**31}
TARGET = {"lower": 0.0, "upper": 10.0, "levels": 5}
SPLIT = SplitCurator(
    label_plan(domain=TableDomain({"kind": list("abc"), "x": (0, 1)}), classes=[0, 1], max_depth="auto"),
    n_clients=9000,
).specification
DOCUMENTS = [
    *(
        (PLAIN, change, match)
        for change, match in (
            ({"format": "other"}, "format"),
            *(({"version": version}, "version is not 6") for version in (0, True, "6")),
            ({"more": 1}, "fields must be"),
            ({"target": {"classes": "ab"}}, "classes must be a list"),
            ({"target": {"classes": [0, 0]}}, "different labels"),
            ({"target": {"classes": [0, [1]]}}, "one-dimensional"),
            ({"target": {"classes": [0, 1, 2]}}, "another number of cells or labels"),
            ({"target": {"classes": [0, 1], "lower": 0.0}}, "the target must have the fields"),
            ({"features": "xy"}, "features must be a list"),
            ({"label": 1}, "text"),
            ({"randomizer": None}, "randomizer must be an object"),
            # Of another size, before it is made.
            ({"randomizer": HUGE}, "another number of cells"),
            ({"partition": None}, "a partition has the keys"),
        )
    ),
    *(
        (NUMBER, {"target": target}, match)
        for target, match in (
            (TARGET | {"more": 1}, "must have the fields"),
            (TARGET | {"levels": 6}, "another number of cells or labels"),
            (TARGET | {"levels": 10**9}, "whole number from 2 to 1024"),
            (TARGET | {"lower": 10.0}, "lower one below the upper one"),
            (TARGET | {"lower": "0"}, "finite number"),
            (TARGET | {"lower": 0}, "not in the one form"),
            ([0.0, 10.0], "target must be an object"),
        )
    ),
    (NUMBER, {"classes": [0, 1]}, "its fields must be"),
    (NUMBER, {"partition": {"lower": [0.0], "upper": [1.0], "n_bins": 4}}, "cells or labels|belong"),
    *(
        (DECLARED, {"domain": foreign}, r"there is none|domain|fields|object|keys|version")
        for foreign in (None, 7, "age", [], {}, {"age": [0, 1]}, {"format": "skprivate.domain"})
    ),
    (DECLARED, {"features": ["age"]}, "features"),
    *(
        (SPLIT, {"domain": TableDomain(other).to_dict()}, r"cells|bins|domain|features|one form")
        for other in (
            {"kind": list("abc"), "y": (0, 1)},
            {"kind": ["a", "b"], "x": (0, 1), "z": (0, 1)},
            {"kind": ["a", "b"], "x": NumberColumn(0, 1, missing="indicator")},
        )
    ),
]


@pytest.mark.parametrize(("specification", "change", "match"), DOCUMENTS)
def test_documents_of_a_specification(specification, change, match):
    state = specification.to_dict()
    with pytest.raises(ValueError, match=r"changed or damaged|fields|update|format|version"):
        TreeSpecification.from_dict(state | change)
    with pytest.raises(ValueError, match=match):
        TreeSpecification.from_dict(with_hash(state, **change))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        *((text, "is no specification") for text in ("{", "{}", '{"format": NaN}', '{"a": ' + "[" * 100_000)),
        (PLAIN.to_json().replace('"epsilon":"1"', '"epsilon":"9"'), "does not fit its hash"),
        *(
            (json.dumps(PLAIN.to_dict() | {"version": n, "more": 1}), f"it is of version {n}, .*{match}")
            for n, match in ((99, "knows 6: update skprivate"), (4, "reads 6 only: make it anew"))
        ),
    ],
)
def test_texts_that_are_no_specification(text, match, tmp_path):
    (tmp_path / "spec.json").write_text(text)
    for source, name in ((text, "this text"), (tmp_path / "spec.json", r"spec\.json")):
        with pytest.raises(ValueError, match=f"{name}.*{match}"):
            TreeSpecification.from_json(source)


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


# Plans of a curator

X, Y = label_rows()
FEW, BOX = (X[:N_PUBLIC], np.minimum(Y[:N_PUBLIC], 1)), {"bounds": (0, 1), "classes": [0, 1]}
NAMED = pd.DataFrame(FEW[0], columns=NAMES), FEW[1]
OF_DOMAIN = LocallyPrivateTreeClassifier(domain=make_domain())


def collection(tree, *rows, n_clients=100, kind=TreeCurator, **options):
    return lambda: kind(tree, *rows, n_clients=n_clients, **options)


def splits(tree, **options):
    return collection(tree, kind=SplitCurator, **{"n_clients": 9000, "features": NAMES, **options})


PLANS = [
    *((collection(wrong), TypeError, "tree must be") for wrong in (None, type(label_plan()), "tree")),
    (collection(label_plan(random_state=0), *FEW), ValueError, "random_state must be None"),
    (collection(label_plan(max_depth=0), *FEW), ValueError, "max_depth"),
    (collection(label_plan(max_rows_per_group=2), *FEW), ValueError, "max_rows_per_group must be 1"),
    (collection(LocallyPrivateTreeClassifier(-1.0), *FEW), ValueError, "epsilon"),
    (collection(label_plan(), FEW[0]), ValueError, "belong together"),
    *((collection(label_plan(), *FEW, n_clients=n), ValueError, "at least 1") for n in (0, -1)),
    (collection(label_plan(), *FEW, n_clients=1.5), TypeError, "n_clients must be an int"),
    (collection(label_plan(), *NAMED, features=["b", "a"]), ValueError, "X in their order: a, b"),
    (collection(label_plan(), *FEW, features=["a", "b", "c"]), ValueError, "3 names, but X has 2"),
    (collection(label_plan(), *FEW, features=["a", "label"]), ValueError, "different names"),
    (collection(label_plan(**BOX)), ValueError, "features must name the columns"),
    *(
        (
            collection(LocallyPrivateTreeClassifier(protect=protect, **declared), features=["a"]),
            PrivacyLeakError,
            f"rows {missing} must be declared",
        )
        for protect in ("record", "label")
        for declared, missing in (({}, "bounds and classes"), ({"bounds": (0, 1)}, "classes"))
    ),
    *(
        (
            collection(number_plan(**{missing: None}, split_share=0), features=NAMES),
            PrivacyLeakError,
            f"without public rows {missing} must be declared",
        )
        for missing in ("bounds_X", "bounds_y")
    ),
    *(
        (collection(number_plan(), number_rows(50)[0], y), ValueError, match)
        for y, match in ((["many"] * 50, "y holds text"), ([NAN] * 50, "NaN"), (np.ones((50, 2)), "1d array"))
    ),
    (collection(OF_DOMAIN), PrivacyLeakError, "classes must be declared"),
    (
        collection(LocallyPrivateTreeClassifier(domain=make_domain(), bounds=(0, 1)), *FEW),
        ValueError,
        "domain",
    ),
    (collection(OF_DOMAIN, [RECORD] * 4, [0, 1] * 2, features=["age"]), ValueError, "columns of the domain"),
    (splits(LocallyPrivateTreeClassifier(bounds=(0, 1))), PrivacyLeakError, "classes must be declared"),
    *(
        (splits(LocallyPrivateTreeClassifier(3.0, **BOX, **options)), ValueError, "cannot shape a tree")
        for options in ({"rule": "random"}, {"protect": "label"}, {"split_share": 0})
    ),
    (splits(LocallyPrivateTreeClassifier(3.0, **BOX), n_clients=1), ValueError, "cannot shape a tree"),
    (
        collection(LocallyPrivateTreeClassifier(3.0, **BOX, split_share=0.5), features=NAMES),
        ValueError,
        "SplitCurator, or pass split_share=0",
    ),
    (
        lambda: splits(LocallyPrivateTreeClassifier(3.0, **BOX))().shape(n_clients=10),
        ValueError,
        "no reports yet",
    ),
    (lambda: collection(label_plan(), *FEW)().release(), ValueError, "no reports yet"),
]


@pytest.mark.parametrize(("call", "error", "match"), PLANS)
def test_plans(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_a_plan_with_a_ledger(tmp_path):
    with pytest.raises(ValueError, match="ledger must be None"):
        collection(label_plan(ledger=PrivacyLedger(tmp_path / "ledger")), *FEW)()


# Updates count all or nothing


def full_curator(mechanism="hadamard"):
    """A curator that has counted some reports."""
    curator = collection(label_plan(mechanism), *FEW)()
    curator.update(curator.specification.randomizer.randomize(np.arange(12) % 8, 0))
    return curator


@pytest.mark.parametrize(
    ("mechanism", "bad", "error", "match"),
    [
        *(("hadamard", bad, ValueError, "whole number") for bad in (b"x", [b"xx", b"x"], [b"x", b"x"])),
        *(("hadamard", bad, TypeError, "report") for bad in ("text", [1], 5, None, {b"xx": 1}, np.zeros(3))),
        ("hadamard", np.zeros((3, 1), "<u2"), ValueError, "shape"),
        # Every bit set: a vote for everybody. Then numbers so large that the sum would wrap around.
        ("subset", [b"\x0f\x00" * 3, b"\xff\xff"], ValueError, "report"),
        ("laplace", np.full((4, 2, 8), 2**60), ValueError, r"exceed 2\^63|too large"),
    ],
)
def test_updates(mechanism, bad, error, match):
    curator = full_curator(mechanism)
    before = curator.to_bytes()
    with pytest.raises(error, match=match):
        curator.update(bad)
    assert curator.to_bytes() == before


def test_sums_never_wrap_around():
    curator = full_curator("laplace")
    huge = np.full((1, 2, curator.specification.partition.n_leaves), 2**61)
    for _ in range(3):
        curator.update(huge)
    before = curator.to_bytes()
    with pytest.raises(ValueError, match=r"exceed 2\^63"):
        curator.update(huge)
    assert curator.to_bytes() == before


# States


def replaced(old, new):
    return lambda data: data.replace(old, new, 1)


def negative_counts(data):
    return pack_integers(-unpack_integers(json.loads(data)["public_counts"], (-1,)))


LABEL_STATES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-9],
    "binary": lambda data: b"\x80" + data,
    "pickle": lambda data: b"cos\nsystem\n(S'true'\ntR.",
    "deep": lambda data: b"[" * 100_000,
    "foreign": replaced(b"skprivate.curator", b"skprivate.other"),
    "newer": replaced(b'"version": 4', b'"version": 5'),
    "older": replaced(b'"version": 4', b'"version": 3'),
    "changed": replaced(b'"named": false', b'"named": true'),
    "negative public counts": lambda data: resealed(data, public_counts=negative_counts(data)),
    **{
        str(change): functools.partial(resealed, **change)
        for change in (
            {"more": 1},
            *({"counts": counts} for counts in ("AAAAAAAAAAA=", None, "????")),
            {"public_counts": ""},
            *({"history": history} for history in ({"a": [2, 1]}, {"a": ["1", "1"]}, [])),
            {"history": {"a": [2**70, 2**70]}, "stream": None},
            {"stream": "unknown"},
            {"specification": "/etc/passwd"},
            *({"tree": tree} for tree in ({"unknown": 1}, {"epsilon": -1})),
            *({"bounds": box} for box in ([0], [[10**400] * 2, [1, 1]], [[-9, -9], [9, 9]])),
            {"tree__epsilon": 1e-3},
            {"tree__protect": "label", "tree__mechanism": "auto"},
            {"rule": "mine"},
        )
    },
}


@pytest.mark.parametrize("name", LABEL_STATES)
def test_states_about_labels(name):
    with pytest.raises(ValueError, match="not a valid state of a curator"):
        TreeCurator.from_bytes(LABEL_STATES[name](full_curator().to_bytes()))


HADAMARD = HadamardRandomizer(3.0, 4, 2, signed=True)
SIGNED = {"counts": pack_integers(np.zeros(HADAMARD.counts_shape, dtype=np.int64))}
NO_ROWS = number_plan(mechanism="hadamard", split_share=0, max_depth=2)


def signed_specification(partition):
    return TreeSpecification(partition, HADAMARD, features=NAMES, bounds_y=(-5, 15)).to_dict()


@pytest.mark.parametrize(
    ("change", "match"),
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
def test_states_about_numbers(change, match):
    data = collection(number_plan(), *number_rows(200, seed=1), features=NAMES)().to_bytes()
    assert TreeCurator.from_bytes(resealed(data)).to_bytes() == data
    with pytest.raises(ValueError, match=f"not a valid state of a curator.*{match}"):
        TreeCurator.from_bytes(resealed(data, **change))


def test_numbers_of_public_rows_and_mechanisms_of_a_state():
    data = collection(number_plan(), *number_rows(200, seed=1), features=NAMES)().to_bytes()
    with pytest.raises(ValueError, match="negative"):
        TreeCurator.from_bytes(resealed(data, public_counts=[-1.0, *json.loads(data)["public_counts"][1:]]))
    own = collection(NO_ROWS, features=NAMES)()
    other = signed_specification(own.specification.partition)
    with pytest.raises(ValueError, match="how many clients a leaf holds"):
        TreeCurator.from_bytes(resealed(own.to_bytes(), specification=other, **SIGNED))


@pytest.mark.parametrize("domain", [make_domain(job=["smith", "clerk"]).to_dict(), 7])
def test_states_about_two_domains(domain):
    plan = LocallyPrivateTreeClassifier(8.0, domain=make_domain(), classes=["no", "yes"], max_depth=2)
    data = collection(plan)().to_bytes()
    for foreign in ({"domain": domain}, None):
        with pytest.raises(ValueError, match="not a valid state of a curator"):
            TreeCurator.from_bytes(resealed(data, tree__domain=foreign))


# Counts from elsewhere

LAPLACE = {"mechanism": "laplace"}
SERVICE = {"mechanism": "discrete-laplace", "epsilon": 1, "relation": "add-remove"}


@pytest.mark.parametrize(
    ("table", "declared", "error", "match"),
    [
        *(
            (table, SERVICE, ValueError, "counts must be")
            for table in (
                *(np.zeros((8, 3)), np.zeros(8), np.zeros((8, 2)), np.full((8, 2), NAN), [["a", "b"]] * 8),
                *(np.full((8, 2), 1e300), np.full((8, 2), 2**64 - 1, dtype=np.uint64)),
            )
        ),
        (np.full((8, 2), 1.25), SERVICE, ValueError, "whole numbers"),
        *(
            (np.ones((8, 2)), declared, error, match)
            for declared, error, match in (
                # As it was before: a statement of epsilon 1/1000 over noise of variance 2.
                ({**LAPLACE, "epsilon": 0.001, "noise_variance": 2.0}, ValueError, "contradict"),
                ({**SERVICE, "noise_variance": 2.0}, ValueError, "contradict"),
                (
                    {"mechanism": "gaussian", "epsilon": 1, "noise_variance": 4, "delta": 1e-6},
                    ValueError,
                    "contradict",
                ),
                ({"mechanism": "gaussian", "epsilon": 1, "delta": 1e-6}, TypeError, "and delta"),
                ({"mechanism": "gaussian", "noise_variance": 4}, TypeError, "noise_variance and delta"),
                (LAPLACE, TypeError, "epsilon or noise_variance"),
                ({**LAPLACE, "epsilon": 1, "delta": 1e-6}, ValueError, "delta must be 0"),
                ({**LAPLACE, "epsilon": 1e200}, ValueError, "beyond what counts"),
                ({**LAPLACE, "epsilon": 1, "relation": "local"}, ValueError, "relation must be one of"),
                ({"mechanism": "geometric", "epsilon": 1}, ValueError, "mechanism must be one of"),
                ({**LAPLACE, "epsilon": 1, "max_rows_per_unit": 0}, ValueError, "max_rows_per_unit"),
                *(
                    ({**LAPLACE, "noise_variance": variance}, ValueError, "noise_variance")
                    for variance in (-1, 0, INF, NAN)
                ),
            )
        ),
    ],
)
def test_counts_from_elsewhere(table, declared, error, match):
    curator = collection(label_plan(), *FEW)()
    assert curator.specification.partition.n_leaves == 8
    with pytest.raises(error, match=match):
        curator.from_counts(table, **declared)


@pytest.mark.parametrize(
    "known", [{"epsilon": 1e-170}, {"noise_variance": Fraction(1, 10**400)}, {"noise_variance": 5e-324}]
)
@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace"])
def test_noise_of_a_service_that_doubles_cannot_hold(mechanism, known):
    with pytest.raises(ValueError, match="in doubles"):
        ExternalNoise.of(mechanism, **known)


def test_counts_about_numbers():
    curator = collection(NO_ROWS, features=NAMES)()
    with pytest.raises(ValueError, match="asks for a number"):
        curator.from_counts(np.ones((4, 2)), mechanism="laplace", epsilon=1.0)


# Files of reports: the byte is named where they stop being one

TEN = PLAIN.randomizer.randomize(np.arange(10), random_state=0)


def patched(where, content):
    return lambda data: data[:where] + content + data[where + len(content) :]


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        *((lambda data, n=n: data[:n], f"byte {n}: the file ends within its header") for n in (0, 3, 8, 12)),
        *((lambda data, n=n: data[:n], f"byte {n}: the file ends") for n in (71, 72, 73, 91)),
        (patched(0, b"P"), "byte 0: this is not a file of reports"),
        (patched(8, b"\x03"), "byte 8: a newer version.*update"),
        (patched(8, b"\x00"), "byte 8: the version must be 1"),
        (patched(12, b"\x00" * 32), "byte 12: these reports answer another specification, 00000000"),
        (patched(60, b"\x04"), "byte 60: reports of 4 bytes"),
        (patched(64, b"\x0b"), "byte 92: the file ends here, but should have 94 bytes"),
        (patched(64, b"\x09"), "byte 90: there are more bytes after the last report"),
    ],
)
def test_files_of_reports(tmp_path, damage, match):
    path = write_reports(tmp_path / "reports.bin", PLAIN, TEN)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=rf"reports\.bin, {match}"), ReportReader(path, PLAIN) as reader:
        list(reader.chunks())


def test_a_file_that_is_cut_while_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_report_files, "_CHUNK_BYTES", 8)
    path = write_reports(tmp_path / "reports.bin", PLAIN, TEN)
    with ReportReader(path, PLAIN) as reader:
        chunks = reader.chunks()
        np.testing.assert_array_equal(next(chunks)[1], TEN[:4])
        os.truncate(path, 72 + 13)
        with pytest.raises(ValueError, match=r"reports\.bin, byte 85: .* while it was read"):
            next(chunks)


def test_what_is_no_file_of_reports(tmp_path):
    with pytest.raises(ValueError, match="byte 0: this is not a regular file"):
        ReportReader("/dev/zero", PLAIN).__enter__()
    with pytest.raises(FileNotFoundError):
        ReportReader(tmp_path / "none", PLAIN).__enter__()


def test_bad_reports_are_refused_by_the_writer(tmp_path):
    specification, path = make_specification("subset"), tmp_path / "reports.bin"
    good = specification.randomizer.randomize(np.arange(4), random_state=0)
    bad = [bytes(specification.randomizer.report_bytes), b"x", TEN]
    with _report_files.ReportWriter(path, specification) as writer:
        writer.write(good)
        for reports, error, match in zip(
            bad, (ValueError, ValueError, TypeError), ("report", "not a whole number", "another"), strict=True
        ):
            with pytest.raises(error, match=match):
                writer.write(reports)
        assert writer.n_reports == 4
    with pytest.raises(FileExistsError, match="not overwritten"):
        write_reports(path, specification, good)
    with pytest.raises(RuntimeError, match="`with` block"):
        _report_files.ReportWriter(tmp_path / "other.bin", specification).write(good)
