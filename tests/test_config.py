# SPDX-License-Identifier: BSD-3-Clause
"""Strict mode: set, scoped, inherited from the environment."""

import os
import subprocess
import sys

import pytest

import skprivate


def test_context_restores_even_after_an_error():
    before = skprivate.get_config()
    inside = []

    @skprivate.config_context(strict=not before["strict"])
    def broken():
        inside.append(skprivate.get_config()["strict"])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert inside == [not before["strict"]]
    assert skprivate.get_config() == before


def test_none_changes_nothing():
    with skprivate.config_context(strict=True):
        skprivate.set_config(strict=None)
        assert skprivate.get_config() == {"strict": True}


def test_returned_config_is_a_copy():
    skprivate.get_config()["strict"] = "broken"
    assert skprivate.get_config()["strict"] in (True, False)


def test_only_booleans():
    with pytest.raises(TypeError, match="strict must be"):
        skprivate.set_config(strict="yes")


@pytest.mark.parametrize(
    ("value", "strict"), [("1", True), ("0", False), ("", False), ("off", False), ("ture", True)]
)
def test_environment_variable(value, strict):
    code = "import skprivate; print(skprivate.get_config()['strict'])"
    environment = {**os.environ, "SKPRIVATE_STRICT": value}
    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == str(strict)
