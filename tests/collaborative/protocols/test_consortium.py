# SPDX-License-Identifier: BSD-3-Clause
"""Masked integers: exact sums, messages that say nothing, and refusals rather than wrong sums."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skprivate.collaborative import MaskedSites, SiteKey
from skprivate.collaborative._protocols.consortium import Consortium
from skprivate.exceptions import ConsentError
from skprivate.utils._json_documents import digest
from tests.collaborative.studies import COLUMNS, MODEL

NAMES = ["north", "south", "west", "east"]
SMALL = 2**60
FIT = MaskedSites.plan_fit(MODEL, n_rows=1000, **COLUMNS)


@pytest.fixture
def parties(fixed_keys):
    keys = fixed_keys([*NAMES, "driver"])
    driver = keys.pop("driver")
    document = MaskedSites.roster({name: key.public for name, key in keys.items()}, driver.public, [FIT])
    return Consortium(document), keys, driver


def masked(parties, request, values):
    study, keys, _ = parties
    return [
        study.mask_integers(keys[name], request, np.array(row, dtype=np.int64))
        for name, row in zip(sorted(NAMES), values, strict=True)
    ]


@settings(max_examples=30, deadline=None)
@given(values=st.lists(st.lists(st.integers(-SMALL, SMALL), min_size=3, max_size=3), min_size=4, max_size=4))
def test_sums_are_exact_and_signed(values):
    keys = {name: SiteKey.generate() for name in [*NAMES, "driver"]}
    driver = keys.pop("driver")
    study = Consortium(MaskedSites.roster({n: key.public for n, key in keys.items()}, driver.public, [FIT]))
    found = study.add_integers(masked((study, keys, driver), b"asked", values), 3)
    assert found.tolist() == [sum(column) for column in zip(*values, strict=True)]


def test_a_site_that_was_asked_otherwise_opens_nothing(parties):
    study = parties[0]
    values = np.ones((4, 2), dtype=np.int64)
    for other in range(4):
        contents = masked(parties, b"asked", values)
        contents[other] = masked(parties, b"asked otherwise", values)[other]
        with pytest.raises(ConsentError, match="do not cancel"):
            study.add_integers(contents, 2)
    for fewer in ([], masked(parties, b"asked", values)[:-1]):
        with pytest.raises(ConsentError, match="do not cancel"):
            study.add_integers(fewer, 2)
    # Sums under a mask that is left over may be in range: the two words behind them show it.
    assert study.add_integers(masked(parties, b"asked", values), 2).tolist() == [4, 4]


def test_no_word_of_a_mask_occurs_twice(parties):
    contents = [masked(parties, request, np.zeros((4, 500)))[0] for request in (b"1", b"2", b"3")]
    words = np.concatenate([np.frombuffer(content, dtype="<u8") for content in contents])
    assert len(np.unique(words)) == len(words) == 3 * 502


def test_answers_are_added_exactly_and_refused_where_masks_do_not_cancel(parties):
    study, keys, _ = parties
    values, sizes = np.array([[0.5, 1.0], [-2.0, 0.25]]), np.array([3.0, 0.0])
    contents = [study.mask_answers(keys[name], b"asked", values, sizes) for name in sorted(NAMES)]
    found, weights = study.add_answers(contents, 4)
    assert found.tolist() == [2.0, 4.0, -8.0, 1.0]
    assert weights.tolist() == [12.0, 12.0, 0.0, 0.0]
    contents[1] = study.mask_answers(keys[sorted(NAMES)[1]], b"other", values, sizes)
    with pytest.raises(ConsentError, match="Nothing was opened"):
        study.add_answers(contents, 4)


def test_messages_are_bound_to_party_request_and_study(parties, fixed_keys):
    study, keys, driver = parties
    request = study.seal_request(driver, "north", b"asked")
    assert study.read_request("north", keys["north"], request) == b"asked"
    reply = study.seal_reply("north", keys["north"], b"asked", b"answer")
    assert study.read_reply(driver, "north", b"asked", reply) == b"answer"
    for name, asked in (("south", b"asked"), ("north", b"other")):
        with pytest.raises(ConsentError):
            study.read_reply(driver, name, asked, reply)
    with pytest.raises(ConsentError):
        study.read_request("south", keys["south"], request)
    stranger = fixed_keys(["stranger"], 5)["stranger"]
    forged = study.seal_request(stranger, "north", b"asked")
    for bad in (forged, request[:-1], request + b"x", b"", b"GET / HTTP/1.1", reply):
        with pytest.raises(ConsentError):
            study.read_request("north", keys["north"], bad)
    for place in range(len(reply)):
        altered = reply[:place] + bytes([reply[place] ^ 1]) + reply[place + 1 :]
        with pytest.raises(ConsentError):
            study.read_reply(driver, "north", b"asked", altered)


def changed(document, **fields):
    content = json.loads(document) | fields
    content.pop("checksum")
    return json.dumps(content | {"checksum": digest(content)}).encode()


@pytest.mark.parametrize(
    "fields",
    [
        {"version": 2},
        {"members": {}},
        {"driver": "no key"},
        {"fits": [FIT | {"estimator": "DPNothing"}]},
        {"fits": [FIT | {"runs": 0}]},
        {"fits": [FIT | {"schema": FIT["schema"] | {"n_features": "2"}}]},
        {"fits": [FIT | {"schema": FIT["schema"] | {"features": None}}]},
        {
            "predictions": {
                "columns": ["a", "a"],
                "classes": None,
                "n_rows": 9,
                "most_rows": None,
                "askers": [""],
            }
        },
        {"predictions": {"columns": ["a"], "classes": None, "n_rows": 9, "most_rows": 0, "askers": [""]}},
    ],
    ids=lambda fields: " ".join(fields),
)
def test_other_documents_are_refused(parties, fields):
    _, keys, driver = parties
    good = MaskedSites.roster({name: key.public for name, key in keys.items()}, driver.public, [FIT])
    assert Consortium(changed(good, title="another")).fingerprint != Consortium(good).fingerprint
    with pytest.raises(ConsentError, match="no roster of a study"):
        Consortium(changed(good, **fields))
    with pytest.raises(ConsentError, match="checksum"):
        Consortium(good.replace(b"DPNormal", b"DPAbnorm"))
