# SPDX-License-Identifier: BSD-3-Clause
"""Everything public about an accumulator: the grid, the largest number of rows, the weights of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._config import get_config
from .._typing import FloatArray, IntArray
from ..accounting._statements.spent import EstimatedBounds, decode_estimate, encode_estimate, estimate_behind
from ..domain import TableDomain
from ..noise._mechanisms import FitBudget
from ..rounds._plans.moments import SCALE_BITS, SUM_BITS, MomentGrid, check_room, choose_exponent, exact_gram
from ..rounds._rows import check_target_bounds, on_model_scale, read_target, replace_target
from ..rounds._tables import count_columns
from ..utils import check_bounds, check_int, check_positive
from ..utils._json_documents import Fields
from ..utils._public_module import public_module
from ..utils._tables import within_bounds
from ._distributions import models_log_target
from ._moments.released_moments import NORMS, Neighbours, largest_scale, moment_weights

# Steps in which weights are counted, up to the cap. Products of features lose half as many bits. Set by hand.
WEIGHT_STEPS = 2**12
# Largest cap of a weight, and one over the smallest: weights may have any unit. Set by hand.
LARGEST_CAP = 2**20
# The grid is fixed before epsilon is known: at this epsilon the noise still fits 64-bit integers.
LEAST_EPSILON = Fraction(1, 1000)
_FIELDS = (
    *("grid", "bounds_y", "distribution", "mechanism", "max_rows"),
    *("max_sample_weight", "max_rows_per_group", "columns_known", "estimates", "domain"),
)


@dataclass(frozen=True)
class RowWeights:
    """Representation of weights of rows by whole numbers of steps.

    Attributes
    ----------
    cap : float
        Public bound on a weight.
    bits : int
        Weights are counted in steps of 2^-bits: 2^11 to 2^12 of them up to the cap. If the cap is larger than
        that, steps are whole weights.
    """

    cap: float
    bits: int

    @classmethod
    def of(cls, cap: Any) -> Self:
        """Choose the step by the cap alone."""
        limit = check_positive(cap, "max_sample_weight")
        if not Fraction(1, LARGEST_CAP) <= limit <= LARGEST_CAP:
            raise ValueError("max_sample_weight must be between 2^-20 and 2^20: weights have any unit.")
        return cls(float(cap), max(floor(WEIGHT_STEPS / limit).bit_length() - 1, 0))

    @property
    def largest(self) -> int:
        """The cap in whole steps."""
        return floor(Fraction(self.cap) * 2**self.bits)

    def steps(self, weights: Any, n_rows: int) -> FloatArray:
        """Clip weights to [0, cap], and round them toward zero to whole steps; in strict mode NaN is 0."""
        array = np.asarray(weights)
        if array.shape != (n_rows,) or array.dtype.kind not in "biuf":
            raise ValueError("sample_weight must hold one number per row.")
        values = array.astype(np.float64)
        if get_config()["strict"]:
            values = np.nan_to_num(values, nan=0.0, posinf=self.cap, neginf=0.0)
        if not np.isfinite(values).all():
            raise ValueError("sample_weight must be finite: NaN and inf are refused.")
        return np.floor(np.clip(values, 0.0, self.cap) * 2.0**self.bits)


@public_module("skprivate.linear_model")
@dataclass(frozen=True, eq=False, kw_only=True)
class AccumulatorPlan:
    """Everything public about an accumulator. Two accumulators of equal `to_dict` can be merged.

    Attributes
    ----------
    grid : MomentGrid
    bounds_y : tuple of two floats
        In the units that are passed.
    distribution, mechanism : str
    max_rows : int
    weights : RowWeights or None
    max_rows_per_group : int or None
    columns_known : bool
        False: one pair of bounds is for all columns, and the grid has one column until `for_columns`.
    estimates : mapping from str to EstimatedBounds
        Cost of ``bounds_X`` and ``bounds_y``, if they were estimated.
    domain : TableDomain or None
        What the columns hold, if they are declared; the bounds of the grid are its bounds.
    """

    grid: MomentGrid
    bounds_y: tuple[float, float]
    distribution: str
    mechanism: str
    max_rows: int
    weights: RowWeights | None
    max_rows_per_group: int | None
    columns_known: bool = True
    estimates: Mapping[str, EstimatedBounds] = field(default_factory=dict)
    domain: TableDomain | None = None

    @classmethod
    def of(
        cls,
        bounds_X: Any,
        bounds_y: Any,
        max_rows: Any,
        *,
        distribution: str,
        mechanism: str,
        x_norm: Any,
        max_sample_weight: Any,
        max_rows_per_group: Any,
        features: Sequence[str] | None = None,
        domain: TableDomain | None = None,
    ) -> Self:
        """Check the parameters of an accumulator."""
        max_rows = check_int(max_rows, "max_rows", least=1)
        if mechanism not in ("laplace", "gaussian"):
            raise ValueError("mechanism must be 'laplace' or 'gaussian'.")
        if max_rows_per_group is not None:
            max_rows_per_group = check_int(max_rows_per_group, "max_rows_per_group", least=1)
        log_target = models_log_target(distribution)
        given = {"bounds_X": bounds_X, "bounds_y": bounds_y}
        found = {name: estimate_behind(value, name) for name, value in given.items()}
        bounds_y = check_target_bounds(bounds_y, log_target)
        norm = None if x_norm is None else float(check_positive(x_norm, "x_norm"))
        lower, upper, columns_known = _check_features(bounds_X, norm, features)
        weights = None if max_sample_weight is None else RowWeights.of(max_sample_weight)
        largest = weights.largest if weights else 1
        order = None if norm is None else NORMS[mechanism]
        grid = MomentGrid(
            lower=lower,
            upper=upper,
            target=on_model_scale(bounds_y, log_target),
            exponent=_exponent(max_rows, largest, max_rows_per_group or 1, len(lower), mechanism, order),
            x_norm=norm,
            norm_order=order,
        )
        return cls(
            grid=grid,
            bounds_y=bounds_y,
            distribution=distribution,
            mechanism=mechanism,
            max_rows=max_rows,
            weights=weights,
            max_rows_per_group=max_rows_per_group,
            columns_known=columns_known,
            estimates={name: bounds for name, bounds in found.items() if bounds is not None},
            domain=domain,
        )

    @property
    def _options(self) -> dict[str, Any]:
        """The parameters that `of` takes by name."""
        return {
            "distribution": self.distribution,
            "mechanism": self.mechanism,
            "max_rows": self.max_rows,
            "max_sample_weight": None if self.weights is None else self.weights.cap,
            "max_rows_per_group": self.max_rows_per_group,
        }

    def for_columns(self, n_features: int) -> Self:
        """Return the plan for so many columns; the same if their number was known."""
        if self.columns_known:
            return self
        sides = (np.full(n_features, side[0]) for side in (self.grid.lower, self.grid.upper))
        bounds, x_norm = tuple(sides), self.grid.x_norm
        plan = type(self).of(bounds, self.bounds_y, x_norm=x_norm, **self._options)
        return replace(plan, estimates=self.estimates)

    @property
    def declared_bounds(self) -> dict[str, Any]:
        """The bounds as an estimator takes them, with the cost of estimated ones."""
        pairs: dict[str, Any] = {"bounds_X": (self.grid.lower, self.grid.upper), "bounds_y": self.bounds_y}
        if self.domain is not None:
            pairs = {"domain": self.domain, "bounds_y": self.bounds_y}
        for name, bounds in self.estimates.items():
            lower, upper = pairs[name]
            pairs[name] = EstimatedBounds(lower, upper, bounds.spent, bounds.release_id)
        return pairs

    @property
    def log_target(self) -> bool:
        """Whether the model is about the logarithm of the target."""
        return models_log_target(self.distribution)

    @property
    def largest_weight(self) -> int:
        """Bound on a row's weight, in steps."""
        return self.weights.largest if self.weights else 1

    def sum_rows(self, X: NDArray[Any], y: NDArray[Any], sample_weight: Any) -> IntArray:
        """Return the moments of rows; in strict mode values that are not finite are put within the bounds."""
        steps = None
        if self.weights is not None:
            steps = self.weights.steps(np.ones(len(X)) if sample_weight is None else sample_weight, len(X))
        # A fresh, contiguous array: the logarithm of a value must not depend on its place in memory.
        fresh = np.array(y, dtype=np.float64)
        if get_config()["strict"]:
            X = within_bounds(X, self.grid.lower, self.grid.upper)
            target = replace_target(fresh, self.bounds_y, self.log_target)
        else:
            target = read_target(fresh, self.log_target)
        return exact_gram(self.grid, X, target.time_on_model_scale, steps, self.largest_weight)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {
            "estimates": {name: encode_estimate(bounds) for name, bounds in sorted(self.estimates.items())},
            "domain": None if self.domain is None else self.domain.to_dict(),
            "grid": self.grid.to_dict(),
            "bounds_y": list(self.bounds_y),
            **self._options,
            "columns_known": self.columns_known,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Restore a plan; ValueError for one that `of` would not make."""
        fields = Fields(values, _FIELDS, what="its plan")
        declared = fields.maybe(fields.mapping, "domain")
        domain = None if declared is None else TableDomain.from_dict(declared)
        grid = MomentGrid.from_dict(fields.mapping("grid"))
        known = fields.flag("columns_known")
        sides = (grid.lower, grid.upper) if known else (grid.lower[0], grid.upper[0])
        plan = cls.of(
            sides if domain is None else domain.bounds,
            fields.numbers("bounds_y", 2),
            fields.integer("max_rows", 1, 2**SUM_BITS),
            distribution=fields.text("distribution"),
            mechanism=fields.text("mechanism"),
            x_norm=grid.x_norm,
            max_sample_weight=fields.maybe(fields.number, "max_sample_weight"),
            max_rows_per_group=fields.maybe(fields.integer, "max_rows_per_group", 1, 2**SUM_BITS),
            domain=domain,
        )
        # Another version may choose another step.
        check_room(plan.max_rows, grid.exponent, plan.largest_weight)
        costs = fields.mapping("estimates")
        pairs = plan.declared_bounds
        if not set(costs) <= set(pairs) - {"domain"}:
            raise ValueError("it holds costs of parameters that are no bounds")
        estimates = {name: decode_estimate(pairs[name], content) for name, content in costs.items()}
        plan = replace(plan, grid=replace(plan.grid, exponent=grid.exponent), estimates=estimates)
        if plan.to_dict() != values:
            raise ValueError("its grid is not the one that its parameters make")
        return plan


def _check_features(
    bounds_X: Any, x_norm: float | None, features: Sequence[str] | None
) -> tuple[FloatArray, FloatArray, bool]:
    """Return bounds of the columns, and whether names or bounds determine their number."""
    if bounds_X is None:
        if x_norm is None:
            raise ValueError("bounds_X may be None only with x_norm, and then rows are centred at 0.")
        bounds_X = (-x_norm, x_norm)
    n_features = len(features) if features is not None else count_columns(bounds_X)
    lower, upper = check_bounds(bounds_X, n_features or 1, features, name="bounds_X")
    return lower, upper, n_features is not None


def _exponent(
    max_rows: int, largest: int, rows_per_unit: int, n_features: int, mechanism: str, norm_order: int | None
) -> int:
    """Return the finest grid whose sums and noise are safe at the least epsilon, by public numbers alone."""
    scales = []
    # Without a norm the grid is the same for both mechanisms, and the release may use either of them.
    for name in ("laplace", "gaussian") if norm_order is None else (mechanism,):
        weights = moment_weights(n_features, name, norm_order is not None)
        neighbours = Neighbours(weights=weights, rows_per_unit=rows_per_unit, max_weight=Fraction(largest))
        # Rho is larger than epsilon^2 / 100 if delta is above 1e-10.
        amount = LEAST_EPSILON if name == "laplace" else LEAST_EPSILON**2 / 100
        scales.append(largest_scale(neighbours, FitBudget(name, amount, LEAST_EPSILON, Fraction(0))))
    # So much noise keeps 4^k largest below 2^38: float64 holds the sums of large blocks.
    return choose_exponent(max_rows * largest, min(max(scales), Fraction(2**SCALE_BITS)))
