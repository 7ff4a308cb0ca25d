# SPDX-License-Identifier: BSD-3-Clause
"""The ledger on disk: its store, its limits, its backups, and its report."""
