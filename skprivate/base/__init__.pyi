# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.base` and their modules; those outside ``__all__`` are for pickles."""

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
from ._public_model import TableModel as TableModel
from ._stateless_steps import PublicEstimator as PublicEstimator
from ._trusted_types import trusted_types as trusted_types

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
