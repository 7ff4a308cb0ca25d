# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of private decision trees against published methods, competitors and an oracle."""
