# SPDX-License-Identifier: BSD-3-Clause
"""Sources of random bytes: what is accepted, what repeats, what never does."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import skprivate
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy

ROOT = Path(skprivate.__file__).parents[1]
ZEROS = np.zeros(64, dtype=np.int64)
PROGRAM = """
import os
from skprivate.noise import DiscreteLaplaceMechanism
mechanism = DiscreteLaplaceMechanism(2**-30)
mechanism.randomize([0] * 64)
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, mechanism.randomize([0] * 64).tobytes())
    os._exit(0)
mine = mechanism.randomize([0] * 64).tobytes()
theirs = os.read(read, 1 << 16)
assert len(mine) == len(theirs) == 512
assert mine != theirs
"""


def draw(random_state: object) -> np.ndarray:
    return DiscreteLaplaceMechanism(2**-30).randomize(ZEROS, random_state)


def test_only_the_operating_system_is_private() -> None:
    assert (check_entropy(None).private, check_entropy(None).source) == (True, "os-entropy")
    for seeded in (0, np.int32(3), np.random.default_rng(0), np.random.RandomState(0)):
        entropy = check_entropy(seeded)
        assert (entropy.private, entropy.source) == (False, "seeded")
        assert check_entropy(entropy) is entropy
        with pytest.raises(AttributeError):
            entropy.source = "os-entropy"  # type: ignore[misc]


def test_the_same_seed_repeats_and_goes_on_between_calls() -> None:
    np.testing.assert_array_equal(draw(5), draw(np.int64(5)))
    first, second = check_entropy(5), check_entropy(5)
    calls = [draw(first), draw(first)]
    assert (calls[0] != calls[1]).any()
    np.testing.assert_array_equal(calls[1], [draw(second), draw(second)][1])


def test_numpy_global_seed_has_no_effect() -> None:
    # Two honest draws of 64 numbers of 31 bits agree with probability below 2^-1000.
    np.random.seed(0)  # noqa: NPY002
    first = draw(None)
    np.random.seed(0)  # noqa: NPY002
    assert (first != draw(None)).any()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_repeats_no_noise() -> None:
    # False alarm below 2^-1000, as above.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, timeout=60)
