# SPDX-License-Identifier: BSD-3-Clause
"""Fit of an estimator to the moments of an accumulator: checks, charge, release, in this order."""

from typing import Any, Protocol

import numpy as np

from ..._typing import IntArray
from ...noise import check_entropy
from ...noise._fit_budget import FitBudget, resolve_mechanism
from ...rounds._plans.grid import SCALE_BITS
from ...rounds._reading.targets import check_target_bounds
from ...utils import check_bounds
from .._base import BaseLogLocationScale
from .._distributions import error_distribution_of, models_log_target
from .._fit_task import FitTask
from .._moments.release import MomentPlan, Neighbours, plan_moments
from .plan import AccumulatorPlan


class AccumulatedMoments(Protocol):
    """The part of an accumulator that a fit reads."""

    plan: AccumulatorPlan
    feature_names: tuple[str, ...] | None
    _n_rows: int

    def _exact_moments(self) -> IntArray: ...


def fit_accumulated(estimator: Any, moments: AccumulatedMoments) -> Any:
    """Fit an unfitted clone to the moments of an accumulator, which stay as they are.

    The caller wipes them once it has the model: a refusal or an interrupt loses none.
    """
    if not isinstance(estimator, BaseLogLocationScale):
        raise TypeError(
            f"estimator must be a DPLogLocationScaleRegressor or a preset, not {type(estimator).__name__}."
        )
    estimator._validate_params()
    plan = moments.plan
    _check_agreement(estimator, plan, moments.feature_names)
    estimator.set_params(**_parameters_from_plan(estimator, plan))
    grid, task = plan.grid, _resolve_task(estimator, moments)
    estimator.announce_leaks([])
    entropy = check_entropy(estimator.random_state)
    release_plan = _plan_release(plan, task.neighbours, task.budget)
    spent = estimator._describe_moments(task, release_plan.unit, entropy.source)
    spent = spent.with_releases([release_plan.noise.describe("moments")])
    estimator.charge(spent)
    estimator.n_features_in_ = grid.n_features
    if moments.feature_names is not None:
        estimator.feature_names_in_ = np.array(moments.feature_names, dtype=object)
    estimator.name_columns()
    estimator._adopt(release_plan.release(moments._exact_moments(), entropy), grid, task, spent)
    estimator._warn_if_useless()
    return estimator


def _resolve_task(estimator: BaseLogLocationScale, moments: AccumulatedMoments) -> FitTask:
    """Return everything public about the fit."""
    plan, grid = moments.plan, moments.plan.grid
    neighbours = estimator._neighbours(
        grid.n_features, plan.max_rows_per_group is not None, max_weight=plan.max_weight
    )
    return FitTask(
        distribution=error_distribution_of(estimator.distribution),
        log_target=plan.log_target,
        bounds=(grid.lower, grid.upper),
        bounds_y=plan.bounds_y,
        neighbours=neighbours,
        budget=FitBudget.of(estimator.epsilon, estimator.delta, estimator.mechanism),
        n_units=moments._n_rows if neighbours.n_is_public else None,
        scale_bounds=estimator._bounds_of_scale(),
    )


def _plan_release(plan: AccumulatorPlan, neighbours: Neighbours, budget: FitBudget) -> MomentPlan:
    """Plan the noise, and check that it fits 64-bit integers, before anything is charged."""
    try:
        release_plan = plan_moments(plan.grid, neighbours, budget, plan.weight_bits)
        if release_plan.noise.scales.max() <= 2**SCALE_BITS:
            return release_plan
    except OverflowError:
        pass
    raise ValueError("epsilon is too small for an accumulator: the noise does not fit 64-bit integers.")


def _check_agreement(estimator: Any, plan: AccumulatorPlan, names: tuple[str, ...] | None) -> None:
    """Refuse an estimator whose parameters contradict those that the rows were scaled by."""
    if not plan.columns_known:
        raise ValueError(
            "there is nothing to release: no batch was added, and the number of columns is unknown."
        )
    grid = plan.grid
    if models_log_target(estimator.distribution) != plan.log_target:
        raise ValueError("the estimator's distribution and the accumulator's differ in whether y is a time.")
    if estimator.x_norm not in (None, grid.x_norm):
        raise ValueError("x_norm of the estimator must be None or that of the accumulator.")
    mechanism = resolve_mechanism(estimator.mechanism, estimator.delta)
    if grid.x_norm is not None and mechanism != plan.mechanism:
        delta = "delta=0" if plan.mechanism == "laplace" else "a delta above 0"
        raise ValueError(
            f"x_norm bounds another norm for {mechanism.capitalize()} noise: pass the estimator {delta}, or "
            f"make the accumulator with mechanism={mechanism!r}."
        )
    allowed = (1, plan.max_rows_per_group)
    if plan.max_rows_per_group is not None and estimator.max_rows_per_group not in allowed:
        raise ValueError("max_rows_per_group of the estimator must be 1 or that of the accumulator.")
    _check_bounds(estimator, plan, names)


def _check_bounds(estimator: Any, plan: AccumulatorPlan, names: tuple[str, ...] | None) -> None:
    grid = plan.grid
    two = estimator.bounds_X is not None and plan.domain is not None
    if two or estimator.domain not in (None, plan.domain):
        raise ValueError("domain of the estimator must be None or that of the accumulator.")
    if estimator.bounds_X is not None:
        bounds = check_bounds(estimator.bounds_X, grid.n_features, names, name="bounds_X")
        if not all(map(np.array_equal, bounds, (grid.lower, grid.upper))):
            raise ValueError("bounds_X of the estimator must be None or those of the accumulator.")
    if estimator.bounds_y is None:
        return
    if check_target_bounds(estimator.bounds_y, plan.log_target) != plan.bounds_y:
        raise ValueError("bounds_y of the estimator must be None or those of the accumulator.")


def _parameters_from_plan(estimator: Any, plan: AccumulatorPlan) -> dict[str, Any]:
    """Return parameters that the estimator left to the accumulator; the fitted estimator has them."""
    declared: dict[str, Any] = {"x_norm": plan.grid.x_norm}
    for name, bounds in plan.declared_bounds.items():
        # What was paid for the accumulator's bounds was paid for those of the estimator, which are the same.
        if getattr(estimator, name) is None or name in plan.estimates:
            declared[name] = bounds
    if plan.max_rows_per_group is not None:
        declared["max_rows_per_group"] = plan.max_rows_per_group
    return declared
