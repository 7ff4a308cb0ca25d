# SPDX-License-Identifier: BSD-3-Clause
"""The random number generator that a `random_state` stands for."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def make_random_source(random_state: Any) -> Any:
    """Return a Generator as it is, and a RandomState for all else that scikit-learn takes."""
    return random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)
