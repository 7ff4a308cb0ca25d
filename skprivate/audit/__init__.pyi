# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.audit` and their modules."""

from ._attacks.on_games import BayesAdversary as BayesAdversary
from ._attacks.on_games import GradientMatchingAdversary as GradientMatchingAdversary
from ._attacks.on_platforms import AttributeAttack as AttributeAttack
from ._attacks.on_platforms import ModelExtractionAttack as ModelExtractionAttack
from ._battery.battery import check_private_estimator as check_private_estimator
from ._battery.battery import parametrize_with_private_checks as parametrize_with_private_checks
from ._cases import AuditCase as AuditCase
from ._epsilon import EpsilonAudit as EpsilonAudit
from ._epsilon import audit_epsilon as audit_epsilon
from ._epsilon import epsilon_lower_bound as epsilon_lower_bound
from ._epsilon import low_bits as low_bits
from ._observation.recorder import record_releases as record_releases
from ._pipeline_check import Hole as Hole
from ._pipeline_check import PipelineCheck as PipelineCheck
from ._pipeline_check import check_private_pipeline as check_private_pipeline
from ._search import SensitivityFuzz as SensitivityFuzz
from ._search import sensitivity_fuzz as sensitivity_fuzz

__all__ = [
    "AttributeAttack",
    "AuditCase",
    "BayesAdversary",
    "EpsilonAudit",
    "GradientMatchingAdversary",
    "Hole",
    "ModelExtractionAttack",
    "PipelineCheck",
    "SensitivityFuzz",
    "audit_epsilon",
    "check_private_estimator",
    "check_private_pipeline",
    "epsilon_lower_bound",
    "low_bits",
    "parametrize_with_private_checks",
    "record_releases",
    "sensitivity_fuzz",
]
