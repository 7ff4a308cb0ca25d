# SPDX-License-Identifier: BSD-3-Clause
"""Messages: what is written is what is read, and a message that says anything else is refused."""

import dataclasses
import hashlib
import json
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
)
from skprivate.exceptions import ConsentError

ID = bytes(range(16))


def forged(message, *, body=None, **fields):
    """The message with other fields in its header, and another payload of the right checksum."""
    end = 4 + int.from_bytes(message[:4], "little")
    if body is not None:
        fields["sha256"] = hashlib.sha256(body).hexdigest()
    head = json.dumps(json.loads(message[4:end]) | fields, sort_keys=True, separators=(",", ":")).encode()
    return len(head).to_bytes(4, "little") + head + (message[end:] if body is None else body)


def headed(head, body=b""):
    """A message with this very text as its header."""
    return len(head).to_bytes(4, "little") + head + body


def header(message):
    return message[4 : 4 + int.from_bytes(message[:4], "little")]


def numbers(*values):
    return np.array(values, dtype="<f8").tobytes()


ASKED = bytes(range(32))
QUERY = Query(ID, np.array([[1.0, 5e-324], [-0.0, 1e308]]), ("a", "b"), ASKED).to_bytes()
TABLE = Query(ID, np.array([["x", None], [np.nan, True]], dtype=object)).to_bytes()
ANSWER = Answer(ID, "north", 7, np.array([[0.5], [np.nan]]), ASKED).to_bytes()
CARD = SiteCard("north", 7, 2, ("high", "low"), 70, ("age", "sbp")).to_bytes()
READERS = {
    QUERY: Query.from_bytes,
    TABLE: Query.from_bytes,
    ANSWER: Answer.from_bytes,
    CARD: SiteCard.from_bytes,
}


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


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (Query.from_bytes, forged(QUERY, shape=[4])),
        (Query.from_bytes, forged(QUERY, shape=[1, 2, 2])),
        (Query.from_bytes, forged(QUERY, shape=[3, 2])),
        (Query.from_bytes, forged(QUERY, names=["a"])),
        (Query.from_bytes, forged(QUERY, names=3)),
        (Query.from_bytes, forged(QUERY, id="00")),
        (Query.from_bytes, forged(QUERY, id="no hexadecimal number, but 32 ch")),
        (Query.from_bytes, forged(QUERY, id=None)),
        (Query.from_bytes, forged(TABLE, table=[["x", None], [{"a": 1}, True]])),
        (Query.from_bytes, forged(TABLE, table=[["x", None]] * 3)),
        (Query.from_bytes, forged(TABLE, table=[["x", None]])),
        (Query.from_bytes, forged(TABLE, table=[["x"], ["y"]])),
        (Query.from_bytes, forged(TABLE, shape=[2**40, 2**40])),
        (Query.from_bytes, forged(QUERY, shape=[0, 2], body=b"")),
        (Query.from_bytes, forged(QUERY, shape=[-1, 2])),
        (Query.from_bytes, forged(QUERY, shape=[-2, -2])),
        (Query.from_bytes, forged(QUERY, shape=[2, True])),
        (Query.from_bytes, forged(QUERY, shape=[1, 2**62], body=b"")),
        (Query.from_bytes, forged(QUERY, names=["a", "a"])),
        (Query.from_bytes, forged(QUERY, names=["a", "b\ud800"])),
        (Query.from_bytes, forged(QUERY, roster="00")),
        (Query.from_bytes, forged(QUERY, id="0A" * 16)),
        (Query.from_bytes, forged(QUERY, id=" " + "00" * 16)),
        (Query.from_bytes, forged(QUERY, body=numbers(1, np.nan, 2, 3))),
        (Query.from_bytes, forged(QUERY, body=numbers(1, -np.inf, 2, 3))),
        (Query.from_bytes, forged(QUERY, body=numbers(1, 2, 3, 4) + b"\0")),
        (Query.from_bytes, forged(TABLE, body=numbers(1))),
        (Query.from_bytes, forged(TABLE, table=[["\udfff", None], ["y", True]])),
        (Query.from_bytes, headed(header(TABLE).replace(b"true", b"1e999"))),
        (Query.from_bytes, headed(header(TABLE).replace(b"true", b"1.50"))),
        (Query.from_bytes, headed(header(TABLE).replace(b"true", b"9" * 5000))),
        (Query.from_bytes, headed(header(TABLE).replace(b'{"format"', b'{"names":["a","b"],"format"'))),
        (Query.from_bytes, headed(header(TABLE) + b" ")),
        (Query.from_bytes, headed(b"[" * 100_000)),
        (Query.from_bytes, headed(header(TABLE).replace(b"true", b"[" * 900 + b"]" * 900))),
        (Answer.from_bytes, forged(ANSWER, shape=[-1, 1])),
        (Answer.from_bytes, forged(ANSWER, n_samples=-7)),
        (Answer.from_bytes, forged(ANSWER, n_samples=0)),
        (Answer.from_bytes, forged(ANSWER, n_samples=2**60)),
        (Answer.from_bytes, forged(ANSWER, site="\ud800")),
        (Answer.from_bytes, forged(ANSWER, site="")),
        (Answer.from_bytes, forged(ANSWER, asked="00")),
        (Answer.from_bytes, forged(ANSWER, asked=None)),
        (Answer.from_bytes, forged(ANSWER, body=numbers(1, np.inf))),
        (SiteCard.from_bytes, forged(CARD, n_samples=-1)),
        (SiteCard.from_bytes, forged(CARD, n_features=2**50)),
        (SiteCard.from_bytes, forged(CARD, site="a\udc00")),
        (SiteCard.from_bytes, forged(CARD, site="")),
        (SiteCard.from_bytes, forged(CARD, classes=["high", "high"])),
        (SiteCard.from_bytes, forged(CARD, classes=[1, True])),
        (SiteCard.from_bytes, forged(CARD, classes=[])),
        (SiteCard.from_bytes, forged(CARD, classes=["\ud800"])),
        (SiteCard.from_bytes, forged(CARD, refined_to=-1)),
        (SiteCard.from_bytes, forged(CARD, refined_to=2.5)),
        (SiteCard.from_bytes, forged(CARD, columns=["age"])),
        (SiteCard.from_bytes, forged(CARD, columns=["age", "age"])),
        (SiteCard.from_bytes, forged(CARD, columns=["age", "\ud800"])),
        (SiteCard.from_bytes, forged(CARD, columns=["age", 3])),
        (SiteCard.from_bytes, forged(CARD, columns="as")),
        (SiteCard.from_bytes, forged(CARD, columns=[])),
        (SiteCard.from_bytes, forged(CARD, body=numbers(1))),
        *((READERS[message], message[:-1]) for message in (QUERY, TABLE, ANSWER, CARD)),
        *((READERS[message], message + b"\0") for message in (QUERY, TABLE, ANSWER, CARD)),
        # An allocation of so many bytes, if it were taken for a number of them.
        (Query.from_bytes, 2**50),
        (Query.from_bytes, None),
        (Query.from_bytes, ANSWER),
        (Query.from_bytes, forged(QUERY, more=1)),
        (Query.from_bytes, forged(QUERY, version=4)),
        (Query.from_bytes, b"\x02\0\0\0\xff\xff"),
        (Answer.from_bytes, forged(ANSWER, shape=[2])),
        (Answer.from_bytes, forged(ANSWER, shape=[1, 1, 2])),
        (Answer.from_bytes, forged(ANSWER, site=3)),
        (Answer.from_bytes, forged(ANSWER, n_samples="7")),
        (Answer.from_bytes, forged(ANSWER, n_samples=True)),
        (Answer.from_bytes, forged(ANSWER, id="00" * 15)),
        (Answer.from_bytes, ANSWER[:-1] + b"\0"),
        (Answer.from_bytes, ANSWER + bytes(8)),
        (SiteCard.from_bytes, forged(CARD, site=None)),
        (SiteCard.from_bytes, forged(CARD, n_samples=0)),
        (SiteCard.from_bytes, forged(CARD, n_features=2.0)),
        (SiteCard.from_bytes, forged(CARD, classes=3)),
        (SiteCard.from_bytes, forged(CARD, classes=[["high"]])),
        (SiteCard.from_bytes, QUERY),
    ],
)
def test_anything_else_is_refused(read, message):
    with pytest.raises(ConsentError, match="The message is"):
        read(message)


