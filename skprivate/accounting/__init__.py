# SPDX-License-Identifier: BSD-3-Clause
"""Accounting: what a fit spent, what is claimed for it, and the ledger that adds it up."""

from ._spent import PrivacySpent

__all__ = ["PrivacySpent"]
