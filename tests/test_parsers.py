# SPDX-License-Identifier: BSD-3-Clause
"""Whatever is read back: a hostile document is a clean error, a right one is written as it was read."""

import json

import pytest

from skprivate import MomentAccumulator
from skprivate.accounting import PrivacySpent
from skprivate.utils._json_documents import (
    Fields,
    check_nesting,
    parse_json,
    read_sealed,
    restore_sealed,
    seal_document,
)
from tests.accounting.records import spend
from tests.mutated_documents import nested
from tests.readers import all_parsers, fuzz

PARSERS = 15


@pytest.fixture(scope="module")
def parsers(tmp_path_factory):
    return all_parsers(tmp_path_factory.mktemp("parsers"))


def test_all_parsers_are_here(parsers):
    assert len(parsers) == PARSERS


@pytest.mark.parametrize("number", range(PARSERS))
def test_right_documents_are_read_and_written_again(parsers, number):
    parser = parsers[number]
    for document in parser.documents:
        if isinstance(document, dict):
            assert parser.write(parser.read(document)) == document
        elif parser.seal is not None:
            again = parser.seal(parser.content(document))
            assert parser.content(parser.write(parser.read(again))) == parser.content(document)
        elif parser.name not in ("consent", "masked sum"):
            parser.read(document)


@pytest.mark.parametrize("number", range(PARSERS))
def test_hostile_documents_are_clean_errors(parsers, number):
    outcome = fuzz(parsers[number], 150)
    assert not outcome.others, f"{parsers[number].name}: {outcome.others}"
    assert outcome.clean > 30


# By hand: what was found where nobody had looked.


def resealed(data, change):
    state = json.loads(data)
    for name in ("format", "version", "checksum"):
        state.pop(name)
    change(state)
    return seal_document("skprivate.moments", 1, state)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["plan"]["grid"].update(exponent=10**9),
        lambda state: state["plan"]["grid"].update(exponent=10**4000),
        lambda state: state["plan"]["grid"].update(lower=[], upper=[]),
        lambda state: state["plan"].update(columns_known=False) or state["plan"]["grid"].update(lower=[]),
        lambda state: state["plan"]["grid"].update(lower=[0.0] * 10**5, upper=[1.0] * 10**5),
        lambda state: state["plan"].update(estimates=[]),
        lambda state: state["plan"].update(estimates={"bounds_X": {"spent": None, "release_id": "a"}}),
        lambda state: state["plan"].update(max_rows=10**400),
        lambda state: state["plan"].pop("max_rows"),
        lambda state: state.update(batches=["a", "a"]),
        lambda state: state.update(target="\ud800"),
    ],
)
def test_a_plan_out_of_range_is_refused_at_once(change):
    data = MomentAccumulator((0, [1, 1]), (1, 2), max_rows=100).to_bytes()
    with pytest.raises(ValueError, match="these are no bytes of an accumulator"):
        MomentAccumulator.from_bytes(resealed(data, change))


@pytest.mark.parametrize("data", [b"text", b"\xff", b"", b"[" * 10**5])
def test_what_is_no_document_at_all(data):
    with pytest.raises(ValueError, match="these are no bytes of an accumulator"):
        MomentAccumulator.from_bytes(data)
    with pytest.raises(ValueError, match="it is not"):
        read_sealed(data, "skprivate.moments", 1, ())


SPENT = spend(1, mechanism="m", relation="local")


@pytest.mark.parametrize(
    "value",
    [
        *({"fraction": "1e999999999"}, {"fraction": "1/0"}, {"fraction": 1}, {"float": "1.5"}, {"float": []}),
        *({"duration": [10**30, 0, 0]}, {"duration": [1]}, {"date": "2020"}, {"date": 5}, {"base64": "?"}),
        *({}, {"a": 1, "b": 2}, {"unknown": 1}, {"mapping": []}, nested(), "\ud800", {"mapping": {1: 1}}),
    ],
)
def test_a_quantity_that_no_statement_holds(value):
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+"):
        PrivacySpent.from_dict({**SPENT.to_dict(), "unprotected": {"n": value}})


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '["\\ud800"]', "[1e999]", "[NaN]", "[" * 70 + "]" * 70])
def test_json_that_nobody_writes(text):
    with pytest.raises(ValueError, match=r"(twice|surrogates|double cannot hold|holds NaN|too deep)"):
        parse_json(text)


def test_nesting_as_deep_as_anybody_writes():
    check_nesting(nested(60))
    with pytest.raises(ValueError, match="too deep"):
        check_nesting(nested(64))


def test_fields_are_of_their_type_and_range():
    fields = Fields({"n": True, "x": 10**400, "s": None, "l": [1, "a"]}, ("n", "x", "s", "l"))
    for read in (
        lambda: fields.integer("n", 0, 9),
        lambda: fields.number("x"),
        lambda: fields.text("s"),
        lambda: fields.numbers("l"),
        lambda: fields.texts("l"),
        lambda: fields.mapping("l"),
        lambda: fields.flag("s"),
    ):
        with pytest.raises(ValueError, match=r"it: . must be"):
            read()
    assert fields.maybe(fields.text, "s") is None
    with pytest.raises(ValueError, match="must have the fields"):
        Fields({}, ("n",))


class Whole:
    """A number that is written as a whole one, whatever was read."""

    def __init__(self, content):
        self.number = int(content["number"])

    def to_bytes(self):
        return seal_document("skprivate.whole", 1, {"number": self.number})


def test_content_that_would_be_written_otherwise_is_refused():
    good, other = (seal_document("skprivate.whole", 1, {"number": number}) for number in (3, 3.0))
    assert restore_sealed(good, "skprivate.whole", 1, ("number",), Whole).number == 3
    with pytest.raises(ValueError, match="not in the one form that is written"):
        restore_sealed(other, "skprivate.whole", 1, ("number",), Whole)
