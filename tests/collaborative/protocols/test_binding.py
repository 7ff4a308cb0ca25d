# SPDX-License-Identifier: BSD-3-Clause
"""A query is its rows, names, id and roster: other rows under one id open nothing, and loudly."""

import itertools
import pickle
import warnings

import numpy as np
import pytest

from skprivate.collaborative import (
    CollaborativeRegressor,
    CollaborativeSite,
    ConsentBox,
    LocalAverageRegressor,
    MaskedSum,
    SiteKey,
)
from skprivate.collaborative._protocols.keys import unseal
from skprivate.collaborative._protocols.masked_sum import WORDS, settle, to_floats, to_words
from skprivate.collaborative._protocols.messages import Query, query_digest
from skprivate.datasets import make_parties
from skprivate.exceptions import ConsentError

M, VICTIM = 6, "3"
NAMES = tuple(map(str, range(M)))
X, Y, SITES = make_parties(600, M, n_features=2, random_state=0)
SITES = np.arange(600) % M
TARGET, OTHER = X[:1], X[1:2]
ONE, TWO = bytes(16), bytes(range(16))
both = pytest.mark.parametrize("kind", [ConsentBox, MaskedSum])


def asked(rows, query_id=ONE, names=None):
    return Query(query_id, np.asarray(rows, dtype=float), names).to_bytes()


def answers(site, rows):
    own = int(site) == SITES
    return LocalAverageRegressor(bandwidth=0.1, bounds=(0, 1)).fit(X[own], Y[own]).predict(rows)


class Sites:
    """Six sites that mask honestly what they are asked, and an operator who chooses what that is."""

    def __init__(self):
        self.sum, self.keys, self.operator = MaskedSum.simulate(NAMES)

    def mask(self, rows, query_id):
        return {
            name: self.sum.mask(name, key, asked(rows[name], query_id), 100 * answers(name, rows[name]), 100)
            for name, key in self.keys.items()
        }

    def words(self, name, rows, query_id, message):
        """What an operator who knows what each site was asked reads in its message: masked numbers."""
        binding = self.sum._bind(asked(rows, query_id))[1]
        link = self.sum._link(self.operator, self.keys[name].public, b"message", binding)
        head = len(self.sum._protocol) + 32
        content = unseal(link, message[head:], self.sum._context(b"message", binding, name))
        return np.frombuffer(content, dtype="<u4").astype(np.int64).reshape(1, 2 * WORDS)


def apart():
    return dict.fromkeys(NAMES, OTHER) | {VICTIM: TARGET}


def test_one_site_asked_other_rows_under_one_id_stops_the_sum():
    sites = Sites()
    messages = sites.mask(apart(), ONE)
    for rows in (TARGET, OTHER):
        with pytest.raises(ConsentError, match="a member was asked other rows") as caught:
            sites.sum.open(sites.operator, asked(rows), messages)
        assert not any(character.isdigit() for character in str(caught.value))
    # The second half of the attack, in which all are asked the same, opens as it should.
    same = dict.fromkeys(NAMES, OTHER)
    total, size = sites.sum.open(sites.operator, asked(OTHER, TWO), sites.mask(same, TWO))
    assert size.tolist() == [100 * M]
    assert total[0] == pytest.approx(sum(100 * answers(name, OTHER)[0] for name in NAMES), rel=1e-12)


def test_an_operator_who_ignores_every_tag_adds_noise():
    # 1,000 times: a sum of masks is below 1e20 of the 2^127 with a probability of 6e-19 each.
    sites = Sites()
    column = np.zeros((1000, 1))
    rows = dict.fromkeys(NAMES, column) | {VICTIM: column + 1}
    words = 0
    for name, key in sites.keys.items():
        query = asked(rows[name])
        message = sites.sum.mask(name, key, query, np.zeros(1000), 0.0)
        binding = sites.sum._bind(query)[1]
        link = sites.sum._link(sites.operator, key.public, b"message", binding)
        content = unseal(
            link, message[len(sites.sum._protocol) + 32 :], sites.sum._context(b"message", binding, name)
        )
        words = words + np.frombuffer(content, dtype="<u4").astype(np.int64).reshape(1000, -1)
    for part in (words[:, :WORDS], words[:, WORDS:]):
        assert (np.abs(to_floats(part)) > 1e20).all()


