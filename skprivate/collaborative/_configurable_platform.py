# SPDX-License-Identifier: BSD-3-Clause
"""Platforms whose local models, query perturber and aggregator are parameters."""

from collections.abc import Iterable, Mapping
from typing import Any

from .._typing import OnSiteError, RandomSource
from ..base import assign_roles
from ._local_average.regressor import LocalAverageRegressor
from ._message_platform import MessagePlatform
from ._swapping import BSTDAggregator


class ConfigurablePlatform(MessagePlatform):
    """A platform with any local models, perturber and aggregator; subclasses define what is predicted."""

    declared_roles = assign_roles(
        release="estimator query_perturber aggregator on_site_error random_state", computing="n_jobs"
    )

    _parameter_constraints = {
        **MessagePlatform._parameter_constraints,
        "estimator": "no_validation",
        "query_perturber": "no_validation",
        "aggregator": "no_validation",
    }
    #: The method by which a local model answers.
    _answers_by = "predict"

    def __init__(
        self,
        estimator: Any = None,
        query_perturber: Any = None,
        aggregator: Any = None,
        *,
        n_jobs: int | None = None,
        on_site_error: OnSiteError = "raise",
        random_state: RandomSource = None,
    ) -> None:
        self.estimator = estimator
        self.query_perturber = query_perturber
        self.aggregator = aggregator
        self.n_jobs = n_jobs
        self.on_site_error = on_site_error
        self.random_state = random_state

    def _default_model(self) -> Any:
        return LocalAverageRegressor()

    def _default_aggregator(self) -> Any:
        return BSTDAggregator()

    def _template(self, site: Any) -> Any:
        if self.estimator is None:
            return self._default_model()
        if not isinstance(self.estimator, Mapping):
            return self.estimator
        if site not in self.estimator:
            raise ValueError(f"estimator has no model for site {site!r}.")
        return self.estimator[site]

    def _templates(self) -> Iterable[Any]:
        if self.estimator is None:
            # Of this kind are the default models of a classifier too, and it has the tags.
            return [LocalAverageRegressor()]
        return list(self.estimator.values()) if isinstance(self.estimator, Mapping) else [self.estimator]

    def _make_perturber(self) -> Any:
        return self.query_perturber

    def _make_aggregator(self) -> Any:
        return self._default_aggregator() if self.aggregator is None else self.aggregator

    def _check_components(self) -> None:
        if self.estimator is not None:
            for template in self._templates():
                _check_component("estimator", template, self._answers_by)
        if self.query_perturber is not None:
            _check_component("query_perturber", self.query_perturber, "transform")
        _check_component("aggregator", self._make_aggregator(), "predict")


def _check_component(name: str, component: Any, method: str) -> None:
    """Raise TypeError for a component that lacks a method."""
    if isinstance(component, type) or not hasattr(component, "fit") or not hasattr(component, method):
        raise TypeError(
            f"{name} must be an estimator, not a class, with fit and {method}; "
            f"got {component.__name__ if isinstance(component, type) else type(component).__name__}."
        )
