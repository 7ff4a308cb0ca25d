# SPDX-License-Identifier: BSD-3-Clause
"""Accounting: what a fit spent, what is claimed for it, and the ledger that adds it up."""

from ._disclosure import DisclosureRisk
from ._guarantee import PrivacyGuarantee
from ._ledger import LedgerEntry, PrivacyLedger
from ._spent import PrivacySpent

__all__ = ["DisclosureRisk", "LedgerEntry", "PrivacyGuarantee", "PrivacyLedger", "PrivacySpent"]
