# SPDX-License-Identifier: BSD-3-Clause
"""Exact noise: integer samplers over random words, and the mechanisms made of them."""

from ._entropy import check_entropy
from ._mechanisms import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, laplace_sum
from ._zcdp import zcdp_to_epsilon

__all__ = [
    "DiscreteGaussianMechanism",
    "DiscreteLaplaceMechanism",
    "check_entropy",
    "laplace_sum",
    "zcdp_to_epsilon",
]
