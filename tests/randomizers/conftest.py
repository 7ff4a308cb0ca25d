# SPDX-License-Identifier: BSD-3-Clause
"""Reports of kernels that read a fixed script of words."""

import numpy as np
import pytest

from skprivate.noise._stream_kernels import WordStream

SCRIPT = np.random.default_rng(2021).bytes(2**18)


@pytest.fixture
def bits(bit_reader):
    """What the reference reads: the words of the script."""
    return bit_reader(SCRIPT)


@pytest.fixture
def scripted_reports(scripted_entropy):
    """Fill an array by a kernel that reads the words of the script."""

    def fill(kernel, *arguments, out):
        kernel(*arguments, WordStream(scripted_entropy(SCRIPT), len(SCRIPT) // 8), out)
        return out

    return fill
