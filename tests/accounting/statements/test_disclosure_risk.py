# SPDX-License-Identifier: BSD-3-Clause
"""The statement of a protection that is not differential privacy."""

import copy
import pickle

import pytest

from skprivate.accounting import DisclosureRisk

RISK = DisclosureRisk(
    protection="swap",
    attack="linkage",
    metric="kept responses",
    bound={"a": 30.0, "b": 5.25},
    assumption="none",
    unprotected=("the mean",),
    leaks=("a range",),
)


def test_says_everything_and_never_an_epsilon():
    text = str(RISK)
    for part in ("not differential privacy", "a 30 %, b 5.25 %", "not protected: the mean", "LEAK: a range"):
        assert part in text
    assert "epsilon" not in text.lower()


def test_survives_pickling_and_copying():
    for twin in (pickle.loads(pickle.dumps(RISK)), copy.deepcopy(RISK)):
        assert twin == RISK
        assert dict(twin.bound) == dict(RISK.bound)


def test_cannot_be_changed():
    with pytest.raises(TypeError):
        RISK.bound["a"] = 0.0
    with pytest.raises(AttributeError):
        RISK.attack = "none"


@pytest.mark.parametrize("value", [-1.0, 100.1, float("nan")])
def test_a_bound_is_a_percentage(value):
    with pytest.raises(ValueError, match="percentage"):
        DisclosureRisk(protection="", attack="", metric="", bound={"a": value}, assumption="")


def test_every_field_has_its_line():
    assert str(RISK).splitlines()[:4] == [
        "swap (not differential privacy)",
        "- attack: linkage",
        "- kept responses at most: a 30 %, b 5.25 %",
        "- assumed: none",
    ]


def test_bounds_of_nothing_and_everything_and_none():
    risk = DisclosureRisk(protection="", attack="", metric="m", bound={"a": 0.0, "b": 100.0}, assumption="")
    assert "m at most: a 0 %, b 100 %" in str(risk)
    unknown = DisclosureRisk(protection="", attack="", metric="m", bound={}, assumption="")
    assert "- m: no bound is known\n" in str(unknown)
