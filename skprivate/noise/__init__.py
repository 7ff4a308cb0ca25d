# SPDX-License-Identifier: BSD-3-Clause
"""Exact noise: integer samplers over random words, and the mechanisms made of them."""

from ._mechanisms import (
    DiscreteGaussianMechanism,
    DiscreteLaplaceMechanism,
    check_entropy,
    laplace_sum,
    zcdp_to_epsilon,
)

__all__ = [
    "DiscreteGaussianMechanism",
    "DiscreteLaplaceMechanism",
    "check_entropy",
    "laplace_sum",
    "zcdp_to_epsilon",
]