def test_the_difference_of_two_sums_is_no_answer():
    # The attack, by an operator who forges tags and opens each message with the key of what it was bound to.
    sites = Sites()
    sums = []
    for query_id, rows in ((ONE, apart()), (TWO, dict.fromkeys(NAMES, OTHER))):
        sent = sites.mask(rows, query_id)
        words = sum(sites.words(name, rows[name], query_id, sent[name]) for name in NAMES)
        sums.append(to_floats(words[:, :WORDS])[0])
    gained = answers(VICTIM, TARGET)[0] - answers(VICTIM, OTHER)[0]
    assert abs(gained) > 1e-6
    assert abs((sums[0] - sums[1]) / 100 - gained) > 1e15


def test_masks_that_are_left_are_refused_even_if_every_tag_and_seal_is_right(monkeypatch):
    sites = Sites()
    rows = dict.fromkeys(NAMES, OTHER)
    honest = MaskedSum._masked
    broken = sites.keys[VICTIM]

    def without(self, name, key, binding, numbers):
        if key is not broken:
            return honest(self, name, key, binding, numbers)
        return settle(to_words(numbers.ravel()), 0).astype("<u4").tobytes()

    monkeypatch.setattr(MaskedSum, "_masked", without)
    messages = sites.mask(rows, ONE)
    with pytest.raises(ConsentError, match="masks do not cancel"):
        sites.sum.open(sites.operator, asked(OTHER), messages)


class Gate:
    """Two members of a consent box and its opener."""

    def __init__(self):
        self.box, self.keys, self.opener = ConsentBox.simulate(["a", "b"])

    def seal(self, rows):
        return {name: self.box.seal(name, self.keys[name], asked(rows[name]), [1.0]) for name in self.keys}

    def consent(self, rows, sealed):
        return {
            name: self.box.consent(name, self.keys[name], asked(rows[name]), sealed) for name in self.keys
        }


def test_nobody_consents_to_a_column_for_other_rows():
    gate = Gate()
    sealed = gate.seal({"a": TARGET, "b": OTHER})
    for name, rows in (("a", TARGET), ("b", OTHER)):
        with pytest.raises(ConsentError, match="asked other rows"):
            gate.box.consent(name, gate.keys[name], asked(rows), sealed)


def test_consents_to_other_rows_open_nothing():
    gate = Gate()
    rows = {"a": OTHER, "b": OTHER}
    sealed = gate.seal(rows)
    consents = gate.consent(rows, sealed)
    with pytest.raises(ConsentError, match="asked other rows"):
        gate.box.open(gate.opener, asked(TARGET), sealed, consents)
    assert gate.box.open(gate.opener, asked(OTHER), sealed, consents).tolist() == [[1.0, 1.0]]
    # With tags of the right rows in front, the keys are still those of other ones.
    binding = gate.box._bind(asked(TARGET))[1]
    forged = [
        {
            name: gate.box._pack(binding, message[len(gate.box._protocol) + 32 :])
            for name, message in part.items()
        }
        for part in (sealed, consents)
    ]
    with pytest.raises(ConsentError, match="Nothing was opened"):
        gate.box.open(gate.opener, asked(TARGET), *forged)


@both
@pytest.mark.parametrize(
    "other",
    [
        asked([[2.0, 1.0]]),
        asked([[1.0, np.nextafter(2.0, 3)]]),
        asked([[1.0, 2.0]], names=("a", "b")),
        asked([[1.0, 2.0]] * 2),
    ],
)
def test_an_id_stands_for_its_rows_after_every_restart_within_the_process(kind, other):
    roster, keys, receiver = kind.simulate(["a", "b", "c"])
    publics = {name: key.public for name, key in keys.items()}
    send = kind.mask if kind is MaskedSum else kind.seal
    send(roster, "a", keys["a"], asked([[1.0, 2.0]]), [1.0])
    values = np.ones(len(Query.from_bytes(other).X))
    restarted = [
        (roster, keys["a"]),
        (pickle.loads(pickle.dumps(roster)), keys["a"]),
        (kind(publics, receiver.public), SiteKey.from_bytes(keys["a"].to_bytes())),
        # Under another roster too: an id is for one query.
        (kind(publics, SiteKey.generate().public), SiteKey.from_bytes(keys["a"].to_bytes())),
    ]
    for again, key in restarted:
        with pytest.raises(ConsentError, match="other rows, or other columns, under the same query id"):
            send(again, "a", key, other, values)


