# SPDX-License-Identifier: BSD-3-Clause
"""What every message is bound to, and who may stand on a roster; for both protocols."""

import itertools
import pickle

import numpy as np
import pytest

from skprivate.collaborative import ConsentBox, MaskedSum, SiteKey
from skprivate.collaborative._protocols.messages import Query
from skprivate.exceptions import ConsentError

NAMES = ("north", "south", "west")
ID = bytes(16)
both = pytest.mark.parametrize("kind", [ConsentBox, MaskedSum])


def asked(rows, query_id=ID, names=None):
    return Query(query_id, np.asarray(rows, dtype=float), names).to_bytes()


def write(roster, name, key, query, values=(1.0,)):
    """What a member sends: a masked answer, or a sealed one."""
    return (roster.mask if isinstance(roster, MaskedSum) else roster.seal)(name, key, query, values)


@pytest.fixture
def publics(fixed_keys):
    return {name: key.public for name, key in fixed_keys([*NAMES, "platform", "other"]).items()}


def of_three(kind, publics, receiver="platform"):
    return kind({name: publics[name] for name in NAMES}, publics[receiver])


@both
def test_what_a_message_is_bound_to_differs_in_every_part(kind, publics):
    box = of_three(kind, publics)
    bindings = [bytes(32), bytes(31) + b"\1"]
    names = [(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("ab",)]
    contexts = [
        box._context(use, binding, *who, about=about)
        for use, binding, who, about in itertools.product((b"x", b"y"), bindings, names, (b"", b"digest"))
    ]
    assert len(set(contexts)) == len(contexts) == 48
    assert all(box._digest in context for context in contexts)


@both
def test_the_key_of_a_query_differs_by_pair_use_query_and_roster(kind, publics, fixed_keys):
    keys = fixed_keys([*NAMES, "platform", "other"])
    one, two = of_three(kind, publics), of_three(kind, publics, "other")
    links = [
        box._link(keys["north"], publics[peer], use, binding)
        for box in (one, two)
        for peer in ("south", "west", "platform")
        for use in (b"x", b"y")
        for binding in (bytes(32), bytes(31) + b"\1")
    ]
    assert len(set(links)) == len(links)
    mirrored = one._link(keys["south"], publics["north"], b"x", bytes(32))
    assert one._link(keys["north"], publics["south"], b"x", bytes(32)) == mirrored


@both
def test_a_roster_holds_no_secret_and_can_be_pickled(kind):
    roster, keys, receiver = kind.simulate(NAMES)
    text, frozen = repr(roster), pickle.dumps(roster)
    for key in (*keys.values(), receiver):
        assert key.to_bytes() not in frozen
        assert key.to_bytes().hex()[:8] not in text
    again = pickle.loads(frozen)
    assert again.fingerprint == roster.fingerprint
    assert again.members == roster.members == NAMES
    assert repr(again) == text


@both
def test_what_was_read_last_is_read_once_and_changes_nothing(kind, publics, monkeypatch):
    roster, fresh = (of_three(kind, publics) for _ in range(2))
    one, two = (roster.new_query([[float(number)]]) for number in range(2))
    before = pickle.dumps(roster)
    for query in (one, one, two, one, bytes(bytearray(one))):
        found, binding = roster._bind(query)
        assert (found, binding) == fresh._bind(query)
        assert found.digest == Query.from_bytes(query).digest
        with pytest.raises(ConsentError):
            roster._bind(query[:-1] + b"\1")
    # It holds digests and no rows, and nothing of it leaves.
    message, found, binding = roster._last
    assert [len(part) for part in (message, found.query_id, found.digest, binding)] == [32, 16, 32, 32]
    assert pickle.dumps(roster) == before
    monkeypatch.setattr(Query, "from_bytes", lambda query: pytest.fail("it was read again"))
    assert roster._bind(one) == fresh._bind(one)


@both
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"south": None}, "of 'south' there is none[.]"),
        ({"south": "text"}, "of 'south' there is none[.]"),
        ({"south": None, "north": None}, "of 'north', 'south' there is none[.]"),
        ({"pole": b"message"}, "'pole' is not on the roster[.]"),
        ({"south": None, "South": b"message"}, "of 'south' there is none; 'South' is not on the roster[.]"),
        (None, "of 'north', 'south', 'west' there is none[.]"),
    ],
)
def test_a_missing_message_is_told_by_the_name_of_its_site(kind, change, match):
    roster, keys, receiver = kind.simulate(NAMES)
    query = roster.new_query([[1.0]])
    messages = {name: write(roster, name, key, query) for name, key in keys.items()}
    some = None
    if change is not None:
        some = {name: one for name, one in {**messages, **change}.items() if one is not None}
    steps = [lambda: roster.open(receiver, query, some)]
    if kind is ConsentBox:
        steps = [
            lambda: roster.consent("north", keys["north"], query, some),
            lambda: roster.open(receiver, query, messages, some),
        ]
    for step in steps:
        with pytest.raises(ConsentError, match=f"Nothing was opened: .*; {match}"):
            step()


