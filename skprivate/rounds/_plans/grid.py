# SPDX-License-Identifier: BSD-3-Clause
"""The public grid on which rows are rounded to integers: centres, half-widths and step."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...utils._json_documents import Fields
from ...utils._public_module import public_module

# Rounding at 2^-20 is far below any noise, and float64 (2^53) holds sums of 2^13 products of two values.
FINEST = 20
# Largest number of rows where it is protected: the grid must not depend on n.
MANY_ROWS = 2**32
# log2 of n 4^k: int64 with two spare bits.
SUM_BITS = 61
# log2 of the largest scale of the noise; the sampler's own limit is 2^52.
SCALE_BITS = 51


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False, kw_only=True)
class MomentGrid:
    """Public description of how a row is rounded to integers.

    A row is z = (1, y', x'): the target and the features, centred and divided by their half-widths, so that
    each lies in [-1, 1]; with `x_norm` the features share one half-width, `x_norm`, and x' lies in the unit
    ball. What lies outside is clipped; then everything is rounded toward zero to multiples of 2^-exponent.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_features,)
        Bounds of the features.
    target : tuple of two floats
        Bounds of the target on the scale of the model.
    exponent : int
        k, from 0 to 20: the grid's step is 2^-k.
    x_norm : float or None
        Bound on the norm of a centred row of features.
    norm_order : {1, 2} or None
        Which norm; None without `x_norm`.
    """

    lower: FloatArray
    upper: FloatArray
    target: tuple[float, float]
    exponent: int
    x_norm: float | None = None
    norm_order: int | None = None

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.lower)

    @property
    def size(self) -> int:
        """Number of entries of z, d + 2: the constant, the target, the features."""
        return len(self.lower) + 2

    @property
    def center(self) -> FloatArray:
        """Centres of the features."""
        # Halves first: the sum of two huge bounds overflows.
        return self.lower / 2 + self.upper / 2

    @property
    def half(self) -> FloatArray:
        """What the centred features are divided by."""
        if self.x_norm is not None:
            return np.full(self.n_features, float(self.x_norm))
        return self.upper / 2 - self.lower / 2

    @property
    def y_center(self) -> float:
        """Centre of the target."""
        return self.target[0] / 2 + self.target[1] / 2

    @property
    def y_half(self) -> float:
        """Half-width of the target."""
        return self.target[1] / 2 - self.target[0] / 2

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain JSON values; two grids are the same if these are equal."""
        return {
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "target": list(self.target),
            "exponent": self.exponent,
            "x_norm": self.x_norm,
            "norm_order": self.norm_order,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "MomentGrid":
        """Restore a grid from `to_dict`; ValueError for a field that is not of its type and range."""
        names = ("lower", "upper", "target", "exponent", "x_norm", "norm_order")
        fields = Fields(values, names, what="its grid")
        lower = np.array(fields.numbers("lower"))
        if not len(lower):
            raise ValueError("its grid has no column")
        low, high = fields.numbers("target", 2)
        return cls(
            lower=lower,
            upper=np.array(fields.numbers("upper", len(lower))),
            target=(low, high),
            exponent=fields.integer("exponent", 0, FINEST),
            x_norm=fields.maybe(fields.number, "x_norm"),
            norm_order=fields.maybe(fields.integer, "norm_order", 1, 2),
        )


def choose_exponent(n_rows: int, scale: Fraction) -> int:
    """Choose the grid: the finest whose sums and whose noise fit 64-bit integers.

    Parameters
    ----------
    n_rows : int
        Largest number of rows; public.
    scale : Fraction
        Largest scale of the noise on sums of products of entries of z, before the grid: on it, it is 4^k
        times as large.

    Returns
    -------
    exponent : int
        The largest k <= 20 with ``n_rows * 4**k <= 2**61`` and ``scale * 4**k <= 2**51``.

    Raises
    ------
    ValueError
        There is none: too many rows, or epsilon too small.
    """
    rows_bits = SUM_BITS - (max(n_rows, 1) - 1).bit_length()
    if rows_bits < 0:
        raise ValueError("too many rows for 64-bit sums.")
    scale_bits = SCALE_BITS - (-(-scale.numerator // scale.denominator) - 1).bit_length()
    if scale_bits < 0:
        raise ValueError(
            "epsilon is too small for this many features: the noise does not fit 64-bit integers."
        )
    return min(FINEST, rows_bits // 2, scale_bits // 2)