@both
def test_messages_of_version_1_are_refused_by_name(kind):
    roster, keys, receiver = kind.simulate(["a", "b", "c"])
    query = asked(OTHER)
    old = dict.fromkeys(keys, bytes(300))
    extra = (old,) if kind is ConsentBox else ()
    with pytest.raises(ConsentError, match="not of this version of the protocol"):
        roster.open(receiver, query, old, *extra)


class MaskedSum2(MaskedSum):
    """A site that was not updated: everything is derived under the protocol's name of before."""

    _protocol = b"skprivate masked sum 2"


@pytest.mark.parametrize("many", [1, 6])
def test_a_masked_answer_of_version_2_is_refused_also_under_the_new_name(many):
    keys = {name: SiteKey.generate() for name in NAMES}
    platform, query = SiteKey.generate(), asked(OTHER)
    publics = {name: key.public for name, key in keys.items()}
    new, old = (kind(publics, platform.public) for kind in (MaskedSum, MaskedSum2))
    assert new.fingerprint != old.fingerprint
    late = NAMES[:many]
    messages = {
        name: (old if name in late else new).mask(name, key, query, [1.0]) for name, key in keys.items()
    }
    for roster in {new} | ({old} if many < M else set()):
        with pytest.raises(ConsentError, match="not of this version of the protocol; all parties need"):
            roster.open(platform, query, messages)
    # Whoever writes the new name, and the new tag, in front has content that was sealed for the old one.
    binding = new._bind(query)[1]
    head = len(new._protocol) + 32
    renamed = {name: new._pack(binding, messages[name][head:]) for name in late}
    with pytest.raises(ConsentError, match="Nothing was opened: a message is altered"):
        new.open(platform, query, messages | renamed)


@both
def test_an_id_alone_is_no_query(kind):
    roster, keys, _ = kind.simulate(["a", "b", "c"])
    send = roster.mask if kind is MaskedSum else roster.seal
    with pytest.raises(ConsentError, match="must be the message"):
        send("a", keys["a"], ONE, [1.0])


CELLS = [
    None,
    True,
    False,
    1,
    0,
    1.0,
    0.0,
    -0.0,
    float("nan"),
    "1",
    "",
    "None",
    "\0",
    "a\0",
    "é",
    "e\u0301",
    b"1".decode(),
]


def test_the_encoding_is_injective():
    f8 = [
        [[0.0]], [[-0.0]], [[1.0]], [[np.nextafter(1.0, 2)]], [[5e-324]], [[0.0, 0.0]], [[0.0], [0.0]],
        [[1.0, 2.0], [3.0, 4.0]], [[1.0, 3.0], [2.0, 4.0]], [[1.0, 2.0, 3.0, 4.0]],
        [[1.0], [2.0], [3.0], [4.0]],
    ]  # fmt: skip
    tables = [np.array(rows) for rows in f8] + [[[cell]] for cell in CELLS[:-1]]
    tables += [
        [["ab", "c"]],
        [["a", "bc"]],
        [["a\0b", "c"]],
        [["a", "b\0c"]],
        [["ab"], ["c"]],
        [[1, 23]],
        [[12, 3]],
    ]
    names = [
        None,
        (),
        ("a",),
        ("b",),
        ("",),
        ("\0",),
        ("a", "bc"),
        ("ab", "c"),
        ("a,b", "c"),
        ("names",),
        ("no names",),
    ]
    seen = {
        query_digest(query_id, table, some, roster)
        for query_id, table, some, roster in itertools.product((ONE, TWO), tables, names, (b"", bytes(32)))
    }
    assert len(seen) == 2 * len(tables) * len(names) * 2


