# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the audit battery passes and fails on estimators of diffprivlib, in its environment."""

from ..._peers.beside import beside


def run() -> None:
    beside("audit")
