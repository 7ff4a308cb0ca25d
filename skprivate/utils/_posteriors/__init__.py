# SPDX-License-Identifier: BSD-3-Clause
"""Posterior means of shares, given noisy counts and what is probable before them."""
