# SPDX-License-Identifier: BSD-3-Clause
"""Logistic regression: standards of the columns, rounds of gradients, and estimates with intervals."""
