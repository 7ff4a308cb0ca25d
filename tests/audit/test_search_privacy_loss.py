# SPDX-License-Identifier: BSD-3-Clause
"""The loss of every stated release by itself."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from skprivate.accounting import ReleaseRecord
from skprivate.audit._observation.recorder import run_within
from skprivate.audit._search import ReleaseLosses


class Call:
    """A call of a mechanism that loses some epsilon."""

    def __init__(self, epsilon):
        self.epsilon = Fraction(epsilon)

    def loss(self, other):
        return self.epsilon, Fraction(0)


def found(releases, *losses):
    recording = SimpleNamespace(calls=[Call(loss) for loss in losses])
    losses = ReleaseLosses()
    losses.compare(releases, recording, recording, "here")
    return losses


def release(name, epsilon, **more):
    return ReleaseRecord(name=name, mechanism="discrete Laplace", epsilon=Fraction(epsilon), **more)


@pytest.mark.parametrize("times", [10**12, 10**30])
def test_times_that_nobody_draws_are_not_waited_for(times):
    releases = [release("many", Fraction(1, times), times=times), release("last", 1)]
    losses = run_within(20, lambda: found(releases, 1))
    assert [text.split(" loses")[0] for text in losses.contradictions] == ["'many'"]
    assert losses.largest["last"] == 0


def test_releases_are_compared_in_their_order():
    assert not found([release("a", 1), release("b", 2, times=2)], 1, 2, 2).contradictions
    assert len(found([release("b", 2, times=2), release("a", 1)], 1, 2, 2).contradictions) == 1
    assert "no stated release lists" in found([release("a", 1)], 1, 1).contradictions[0]
