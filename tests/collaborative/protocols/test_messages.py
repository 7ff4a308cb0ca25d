# SPDX-License-Identifier: BSD-3-Clause
"""Messages: what is written is what is read, and a message that says anything else is refused."""

import dataclasses
import hashlib
import itertools
import json
import struct
import tracemalloc

import numpy as np
import pytest

from skprivate.collaborative._protocols.messages import (
    Answer,
    Query,
    SiteCard,
    _check_different,
    _classes,
    make_query,
    query_digest,
)
from skprivate.exceptions import ConsentError
from tests.collaborative.conftest import (
    ANSWER,
    ASKED,
    CARD,
    ID,
    QUERY,
    READERS,
    TABLE,
    forged,
    header,
    numbers,
)


def test_ids_are_fresh():
    ids = {make_query([[1.0]]).query_id for _ in range(100)}
    assert len(ids) == 100
    assert {len(one) for one in ids} == {16}


def test_what_is_written_is_read():
    query = Query.from_bytes(QUERY)
    assert (query.query_id, query.names) == (ID, ("a", "b"))
    assert query.X.tobytes() == np.array([[1.0, 5e-324], [-0.0, 1e308]]).tobytes()
    assert query.roster == ASKED
    answer = Answer.from_bytes(ANSWER)
    assert (answer.query_id, answer.site, answer.n_samples) == (ID, "north", 7)
    np.testing.assert_array_equal(answer.values, [[0.5], [np.nan]])
    assert answer.asked == ASKED
    assert SiteCard.from_bytes(CARD) == SiteCard("north", 7, 2, ("high", "low"), 70, ("age", "sbp"))


def test_a_table_keeps_its_cells():
    cells = np.array([["x", None], [np.nan, True]], dtype=object)
    found = Query.from_bytes(TABLE).X
    assert found[0].tolist() == ["x", None]
    assert found[1, 1] is True
    assert np.isnan(found[1, 0])
    numbers = Query(ID, np.array([[np.float32(0.5), np.int64(3)]], dtype=object)).to_bytes()
    assert Query.from_bytes(numbers).X.tolist() == [[0.5, 3]]
    cells[0, 0] = 1j
    with pytest.raises(TypeError, match="numbers, strings and booleans"):
        Query(ID, cells).to_bytes()


def test_columns_of_numbers_reach_the_model_as_numbers():
    rows = Query(ID, np.array([["x", 1.5], ["y", 2.5]], dtype=object), ("ward", "dose")).rows(named=False)
    assert rows["dose"].dtype == np.float64
    assert list(rows.columns) == ["ward", "dose"]


def test_numbers_travel_in_one_byte_order():
    end = 4 + int.from_bytes(ANSWER[:4], "little")
    assert ANSWER[end : end + 8] == b"\0\0\0\0\0\0\xe0\x3f"


def test_a_missing_value_travels_as_a_cell():
    cells = np.array([[1.5, np.nan], [None, 2.0]], dtype=object)
    found = Query.from_bytes(Query(ID, cells).to_bytes()).X
    assert found[0, 0] == 1.5
    assert np.isnan(found[0, 1])
    assert found[1, 0] is None


