# SPDX-License-Identifier: BSD-3-Clause
"""Accounting: what a fit spent, what is claimed for it, what it leaks, and the ledger that adds it up."""

from ._composition.blanket import Blanket
from ._composition.compose import Composition, CompositionPart, compose
from ._composition.shuffle import ShuffledPrivacy, shuffle_amplification
from ._leakage.channels import joint_channel
from ._leakage.pml import (
    max_information,
    maximal_leakage,
    pml_from_ldp,
    pml_guarantee,
    pml_laplace,
    pointwise_maximal_leakage,
    prior_ratio,
)
from ._leakage.query import pml_laplace_query
from ._ledger.audit import LedgerAudit
from ._ledger.ledger import PrivacyLedger

# Not for users: pickles of fitted estimators name them here, so that files can be moved.
from ._ledger.store import Identity as Identity
from ._model_card import add_privacy_section, privacy_section
from ._privacy_report import PrivacyReport, StepReport
from ._statements.disclosure_risk import DisclosureRisk
from ._statements.estimated_bounds import EstimatedBounds
from ._statements.frozen_mapping import FrozenMapping as FrozenMapping
from ._statements.guarantee import PrivacyGuarantee
from ._statements.ledger_entry import LedgerEntry
from ._statements.provenance import AuditRecord, PackageRecord
from ._statements.registry import RegistryEntry
from ._statements.releases import ReleaseRecord
from ._statements.schema import statement_schema
from ._statements.spent import PrivacySpent
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
