# SPDX-License-Identifier: BSD-3-Clause
"""Behaviour of the ledger and of every reader under concurrency, crashes and damaged input."""