def test_every_party_finds_the_same_digest_and_in_any_layout():
    rows = np.arange(6.0).reshape(2, 3)
    layouts = [rows, np.asfortranarray(rows), rows.astype(">f8").astype(float), rows[::-1][::-1]]
    digests = {Query(ONE, layout, ("a", "b", "c")).digest for layout in layouts}
    digests.add(Query.from_bytes(Query(ONE, rows, ("a", "b", "c")).to_bytes()).digest)
    assert len(digests) == 1
    table = np.array([[cell] for cell in CELLS], dtype=object)
    assert Query.from_bytes(Query(ONE, table).to_bytes()).digest == Query(ONE, table).digest
    assert Query(ONE, np.array([["a"]])).digest == Query(ONE, np.array([["a"]], dtype=object)).digest


def test_the_digest_is_the_one_that_is_documented():
    # By hand, from the description in the module: it must not change without a new version.
    import hashlib
    import struct

    parts = [b"skprivate query digest 1", TWO, b"", struct.pack(">QQ", 1, 2), b"names", b"a", b"\0"]
    parts += [b"<f8", struct.pack("<dd", -0.0, 2.5)]
    text = b"".join(struct.pack(">Q", len(part)) + part for part in parts)
    assert query_digest(TWO, np.array([[-0.0, 2.5]]), ("a", "\0"), b"") == hashlib.sha256(text).digest()


class TestOpenAnswers:
    sites = [
        CollaborativeSite(
            str(number),
            LocalAverageRegressor(bandwidth=0.1, refine_to=600).fit(X[number == SITES], Y[number == SITES]),
            100,
        )
        for number in range(M)
    ]  # fmt: skip

    def platform(self, sites=None):
        with warnings.catch_warnings():
            # A window for ten sites; two fewer.
            warnings.simplefilter("ignore")
            return CollaborativeRegressor.from_sites([site.announce() for site in sites or self.sites])

    def test_one_site_asked_other_rows_under_one_id(self):
        platform = self.platform()
        sent = Query.from_bytes(platform.ask(OTHER))
        forged = Query(sent.query_id, TARGET, sent.names, sent.roster).to_bytes()
        found = [site.answer(forged if site.name == VICTIM else sent.to_bytes()) for site in self.sites]
        for query in (None, sent.to_bytes(), forged):
            with pytest.raises(ConsentError, match="asked other rows"):
                platform.combine(*found, query=query)

    @pytest.mark.parametrize("change", [{"names": ("a", "b")}, {"roster": bytes(32)}])
    def test_other_names_or_another_roster(self, change):
        platform = self.platform()
        sent = Query.from_bytes(platform.ask(OTHER))
        fields = {"query_id": sent.query_id, "X": sent.X, "names": sent.names, "roster": sent.roster}
        forged = Query(**fields | change).to_bytes()
        found = [site.answer(forged if site.name == VICTIM else sent.to_bytes()) for site in self.sites]
        with pytest.raises(ConsentError, match="asked other rows"):
            platform.combine(*found)

    def test_a_query_of_another_roster(self):
        fewer = self.platform(self.sites[:-1])
        query = fewer.ask(OTHER)
        found = [site.answer(query) for site in self.sites]
        with pytest.raises(ConsentError, match="made for other sites"):
            self.platform().combine(*found, query=query)

    def test_binding_does_not_stop_differencing(self):
        # Two rosters, rows a billionth apart: both open as they should, and their difference is the answer.
        others = [site for site in self.sites if site.name != VICTIM]
        sums = []
        for sites, rows in ((self.sites, TARGET), (others, TARGET + 1e-9)):
            platform = self.platform(sites)
            query = platform.ask(rows)
            sums.append(
                100 * len(sites) * platform.combine(*(site.answer(query) for site in sites), query=query)
            )
        own = self.sites[int(VICTIM)].respond(TARGET)[0]
        np.testing.assert_allclose((sums[0] - sums[1]) / 100, own, atol=1e-5)
