# SPDX-License-Identifier: BSD-3-Clause
"""The battery of `skprivate.audit` on diffprivlib's estimators, in the environment that has it."""

from ..._peers.beside import beside


def run() -> None:
    beside("audit")
