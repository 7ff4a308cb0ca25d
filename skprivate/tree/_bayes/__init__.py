# SPDX-License-Identifier: BSD-3-Clause
"""Shares of classes from noisy counts, drawn to what is probable before them."""