@both
def test_only_a_members_own_key_and_a_real_query_are_taken(kind):
    roster, keys, receiver = kind.simulate(NAMES)
    query = roster.new_query([[1.0]])
    messages = {name: write(roster, name, keys[name], query) for name in NAMES}
    extra = (messages,) if kind is ConsentBox else ()
    for name, key in (("north", keys["south"]), ("north", receiver), ("east", keys["north"])):
        with pytest.raises(ConsentError, match=r"roster"):
            write(roster, name, key, query)
    for bad in (b"", ID, bytes(17), "x" * 16, None):
        for task in (
            lambda bad=bad: write(roster, "north", keys["north"], bad),
            lambda bad=bad: roster.open(receiver, bad, messages, *extra),
        ):
            with pytest.raises(ConsentError, match=r"query must be the message|not a skprivate-query"):
                task()
    with pytest.raises(ConsentError, match="receiver"):
        roster.open(keys["north"], query, messages, *extra)


@both
def test_a_point_with_a_known_secret_on_the_roster_stops_the_others(kind, publics, fixed_keys):
    members = {"north": publics["north"], "south": publics["south"], "evil": bytes(32)}
    box = kind(members, publics["platform"])
    with pytest.raises(ConsentError, match="not usable"):
        write(box, "north", fixed_keys(NAMES)["north"], box.new_query([[1.0]]))


def test_keys_made_by_hand_and_from_bytes_work_together():
    keys, platform = {name: SiteKey.generate() for name in NAMES}, SiteKey.generate()
    publics = {name: key.public for name, key in keys.items()}
    messages, query = {}, MaskedSum.new_query([[1.0]])
    for name in NAMES:
        # Every site builds its own roster and loads its own key.
        site = MaskedSum(dict(reversed(publics.items())), platform.public)
        own = SiteKey.from_bytes(keys[name].to_bytes())
        messages[name] = site.mask(name, own, query, [2.0], 3)
    total, size = MaskedSum(publics, platform.public).open(platform, query, messages)
    assert (total.tolist(), size.tolist()) == ([6.0], [9.0])


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
    roster, keys, receiver = kind.simulate(NAMES)
    publics, own = {name: key.public for name, key in keys.items()}, keys["north"]
    write(roster, "north", own, asked([[1.0, 2.0]]))
    values = np.ones(len(Query.from_bytes(other).X))
    for again, key in (
        (roster, own),
        (pickle.loads(pickle.dumps(roster)), own),
        (kind(publics, receiver.public), SiteKey.from_bytes(own.to_bytes())),
        # Under another roster too: an id is for one query.
        (kind(publics, SiteKey.generate().public), SiteKey.from_bytes(own.to_bytes())),
    ):
        with pytest.raises(ConsentError, match="other rows, or other columns, under the same query id"):
            write(again, "north", key, other, values)


@both
def test_messages_of_version_1_are_refused_by_name(kind):
    roster, keys, receiver = kind.simulate(NAMES)
    old = dict.fromkeys(keys, bytes(300))
    extra = (old,) if kind is ConsentBox else ()
    with pytest.raises(ConsentError, match="not of this version of the protocol"):
        roster.open(receiver, asked([[1.0]]), old, *extra)


class MaskedSum2(MaskedSum):
    """A site that was not updated: everything is derived under the protocol's name of before."""

    _protocol = b"skprivate masked sum 2"


@pytest.mark.parametrize("late", [NAMES[:1], NAMES])
def test_a_masked_answer_of_version_2_is_refused_also_under_the_new_name(late):
    keys, platform = {name: SiteKey.generate() for name in NAMES}, SiteKey.generate()
    query, publics = asked([[1.0]]), {name: key.public for name, key in keys.items()}
    new, old = (kind(publics, platform.public) for kind in (MaskedSum, MaskedSum2))
    assert new.fingerprint != old.fingerprint
    messages = {name: write(old if name in late else new, name, key, query) for name, key in keys.items()}
    for roster in {new} | ({old} if late != NAMES else set()):
        with pytest.raises(ConsentError, match="not of this version of the protocol; all parties need"):
            roster.open(platform, query, messages)
    # Whoever writes the new name, and the new tag, in front has content that was sealed for the old one.
    binding = new._bind(query)[1]
    head = len(new._protocol) + 32
    renamed = {name: new._pack(binding, messages[name][head:]) for name in late}
    with pytest.raises(ConsentError, match="Nothing was opened: a message is altered"):
        new.open(platform, query, messages | renamed)
