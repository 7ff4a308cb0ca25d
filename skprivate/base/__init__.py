# SPDX-License-Identifier: BSD-3-Clause
"""The contract of a private estimator: the mixin, planned costs, reports over pipelines."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ..accounting import PrivacyReport as PrivacyReport
    from ..accounting import StepReport as StepReport
    from ..utils._private_fit import private_fit as private_fit
    from ..utils._private_fit import redact_errors as redact_errors
    from ._mixin import SHARED_CONSTRAINTS as SHARED_CONSTRAINTS
    from ._mixin import PrivateEstimatorMixin as PrivateEstimatorMixin
    from ._mixin import reasons_against as reasons_against
    from ._mixin import refuse_seed as refuse_seed
    from ._pipeline_report import CONTAINERS as CONTAINERS
    from ._pipeline_report import StatelessMixin as StatelessMixin
    from ._pipeline_report import estimates_of as estimates_of
    from ._pipeline_report import last_step as last_step
    from ._pipeline_report import privacy_report as privacy_report
    from ._pipeline_report import reads_rows as reads_rows
    from ._pipeline_report import steps_of as steps_of
    from ._planned_cost import PlannedCost as PlannedCost
    from ._planned_cost import PublicShape as PublicShape
    from ._planned_cost import assign_roles as assign_roles
    from ._planned_cost import parameter_roles as parameter_roles
    from ._public_steps import PublicEstimator as PublicEstimator
    from ._trusted_types import trusted_types as trusted_types

_HOMES = {
    "CONTAINERS": "._pipeline_report",
    "SHARED_CONSTRAINTS": "._mixin",
    "PlannedCost": "._planned_cost",
    "PrivacyReport": "..accounting",
    "PrivateEstimatorMixin": "._mixin",
    "PublicEstimator": "._public_steps",
    "PublicShape": "._planned_cost",
    "StatelessMixin": "._pipeline_report",
    "StepReport": "..accounting",
    "assign_roles": "._planned_cost",
    "estimates_of": "._pipeline_report",
    "private_fit": "..utils._private_fit",
    "last_step": "._pipeline_report",
    "parameter_roles": "._planned_cost",
    "privacy_report": "._pipeline_report",
    "reads_rows": "._pipeline_report",
    "reasons_against": "._mixin",
    "refuse_seed": "._mixin",
    "steps_of": "._pipeline_report",
    "trusted_types": "._trusted_types",
    "redact_errors": "..utils._private_fit",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "PlannedCost",
    "PrivacyReport",
    "PrivateEstimatorMixin",
    "PublicEstimator",
    "PublicShape",
    "StatelessMixin",
    "StepReport",
    "assign_roles",
    "parameter_roles",
    "privacy_report",
    "private_fit",
    "redact_errors",
    "trusted_types",
]
