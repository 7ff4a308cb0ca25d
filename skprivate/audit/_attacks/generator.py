# SPDX-License-Identifier: BSD-3-Clause
"""The generator of a simulated attack."""

from typing import Any

import numpy as np

from ...noise import check_entropy

_SEED_BYTES = 16


def check_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator; None seeds it from the operating system, whatever ``np.random.seed`` did."""
    return np.random.default_rng(list(check_entropy(random_state).random_bytes(_SEED_BYTES)))
