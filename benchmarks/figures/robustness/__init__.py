# SPDX-License-Identifier: BSD-3-Clause
"""Time of the ledger by its length, and behaviour of every reader on damaged input."""
