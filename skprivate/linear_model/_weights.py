# SPDX-License-Identifier: BSD-3-Clause
"""How the noise is shared out between the constant, the target and the features."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class MomentWeights:
    """Public weights of the entries of z = (1, y', x'): a larger weight, a finer release.

    The row behind the proofs is v = (1, target * y', features * x'). Weights stay out of the integers: they
    divide the noise of each moment.

    Attributes
    ----------
    target : int
        Weight a of the target.
    features : int
        Weight m of a feature.
    n_features : int
        d.
    norm_order : {1, 2} or None
        The norm that bounds x' by 1; None: every |x'_j| <= 1.
    """

    target: int
    features: int
    n_features: int
    norm_order: int | None = None

    @property
    def features_l1(self) -> int:
        """Largest sum of |v_j| over the features."""
        return self.features * (1 if self.norm_order == 1 else self.n_features)

    @property
    def squared_l2(self) -> Fraction:
        """Largest squared Euclidean norm of v."""
        share = 1 if self.norm_order is not None else self.n_features
        return Fraction(1 + self.target**2 + share * self.features**2)


def moment_weights(n_features: int, mechanism: str, norm_order: int | None) -> MomentWeights:
    """Choose the weights by public facts alone."""
    return MomentWeights(2, 1, n_features, norm_order)
