# SPDX-License-Identifier: BSD-3-Clause
"""Accounting: what a fit spent, what is claimed for it, what it leaks, and the ledger that adds it up."""

from ._composition.compose import Composition, CompositionPart, compose
from ._composition.shuffle import Blanket, ShuffledPrivacy, shuffle_amplification
from ._leakage.channels import joint_channel
from ._leakage.laplace import pml_laplace_query
from ._leakage.pml import (
    max_information,
    maximal_leakage,
    pml_from_ldp,
    pml_guarantee,
    pml_laplace,
    pointwise_maximal_leakage,
    prior_ratio,
)
from ._ledger.audit import LedgerAudit
from ._ledger.ledger import PrivacyLedger

# Not for users: pickles of fitted estimators name them here, so that files can be moved.
from ._ledger.state import Identity as Identity
from ._privacy_report import PrivacyReport, StepReport, add_privacy_section, privacy_section
from ._statements.fields import FrozenMapping as FrozenMapping
from ._statements.fields import statement_schema
from ._statements.guarantees import AuditRecord, DisclosureRisk, PackageRecord, PrivacyGuarantee
from ._statements.ledger_entry import LedgerEntry
from ._statements.registry import RegistryEntry
from ._statements.spent import EstimatedBounds, PrivacySpent, ReleaseRecord
from ._study_page import study_page

__all__ = [
    "AuditRecord",
    "Blanket",
    "Composition",
    "CompositionPart",
    "DisclosureRisk",
    "EstimatedBounds",
    "LedgerAudit",
    "LedgerEntry",
    "PackageRecord",
    "PrivacyGuarantee",
    "PrivacyLedger",
    "PrivacyReport",
    "PrivacySpent",
    "RegistryEntry",
    "ReleaseRecord",
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
    "pml_laplace_query",
    "pointwise_maximal_leakage",
    "prior_ratio",
    "privacy_section",
    "shuffle_amplification",
    "statement_schema",
    "study_page",
]
