# SPDX-License-Identifier: BSD-3-Clause
"""Everything on an object is found, wherever it hides, and compared to the last bit."""

import functools
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

from skprivate import DPTreeClassifier
from skprivate.audit._observation.fitted_objects import (
    differing_paths,
    fitted_state,
    flatten_object,
    same_value,
)


class Slotted:
    __slots__ = ("secret",)

    def __init__(self, secret):
        self.secret = secret


@dataclass
class Plain:
    secret: object


class Compiled:
    """As an extension type: neither a dict nor slots, but something to pickle."""

    def __new__(cls, secret):
        self = super().__new__(cls)
        _SECRETS[id(self)] = secret
        return self

    __slots__ = ()

    def __reduce__(self):
        return Compiled, (_SECRETS[id(self)],)


_SECRETS = {}


def closure(secret):
    return lambda: secret


def default(secret):
    def function(value=secret, *, other=None):
        return value, other

    return function


HIDING_PLACES = {
    "a dict": lambda s: {"a": {"b": s}},
    "a key": lambda s: {s: 1},
    "a list": lambda s: [1, [2, (s,)]],
    "a set": lambda s: {1, s},
    "an array": lambda s: np.array([0, s]),
    "an array of objects": lambda s: np.array([None, {"x": s}], dtype=object),
    "a structured array": lambda s: np.array([(1, s)], dtype=[("a", int), ("b", int)]),
    "a mapping proxy": lambda s: MappingProxyType({"a": s}),
    "slots": Slotted,
    "an instance": Plain,
    "a compiled object": Compiled,
    "a closure": closure,
    "a default": default,
    "a partial": lambda s: functools.partial(print, s),
    "a method of an instance": lambda s: Plain(s).__repr__,
    "a generator of numpy": lambda s: np.random.default_rng(s),
    "the shape of an array": lambda s: np.empty((s % 7, 0), dtype=object),
    "the length of a list": lambda s: [None] * (s % 7),
    "a type": lambda s: float(s) if s % 2 else s,
}


@pytest.mark.parametrize("place", HIDING_PLACES)
def test_a_secret_is_found(place):
    hide = HIDING_PLACES[place]
    assert differing_paths(hide(4711), hide(4712))
    assert not differing_paths(hide(4711), hide(4711))


def test_cycles_and_depth_end():
    chain = []
    chain.append(chain)
    assert flatten_object(chain) == {".len": 1}
    deep = []
    for _ in range(100):
        deep = [deep]
    assert flatten_object(deep)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (0.0, -0.0, False),
        (np.array([0.0]), np.array([-0.0]), False),
        (float("nan"), float("nan"), True),
        (1, 1.0, False),
        (1, True, False),
        (np.array([1]), np.array([1.0]), False),
        (np.array([1, 2]), np.array([[1, 2]]), False),
        ("a", "a", True),
    ],
)
def test_leaves_are_compared_to_the_last_bit(one, other, same):
    assert same_value(one, other) is same


def test_parameters_are_not_looked_at():
    tree = DPTreeClassifier(max_depth=1, bounds=(0, 1), classes=[0, 1])
    assert fitted_state(tree) == {}
    fitted = tree.fit(np.array([[0.1], [0.9]]), [0, 1])
    paths = fitted_state(fitted)
    assert not any(path.startswith(("bounds.", "epsilon")) for path in paths)
    assert any(path.startswith("report_counts_") for path in paths)
