# SPDX-License-Identifier: BSD-3-Clause
"""The contract of a private estimator, reports over pipelines, and what an author of estimators needs."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ..accounting._statements.spent import name_inputs as name_inputs
    from ..utils import check_epsilon as check_epsilon
    from ..utils import number_groups as number_groups
    from ..utils import select_rows as select_rows
    from ..utils._private_fit import private_fit as private_fit
    from ..utils._private_fit import redact_errors as redact_errors
    from ..utils._tables import within_bounds as within_bounds
    from ._mixin import SHARED_CONSTRAINTS as SHARED_CONSTRAINTS
    from ._mixin import PrivateEstimatorMixin as PrivateEstimatorMixin
    from ._mixin import claim_of as claim_of
    from ._mixin import refuse_seed as refuse_seed
    from ._pipeline_report import StatelessMixin as StatelessMixin
    from ._pipeline_report import privacy_report as privacy_report
    from ._public_facts import PlannedCost as PlannedCost
    from ._public_facts import PublicShape as PublicShape
    from ._public_facts import assign_roles as assign_roles
    from ._public_facts import parameter_roles as parameter_roles
    from ._stateless_steps import PublicEstimator as PublicEstimator
    from ._trusted_types import trusted_types as trusted_types

_HOMES = {
    "PlannedCost": "._public_facts",
    "PrivateEstimatorMixin": "._mixin",
    "PublicEstimator": "._stateless_steps",
    "PublicShape": "._public_facts",
    "SHARED_CONSTRAINTS": "._mixin",
    "StatelessMixin": "._pipeline_report",
    "assign_roles": "._public_facts",
    "check_epsilon": "..utils",
    "claim_of": "._mixin",
    "name_inputs": "..accounting._statements.spent",
    "number_groups": "..utils",
    "parameter_roles": "._public_facts",
    "privacy_report": "._pipeline_report",
    "private_fit": "..utils._private_fit",
    "redact_errors": "..utils._private_fit",
    "refuse_seed": "._mixin",
    "select_rows": "..utils",
    "trusted_types": "._trusted_types",
    "within_bounds": "..utils._tables",
    # Not for users: pickles of fitted estimators name it here, so that files can be moved.
    "TableModel": "._public_model",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "SHARED_CONSTRAINTS",
    "PlannedCost",
    "PrivateEstimatorMixin",
    "PublicEstimator",
    "PublicShape",
    "StatelessMixin",
    "assign_roles",
    "check_epsilon",
    "claim_of",
    "name_inputs",
    "number_groups",
    "parameter_roles",
    "privacy_report",
    "private_fit",
    "redact_errors",
    "refuse_seed",
    "select_rows",
    "trusted_types",
    "within_bounds",
]
