# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the audit battery passes and fails on estimators of diffprivlib, in its environment."""

from ..._peers.beside import beside


def run(*, small: bool = False) -> None:
    """Print what the battery finds; it has one size."""
    beside("audit")
