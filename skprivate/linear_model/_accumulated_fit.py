# SPDX-License-Identifier: BSD-3-Clause
"""From accumulated moments to a fitted estimator: checked, charged, released, in this order."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..noise import check_entropy
from ..utils import check_bounds
from ._accumulator_plan import AccumulatorPlan
from ._base import BaseLogLocationScale, Task
from ._distributions import family_of
from ._moments.grid import SCALE_BITS
from ._moments.noise_scale import Budget
from ._moments.release import MomentPlan, Neighbours, plan_moments
from ._targets import check_target_bounds


class Moments(Protocol):
    """What a fit needs of an accumulator."""

    plan: AccumulatorPlan
    feature_names: tuple[str, ...] | None
    _n_rows: int

    def _exact(self) -> NDArray[np.int64]: ...


def fit_accumulated(estimator: Any, moments: Moments) -> Any:
    """Fit an unfitted clone to the moments of an accumulator, which stay as they are.

    The caller wipes them when the model is there: whatever is refused or interrupted loses none.
    """
    if not isinstance(estimator, BaseLogLocationScale):
        raise TypeError(
            f"estimator must be a DPLogLocationScaleRegressor or a preset, not {type(estimator).__name__}."
        )
    estimator._validate_params()
    plan = moments.plan
    _check_agreement(estimator, plan, moments.feature_names)
    estimator.set_params(**_declared(estimator, plan))
    grid, task = plan.grid, _settle(estimator, moments)
    estimator.announce_leaks([])
    entropy = check_entropy(estimator.random_state)
    release_plan = _plan_release(plan, task.neighbours, task.budget)
    spent = estimator._describe_moments(task, release_plan.unit, entropy.source)
    estimator.charge(spent)
    estimator.n_features_in_ = grid.n_features
    if moments.feature_names is not None:
        estimator.feature_names_in_ = np.array(moments.feature_names, dtype=object)
    estimator._adopt(release_plan.release(moments._exact(), entropy), grid, task, spent)
    estimator._warn_if_useless()
    return estimator


def _settle(estimator: BaseLogLocationScale, moments: Moments) -> Task:
    """Resolve everything public."""
    plan, grid = moments.plan, moments.plan.grid
    neighbours = estimator._neighbours(
        grid.n_features, plan.max_rows_per_group is not None, max_weight=plan.max_weight
    )
    return Task(
        family=family_of(estimator.distribution)[0],
        log_target=plan.log_target,
        bounds=(grid.lower, grid.upper),
        bounds_y=plan.bounds_y,
        neighbours=neighbours,
        budget=Budget.of(estimator.epsilon, estimator.delta, estimator.mechanism),
        n_units=moments._n_rows if neighbours.n_is_public else None,
        scale_bounds=estimator._bounds_of_scale(),
    )


def _plan_release(plan: AccumulatorPlan, neighbours: Neighbours, budget: Budget) -> MomentPlan:
    """Plan the noise, and see that it fits before anything is charged."""
    try:
        release_plan = plan_moments(plan.grid, neighbours, budget, plan.weight_bits)
        if release_plan.noise.scales.max() <= 2**SCALE_BITS:
            return release_plan
    except OverflowError:
        pass
    raise ValueError("epsilon is too small for an accumulator: the noise does not fit 64-bit integers.")


def _check_agreement(estimator: Any, plan: AccumulatorPlan, names: tuple[str, ...] | None) -> None:
    """Refuse an estimator that declares other than what the rows were scaled by."""
    if not plan.columns_known:
        raise ValueError("there is nothing to release: no batch has told the number of columns.")
    grid = plan.grid
    if family_of(estimator.distribution)[1] != plan.log_target:
        raise ValueError("the estimator's distribution and the accumulator's differ in whether y is a time.")
    if estimator.x_norm not in (None, grid.x_norm):
        raise ValueError("x_norm of the estimator must be None or that of the accumulator.")
    if grid.x_norm is not None and estimator.mechanism != plan.mechanism:
        raise ValueError("mechanism must be that of the accumulator: x_norm is of another norm.")
    allowed = (1, plan.max_rows_per_group)
    if plan.max_rows_per_group is not None and estimator.max_rows_per_group not in allowed:
        raise ValueError("max_rows_per_group of the estimator must be 1 or that of the accumulator.")
    _check_bounds(estimator, plan, names)


def _check_bounds(estimator: Any, plan: AccumulatorPlan, names: tuple[str, ...] | None) -> None:
    grid = plan.grid
    if estimator.bounds_X is not None:
        bounds = check_bounds(estimator.bounds_X, grid.n_features, names, name="bounds_X")
        if not all(map(np.array_equal, bounds, (grid.lower, grid.upper))):
            raise ValueError("bounds_X of the estimator must be None or those of the accumulator.")
    if estimator.bounds_y is None:
        return
    if check_target_bounds(estimator.bounds_y, plan.log_target) != plan.bounds_y:
        raise ValueError("bounds_y of the estimator must be None or those of the accumulator.")


def _declared(estimator: Any, plan: AccumulatorPlan) -> dict[str, Any]:
    """Parameters that the estimator left to the accumulator: a fitted estimator tells what it was told."""
    declared: dict[str, Any] = {"x_norm": plan.grid.x_norm}
    for name, bounds in plan.declared_bounds.items():
        # What was paid for the accumulator's bounds was paid for those of the estimator, which are the same.
        if getattr(estimator, name) is None or name in plan.estimates:
            declared[name] = bounds
    if plan.max_rows_per_group is not None:
        declared["max_rows_per_group"] = plan.max_rows_per_group
    return declared