@pytest.mark.parametrize("message", READERS)
def test_another_version_is_refused_by_name(message):
    with pytest.raises(ConsentError, match="it is of version 1, and this version of skprivate reads 3"):
        READERS[message](forged(message, version=1))


@pytest.mark.parametrize(
    ("X", "names", "named"),
    [
        (np.array([[np.nan]]), None, "finite"),
        (np.array([[np.inf]]), None, "finite"),
        (np.array([[float("inf")]], dtype=object), None, "infinite"),
        (np.array([["\ud800"]], dtype=object), None, "surrogate"),
        (np.array([["\ud800"]]), None, "surrogate"),
        (np.ones((1, 2)), ("a", "a"), "all different"),
        (np.ones((1, 2)), ("a",), "as many as"),
        (np.ones((1, 1)), ("\udc00",), "surrogate"),
        (np.ones((0, 2)), None, "at least one row"),
        (np.ones((1, 0)), None, "at least one row"),
    ],
)
def test_what_is_no_query_is_not_sent(X, names, named):
    with pytest.raises(ValueError, match=named):
        Query(ID, X, names).to_bytes()


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


@pytest.mark.parametrize("unit", ["ns", "us", "D"])
def test_dates_do_not_travel_as_numbers(unit):
    # In nanoseconds numpy's tolist and item give whole numbers, and None for NaT.
    for text in ("2020-01-01", "NaT"):
        column = np.array([[text]], dtype=f"datetime64[{unit}]")
        cells = np.empty((1, 1), dtype=object)
        cells[0, 0] = column[0, 0]
        for rows in (column, column - column, cells):
            with pytest.raises(TypeError, match="numbers, strings and booleans"):
                make_query(rows).to_bytes()


def test_what_lies_under_a_mask_does_not_travel():
    with pytest.raises(ValueError, match="a query must not be a masked array"):
        make_query(np.ma.array([[1.0, 2.0]], mask=[[True, False]]))


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


def test_a_whole_number_beyond_every_double_is_refused_as_an_infinite_one_is():
    whole = int(np.finfo(float).max)
    assert Query.from_bytes(make_query(np.array([[whole]], dtype=object)).to_bytes()).X.tolist() == [[whole]]
    for found in (2**1024, -(2**1024)):
        with pytest.raises(ConsentError, match="beyond what a double holds"):
            Query.from_bytes(forged(TABLE, table=[["x", found], ["y", True]]))


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


def test_classes_are_text_or_numbers():
    # As one array of numpy 1 and "1" would be one label.
    with pytest.raises(ConsentError, match="all text or all numbers"):
        SiteCard.from_bytes(forged(CARD, classes=[1, "1"]))


def test_no_repr_shows_a_row_or_an_answer():
    value = np.array([[38.25]])
    for message in (Query(ID, value), Answer(ID, "north", 7, value, ASKED)):
        assert "38" not in repr(message)
