# SPDX-License-Identifier: BSD-3-Clause
"""Checks of how an estimator behaves: fresh noise, honest accounts, declared domains, silent messages."""

from ._neighbours import AuditCase

CHECKS = ()
