# SPDX-License-Identifier: BSD-3-Clause
"""Codes of columns, additive scores over them, and the sums of their residuals."""
