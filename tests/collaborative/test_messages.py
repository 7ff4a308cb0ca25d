# SPDX-License-Identifier: BSD-3-Clause
"""Messages: what is written is what is read, and a message that says anything else is refused."""

import json

import numpy as np
import pytest

from skprivate.collaborative._messages import Answer, Query, SiteCard, new_query_id
from skprivate.exceptions import ConsentError

ID = bytes(range(16))


def forged(message, **fields):
    """The message with other fields in its header; its payload and checksum are as they were."""
    end = 4 + int.from_bytes(message[:4], "little")
    head = json.dumps(json.loads(message[4:end]) | fields, sort_keys=True, separators=(",", ":")).encode()
    return len(head).to_bytes(4, "little") + head + message[end:]


QUERY = Query(ID, np.array([[1.0, np.nan], [-0.0, np.inf]]), ("a", "b")).to_bytes()
TABLE = Query(ID, np.array([["x", None], [np.nan, True]], dtype=object)).to_bytes()
ANSWER = Answer(ID, "north", 7, np.array([[0.5], [np.nan]])).to_bytes()
CARD = SiteCard("north", 7, 2, ("high", "low")).to_bytes()


def test_ids_are_fresh():
    assert len({new_query_id() for _ in range(100)}) == 100
    assert len(new_query_id()) == 16


def test_what_is_written_is_read():
    query = Query.from_bytes(QUERY)
    assert (query.query_id, query.names) == (ID, ("a", "b"))
    assert query.X.tobytes() == np.array([[1.0, np.nan], [-0.0, np.inf]]).tobytes()
    answer = Answer.from_bytes(ANSWER)
    assert (answer.query_id, answer.site, answer.n_samples) == (ID, "north", 7)
    np.testing.assert_array_equal(answer.values, [[0.5], [np.nan]])
    assert SiteCard.from_bytes(CARD) == SiteCard("north", 7, 2, ("high", "low"))


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
        (Query.from_bytes, Query(ID, np.empty((0, 2))).to_bytes()),
        (Query.from_bytes, ANSWER),
        (Query.from_bytes, forged(QUERY, more=1)),
        (Query.from_bytes, forged(QUERY, version=2)),
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


@pytest.mark.parametrize("message", [QUERY, TABLE])
def test_the_forger_of_these_tests_writes_what_is_read(message):
    assert forged(message) == message


def test_names_make_a_frame_only_for_a_model_that_knows_them():
    query = Query(ID, np.array([[1.0, 2.0]]), ("dose", "age"))
    assert type(query.rows(named=False)) is np.ndarray
    assert query.rows(named=True).columns.tolist() == ["dose", "age"]
