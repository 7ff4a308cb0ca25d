# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.noise` and their modules."""

from ._mechanisms import DiscreteGaussianMechanism as DiscreteGaussianMechanism
from ._mechanisms import DiscreteLaplaceMechanism as DiscreteLaplaceMechanism
from ._mechanisms import check_entropy as check_entropy
from ._mechanisms import laplace_sum as laplace_sum
from ._mechanisms import zcdp_to_epsilon as zcdp_to_epsilon

__all__ = [
    "DiscreteGaussianMechanism",
    "DiscreteLaplaceMechanism",
    "check_entropy",
    "laplace_sum",
    "zcdp_to_epsilon",
]
