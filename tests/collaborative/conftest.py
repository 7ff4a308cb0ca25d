# SPDX-License-Identifier: BSD-3-Clause
"""Messages of every kind, forged or damaged, and keys that are the same in every run."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from skprivate.collaborative._protocols.messages import Answer, Query, SiteCard

#: True of most random responses and parties, and tested by name where they are: here they say nothing new.
EXPECTED = (r"\w+Aggregator protects less than its parameters promise. a party", "A prediction rests on few")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for message in EXPECTED:
                item.add_marker(pytest.mark.filterwarnings(f"ignore:{message}"), append=False)


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


@pytest.fixture
def fixed_keys() -> Callable[..., dict]:
    """``fixed_keys(names, seed)``: the same private halves in every run, and nothing done with them yet."""
    from skprivate.collaborative import SiteKey

    def make(names, seed=0):
        rng = np.random.default_rng(seed)
        keys = {name: SiteKey.from_bytes(rng.bytes(32)) for name in names}
        for key in keys.values():
            key._memory.remembered.clear()
        return keys

    return make


def _damaged(message: bytes, other: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """One message of each kind of damage; `other` is a right message of another site."""
    place = int(rng.integers(len(message)))
    bit = 1 << int(rng.integers(8))
    yield message[:place] + bytes([message[place] ^ bit]) + message[place + 1 :]
    yield message[:place]
    yield message[place + 1 :]
    yield message + rng.bytes(int(rng.integers(1, 100)))
    yield rng.bytes(int(rng.integers(1, 100))) + message
    yield message + message
    yield rng.bytes(len(message))
    yield bytes(len(message))
    yield other
    # Two fields of equal length change places: both 60 bytes, as a member's piece is, or both 32.
    for width in (60, 32):
        if len(message) >= 2 * width:
            yield message[width : 2 * width] + message[:width] + message[2 * width :]
            yield message[:-width] + message[:width]
    # The start of one and the end of the other.
    cut = int(rng.integers(1, len(message)))
    yield message[:cut] + other[cut:]
    yield b""


@pytest.fixture
def corruptions() -> Callable[..., Iterator[dict[str, bytes]]]:
    """``corruptions(messages, n, seed)``: n sets of messages, each with one damaged."""

    def make(messages: Mapping[str, bytes], n: int, seed: int = 0) -> Iterator[dict[str, bytes]]:
        rng = np.random.default_rng(seed)
        names = list(messages)
        made = 0
        while True:
            victim, donor = rng.permutation(names)[:2]
            for bad in _damaged(messages[victim], messages[donor], rng):
                if bad == messages[victim]:
                    continue
                yield {**messages, victim: bad}
                made += 1
                if made == n:
                    return

    return make
