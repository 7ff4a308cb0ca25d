# SPDX-License-Identifier: BSD-3-Clause
"""Accounting: what a fit spent, what is claimed for it, what it leaks, and the ledger that adds it up."""

from ._amplification import ShuffledPrivacy, shuffle_amplification
from ._blanket import Blanket
from ._channels import joint_channel
from ._composition import Composition, CompositionPart, compose
from ._disclosure import DisclosureRisk
from ._guarantee import PrivacyGuarantee
from ._ledger import PrivacyLedger
from ._ledger_entry import LedgerEntry
from ._pml import (
    max_information,
    maximal_leakage,
    pml_from_ldp,
    pml_guarantee,
    pml_laplace,
    pointwise_maximal_leakage,
    prior_ratio,
)
from ._spent import PrivacySpent

__all__ = [
    "Blanket",
    "Composition",
    "CompositionPart",
    "DisclosureRisk",
    "LedgerEntry",
    "PrivacyGuarantee",
    "PrivacyLedger",
    "PrivacySpent",
    "ShuffledPrivacy",
    "compose",
    "joint_channel",
    "max_information",
    "maximal_leakage",
    "pml_from_ldp",
    "pml_guarantee",
    "pml_laplace",
    "pointwise_maximal_leakage",
    "prior_ratio",
    "shuffle_amplification",
]
