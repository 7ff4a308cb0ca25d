# SPDX-License-Identifier: BSD-3-Clause
"""Accounting: what a fit spent, what is claimed for it, what it leaks, and the ledger that adds it up."""

from ._amplification import ShuffledPrivacy, shuffle_amplification
from ._blanket import Blanket
from ._channels import joint_channel
from ._composition import Composition, CompositionPart, compose
from ._disclosure import DisclosureRisk
from ._estimated_bounds import EstimatedBounds
from ._guarantee import PrivacyGuarantee
from ._ledger import PrivacyLedger
from ._ledger_entry import LedgerEntry
from ._model_card import add_privacy_section, privacy_section
from ._pml import (
    max_information,
    maximal_leakage,
    pml_from_ldp,
    pml_guarantee,
    pml_laplace,
    pointwise_maximal_leakage,
    prior_ratio,
)
from ._privacy_report import PrivacyReport, StepReport
from ._provenance import AuditRecord, PackageRecord
from ._registry import RegistryEntry
from ._spent import PrivacySpent
from ._statement import statement_schema

__all__ = [
    "AuditRecord",
    "Blanket",
    "Composition",
    "CompositionPart",
    "DisclosureRisk",
    "EstimatedBounds",
    "LedgerEntry",
    "PackageRecord",
    "PrivacyGuarantee",
    "PrivacyLedger",
    "PrivacyReport",
    "PrivacySpent",
    "RegistryEntry",
    "ShuffledPrivacy",
    "StepReport",
    "add_privacy_section",
    "compose",
    "joint_channel",
    "max_information",
    "maximal_leakage",
    "pml_from_ldp",
    "pml_guarantee",
    "pml_laplace",
    "pointwise_maximal_leakage",
    "prior_ratio",
    "privacy_section",
    "shuffle_amplification",
    "statement_schema",
]
