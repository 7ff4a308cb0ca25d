# SPDX-License-Identifier: BSD-3-Clause
"""The moments of rows: exact sums, their sensitivity and noise, and the estimates from their release."""
