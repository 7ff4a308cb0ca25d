# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.accounting` and their modules; those outside ``__all__`` are for pickles."""

from ._composition.compose import Composition as Composition
from ._composition.compose import CompositionPart as CompositionPart
from ._composition.compose import compose as compose
from ._composition.shuffle import Blanket as Blanket
from ._composition.shuffle import ShuffledPrivacy as ShuffledPrivacy
from ._composition.shuffle import shuffle_amplification as shuffle_amplification
from ._leakage import joint_channel as joint_channel
from ._leakage import max_information as max_information
from ._leakage import maximal_leakage as maximal_leakage
from ._leakage import pml_from_ldp as pml_from_ldp
from ._leakage import pml_guarantee as pml_guarantee
from ._leakage import pml_laplace as pml_laplace
from ._leakage import pml_laplace_query as pml_laplace_query
from ._leakage import pointwise_maximal_leakage as pointwise_maximal_leakage
from ._leakage import prior_ratio as prior_ratio
from ._ledger.ledger import LedgerAudit as LedgerAudit
from ._ledger.ledger import PrivacyLedger as PrivacyLedger
from ._ledger.state import Identity as Identity
from ._privacy_report import PrivacyReport as PrivacyReport
from ._privacy_report import StepReport as StepReport
from ._privacy_report import add_privacy_section as add_privacy_section
from ._privacy_report import privacy_section as privacy_section
from ._statements.fields import FrozenMapping as FrozenMapping
from ._statements.fields import statement_schema as statement_schema
from ._statements.guarantees import AuditRecord as AuditRecord
from ._statements.guarantees import DisclosureRisk as DisclosureRisk
from ._statements.guarantees import PackageRecord as PackageRecord
from ._statements.guarantees import PrivacyGuarantee as PrivacyGuarantee
from ._statements.registry import RegistryEntry as RegistryEntry
from ._statements.spent import EstimatedBounds as EstimatedBounds
from ._statements.spent import LedgerEntry as LedgerEntry
from ._statements.spent import PrivacySpent as PrivacySpent
from ._statements.spent import ReleaseRecord as ReleaseRecord
from ._study_page import study_page as study_page

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
