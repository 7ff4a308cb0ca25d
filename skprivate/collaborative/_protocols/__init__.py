# SPDX-License-Identifier: BSD-3-Clause
"""The cryptographic protocols between the parties: consent, masked sums, keys and messages."""
