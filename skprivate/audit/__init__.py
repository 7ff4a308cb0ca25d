# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on what is released, lower bounds on epsilon, and a battery of checks for private estimators."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._attacks.attribute import AttributeAttack as AttributeAttack
    from ._attacks.bayes import BayesAdversary as BayesAdversary
    from ._attacks.extraction import ModelExtractionAttack as ModelExtractionAttack
    from ._attacks.gradient_matching import GradientMatchingAdversary as GradientMatchingAdversary
    from ._battery.battery import check_private_estimator as check_private_estimator
    from ._battery.battery import parametrize_with_private_checks as parametrize_with_private_checks
    from ._cases.case import AuditCase as AuditCase
    from ._epsilon import EpsilonAudit as EpsilonAudit
    from ._epsilon import audit_epsilon as audit_epsilon
    from ._epsilon import epsilon_lower_bound as epsilon_lower_bound
    from ._epsilon import low_bits as low_bits
    from ._observation.recorder import record_releases as record_releases
    from ._pipeline_check import Hole as Hole
    from ._pipeline_check import PipelineCheck as PipelineCheck
    from ._pipeline_check import check_private_pipeline as check_private_pipeline
    from ._search.search import SensitivityFuzz as SensitivityFuzz
    from ._search.search import sensitivity_fuzz as sensitivity_fuzz

_HOMES = {
    "AttributeAttack": "._attacks.attribute",
    "AuditCase": "._cases.case",
    "BayesAdversary": "._attacks.bayes",
    "EpsilonAudit": "._epsilon",
    "GradientMatchingAdversary": "._attacks.gradient_matching",
    "ModelExtractionAttack": "._attacks.extraction",
    "Hole": "._pipeline_check",
    "PipelineCheck": "._pipeline_check",
    "SensitivityFuzz": "._search.search",
    "audit_epsilon": "._epsilon",
    "check_private_estimator": "._battery.battery",
    "check_private_pipeline": "._pipeline_check",
    "epsilon_lower_bound": "._epsilon",
    "low_bits": "._epsilon",
    "parametrize_with_private_checks": "._battery.battery",
    "record_releases": "._observation.recorder",
    "sensitivity_fuzz": "._search.search",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

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
