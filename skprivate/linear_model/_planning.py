# SPDX-License-Identifier: BSD-3-Clause
"""What a fit will cost, and what its parameters do: what a private search must know in advance."""

import copy
from collections.abc import Mapping
from typing import Any, Self

from ..base import PlannedCost, PrivateEstimatorMixin, assign_roles
from ._noise_plan import Budget
from ._targets import is_structured

LLS_ROLES = assign_roles(
    release="epsilon delta mechanism bounds_X bounds_y x_norm scale_bounds relation n_newton weight_clip "
    "max_rows_per_group random_state",
    post_processing="method regularization",
    computing="ledger",
)


# Parameters that say what is known of the rows.
PUBLIC_INPUTS = ("bounds_X", "bounds_y", "x_norm", "scale_bounds")


class PlannedMoments(PrivateEstimatorMixin):
    """A private estimator whose model is read off noisy moments."""

    epsilon: Any
    delta: Any
    mechanism: str
    method: str
    regularization: str
    relation: Any
    random_state: Any

    _parameter_roles = LLS_ROLES

    _method: str
    _regularization: str

    def _find_leaks(self) -> dict[str, str]:
        """What would have to be read from private rows, by parameter."""
        raise NotImplementedError

    def _read_off(self, release: Any) -> None:
        """Read the model off a release."""
        raise NotImplementedError

    def _roles_of_parameters(self, y: Any = None) -> Mapping[str, str]:
        # The rounds of a fit to censored targets go on from what was made of the last one.
        again = ("method", "regularization") if y is not None and is_structured(y) else ()
        return {**self._parameter_roles, **dict.fromkeys(again, "release")}

    def _planned_cost(self, any_public: bool) -> PlannedCost:
        budget = Budget.of(self.epsilon, self.delta, self.mechanism)
        return PlannedCost(
            epsilon=budget.epsilon,
            delta=budget.delta,
            relation=self.relation,
            leaks=tuple(self._find_leaks().values()),
            seeded=self.random_state is not None,
        )

    def _post_processed(self, parameters: Mapping[str, Any]) -> Self:
        changed = copy.copy(self)
        changed.set_params(**parameters)  # type: ignore[attr-defined]
        changed._validate_params()  # type: ignore[attr-defined]
        changed._method, changed._regularization = changed.method, changed.regularization
        changed._read_off(changed.release_)  # type: ignore[attr-defined]
        return changed