def mutated(message, rng):
    """The message with a few bytes changed, lost, repeated or exchanged for what means something in JSON."""
    broken = bytearray(message)
    for _ in range(rng.integers(1, 4)):
        place, length = int(rng.integers(len(broken))), int(rng.integers(1, 9))
        kind = rng.integers(6)
        if kind == 0:
            broken[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del broken[place : place + length]
        elif kind == 2:
            broken[place:place] = broken[place : place + length]
        elif kind == 3:
            broken[place:place] = rng.bytes(length)
        elif kind == 4:
            broken[place : place + 1] = rng.choice(
                [b"-", b"9" * 20, b"[", b"]", b"{", b"null", b'"', b"1e999", b"NaN"]
            )
        else:
            broken = broken[:place] or broken
    # Half of them with a length that fits, so that more than the length is tried.
    end = broken.find(b"}", 4) + 1
    if end and rng.integers(2):
        broken[:4] = (end - 4).to_bytes(4, "little")
    return bytes(broken)


def read_or_refused(message, mutant):
    """A ConsentError, or what is read is exactly what would be written: one content has one form."""
    try:
        found = READERS[message](mutant)
    except ConsentError:
        return
    assert found.to_bytes() == mutant


@pytest.mark.parametrize("message", READERS, ids=["query", "table", "answer", "card"])
def test_2000_mutants_are_read_as_they_are_or_refused(message):
    rng = np.random.default_rng(0)
    for _ in range(2000):
        read_or_refused(message, mutated(message, rng))


def test_no_mutant_takes_much_memory():
    rng = np.random.default_rng(2)
    for message in READERS:
        read_or_refused(message, message)
        mutants = [mutated(message, rng) for _ in range(100)]
        tracemalloc.start()
        for mutant in mutants:
            read_or_refused(message, mutant)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # Of a message of some hundred bytes.
        assert peak < 2**18


@pytest.mark.parametrize("message", READERS, ids=["query", "table", "answer", "card"])
def test_mutants_of_one_field_are_read_as_they_are_or_refused(message):
    rng = np.random.default_rng(1)
    values = [None, True, -1, 0, 2**53, 2**64, 10**400, 0.5, -0.0, "", "00" * 16, "00" * 32, "\ud800",
              [], [-1, -1], [[]], [1, 1], [2, 1], ["a", "b"], [["nan"], ["nan"]], {}, {"a": [1]}]  # fmt: skip
    fields = [field for field in json.loads(header(message)) if field not in ("sha256",)]
    for _ in range(500):
        changed = {str(field): values[rng.integers(len(values))] for field in rng.choice(fields, size=2)}
        body = (
            numbers(*rng.choice([0.0, np.nan, np.inf, 1.0], size=rng.integers(6)))
            if rng.integers(2)
            else None
        )
        read_or_refused(message, forged(message, body=body, **changed))


@pytest.mark.parametrize("message", READERS)
def test_the_forger_of_these_tests_writes_what_is_read(message):
    assert forged(message) == message


def test_names_make_a_frame_only_for_a_model_that_knows_them():
    query = Query(ID, np.array([[1.0, 2.0]]), ("dose", "age"))
    assert type(query.rows(named=False)) is np.ndarray
    assert query.rows(named=True).columns.tolist() == ["dose", "age"]


@pytest.mark.parametrize("whole", [2**53 + 1, -(2**53) - 1, 2**64 - 1])
def test_whole_numbers_that_a_double_would_round_are_asked_as_they_are(whole):
    found, beside = (
        Query.from_bytes(make_query(np.array([[number]])).to_bytes()) for number in (whole, whole - 1)
    )
    assert found.X.tolist() == [[whole]]
    assert found.digest != dataclasses.replace(beside, query_id=found.query_id).digest
    assert make_query(np.array([[2**53, -(2**53)]])).X.dtype == np.float64


def test_the_columns_of_an_arrow_table_have_names_and_not_values():
    pyarrow = pytest.importorskip("pyarrow")
    query = make_query(pyarrow.table({"dose": [1.5, 2.5], "age": [3.0, 4.0]}))
    assert query.names == ("dose", "age")
    assert query.X.tolist() == [[1.5, 3.0], [2.5, 4.0]]
    pandas = pytest.importorskip("pandas")
    assert make_query(pandas.DataFrame({"column_names": [1.5], "columns": [2.5]})).names == (
        "column_names",
        "columns",
    )


def test_classes_of_one_hash_take_no_quadratic_time():
    # Python's hash of a whole number is its remainder by 2^61 - 1. In a set 30,000 of them take 15 seconds.
    compared = []

    class Label(int):
        __hash__ = int.__hash__

        def __eq__(self, other):
            compared.append(1)
            return int(self) == int(other)

    assert _classes(list(range(5))) == (0, 1, 2, 3, 4)
    labels = [Label(k * (2**61 - 1)) for k in range(300)]
    assert len({hash(label) for label in labels}) == 1
    _check_different(labels)
    assert len(compared) < 300
    with pytest.raises(ValueError, match="all different"):
        _check_different([*labels, Label(0)])


def test_no_repr_shows_a_row_or_an_answer():
    value = np.array([[38.25]])
    for message in (Query(ID, value), Answer(ID, "north", 7, value, ASKED)):
        assert "38" not in repr(message)


CELLS = [None, True, False, 1, 0, 1.0, 0.0, -0.0, float("nan"), "1", "", "None", "\0", "a\0", "é", "e\u0301"]


def test_the_encoding_is_injective():
    f8 = [
        [[0.0]], [[-0.0]], [[1.0]], [[np.nextafter(1.0, 2)]], [[5e-324]], [[0.0, 0.0]], [[0.0], [0.0]],
        [[1.0, 2.0], [3.0, 4.0]], [[1.0, 3.0], [2.0, 4.0]], [[1.0, 2.0, 3.0, 4.0]],
        [[1.0], [2.0], [3.0], [4.0]],
    ]  # fmt: skip
    cells = [
        [["ab", "c"]], [["a", "bc"]], [["a\0b", "c"]], [["a", "b\0c"]], [["ab"], ["c"]], [[1, 23]], [[12, 3]],
    ]  # fmt: skip
    names = [
        None, (), ("a",), ("b",), ("",), ("\0",), ("a", "bc"), ("ab", "c"), ("a,b", "c"), ("names",),
        ("no names",),
    ]  # fmt: skip
    tables = [np.array(rows) for rows in f8] + [[[cell]] for cell in CELLS] + cells
    seen = {
        query_digest(query_id, table, some, roster)
        for query_id, table, some, roster in itertools.product((bytes(16), ID), tables, names, (b"", ID * 2))
    }
    assert len(seen) == 2 * len(tables) * len(names) * 2


def test_every_party_finds_the_same_digest_and_in_any_layout():
    rows = np.arange(6.0).reshape(2, 3)
    layouts = [rows, np.asfortranarray(rows), rows.astype(">f8").astype(float), rows[::-1][::-1]]
    digests = {Query(ID, layout, ("a", "b", "c")).digest for layout in layouts}
    digests.add(Query.from_bytes(Query(ID, rows, ("a", "b", "c")).to_bytes()).digest)
    assert len(digests) == 1
    table = np.array([[cell] for cell in CELLS], dtype=object)
    assert Query.from_bytes(Query(ID, table).to_bytes()).digest == Query(ID, table).digest
    assert Query(ID, np.array([["a"]])).digest == Query(ID, np.array([["a"]], dtype=object)).digest


def test_the_digest_is_the_one_that_is_documented():
    # By hand, from the description in the module: it must not change without a new version.
    parts = [b"skprivate query digest 1", ID, b"", struct.pack(">QQ", 1, 2), b"names", b"a", b"\0"]
    parts += [b"<f8", struct.pack("<dd", -0.0, 2.5)]
    text = b"".join(struct.pack(">Q", len(part)) + part for part in parts)
    assert query_digest(ID, np.array([[-0.0, 2.5]]), ("a", "\0"), b"") == hashlib.sha256(text).digest()
