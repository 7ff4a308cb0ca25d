# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a fit and the roles of its parameters, which a private search must know in advance."""

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..base import PlannedCost, PrivateEstimatorMixin, PublicShape, assign_roles
from ..base._domain_reading import DomainMixin
from ..noise._fit_budget import FitBudget
from ..rounds._plans.grid import MANY_ROWS
from ..rounds._plans.observations import check_observations
from ..rounds._reading.targets import check_form, check_target_bounds, find_roles
from ..utils import is_structured
from ._censored.fit import CensoredPlan, plan_censored
from ._distributions import error_distribution_of, models_log_target
from ._moments.fit import moments_budget
from ._moments.release import Neighbours, make_grid

LLS_ROLES = assign_roles(
    release="epsilon delta mechanism bounds_X domain bounds_y x_norm scale_bounds relation max_iter "
    "hazard_clip observations max_rows_per_group random_state",
    post_processing="method regularization",
    computing="ledger",
)


# Parameters that hold public knowledge about the rows.
PUBLIC_INPUTS = ("domain", "bounds_X", "bounds_y", "x_norm", "scale_bounds")


class PlannedMoments(DomainMixin, PrivateEstimatorMixin):
    """A private estimator whose model is computed from noisy moments."""

    epsilon: Any
    delta: Any
    mechanism: str
    method: str
    regularization: str
    relation: Any
    random_state: Any

    distribution: str
    bounds_X: Any
    bounds_y: Any
    x_norm: Any
    max_iter: Any
    hazard_clip: Any
    observations: Any

    declared_roles = LLS_ROLES
    _bounds_parameter = "bounds_X"

    _method: str
    _regularization: str

    def _find_leaks(self) -> dict[str, str]:
        """Return what would have to be read from private rows, by parameter."""
        raise NotImplementedError

    def _neighbours(self, n_features: int, grouped: bool) -> Neighbours:
        """Return the neighbouring relation of tables, and its sensitivity."""
        raise NotImplementedError

    def _bounds_of_scale(self) -> tuple[float, float] | None:
        """Return the declared bounds of the scale."""
        raise NotImplementedError

    def _solve_release(self, release: Any) -> None:
        """Compute the model from a release."""
        raise NotImplementedError

    def roles_for(self, y: Any = None) -> Mapping[str, str]:
        # Where there may be several rounds, one depends on the estimate of the round before.
        several = self.max_iter != 1 or (y is not None and is_structured(y))
        again = ("method", "regularization") if several else ()
        return {**self.declared_roles, **dict.fromkeys(again, "release")}

    def _most_looks(self) -> int | None:
        """Return how many looks follow the moments of complete targets; None: by released values."""
        if self.method == "taylor" or self.regularization != "floor":
            return 0
        return None if isinstance(self.max_iter, str) else int(self.max_iter) - 1

    def planned_cost(self, any_public: bool) -> PlannedCost:
        budget = FitBudget.of(self.epsilon, self.delta, self.mechanism)
        return PlannedCost(
            epsilon=budget.epsilon,
            delta=budget.delta,
            relation=self.relation,
            leaks=tuple(self._find_leaks().values()),
            seeded=self.random_state is not None,
        )

    def _shape_of(self, X: Any, units: Any, structured: bool) -> PublicShape:
        names = getattr(self, "feature_names_in_", None)
        return PublicShape(
            n_features=self.n_features_in_,
            feature_names=None if names is None else tuple(names),
            n_rows=len(X) if units is None else units.n_units,
            grouped=units is not None,
            structured=structured,
        )

    def check_public(self, shape: PublicShape) -> None:
        self._plan_noise(shape)

    def _plan_noise(self, shape: PublicShape) -> CensoredPlan | None:
        """Check what is public; return the plan of a fit to censored targets, on a grid of no bounds."""
        budget = FitBudget.of(self.epsilon, self.delta, self.mechanism)
        shape = self.encoded_shape(shape)
        known = shape.structured and shape.no_targets is not None
        roles = find_roles(shape.no_targets) if known else ()
        kinds = check_observations(self.observations, shape.structured, roles)
        if kinds != ("exact",) and self.method == "taylor":
            raise ValueError("method='taylor' takes no censored targets; use method='moments'.")
        log_target = shape.structured or models_log_target(self.distribution)
        if self.bounds_y is not None:
            check_target_bounds(self.bounds_y, log_target)
        if shape.no_targets is not None:
            check_form(shape.no_targets, log_target, strict=self.is_strict())
        self._bounds_of_scale()
        shape.check_bounds(self.bounds_X, "bounds_X")
        if shape.n_features is None:
            return None
        neighbours = self._neighbours(shape.n_features, shape.grouped)
        n_rows = shape.n_rows if neighbours.n_is_public else MANY_ROWS
        # Any bounds will do: whether there is a grid does not depend on them, and on every grid the noise of
        # the moments can be planned.
        sides, target = (np.zeros(shape.n_features), np.ones(shape.n_features)), (0.0, 1.0)
        part = moments_budget(budget, self._most_looks()) if kinds == ("exact",) else budget
        grid = make_grid(*sides, target, self.x_norm, n_rows=n_rows, neighbours=neighbours, budget=part)
        if kinds == ("exact",):
            return None
        return plan_censored(
            grid,
            error_distribution_of(self.distribution),
            budget,
            neighbours,
            max_iter=self.max_iter,
            hazard_clip=self.hazard_clip,
            regularization=self.regularization,
            n_rows=n_rows,
            observations=kinds,
        )

    def post_processed(self, parameters: Mapping[str, Any]) -> Self:
        changed = copy.copy(self)
        changed.set_params(**parameters)  # type: ignore[attr-defined]
        changed._validate_params()  # type: ignore[attr-defined]
        changed._method, changed._regularization = changed.method, changed.regularization
        changed._solve_release(changed.release_)  # type: ignore[attr-defined]
        return changed
