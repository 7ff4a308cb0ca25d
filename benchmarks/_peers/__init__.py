# SPDX-License-Identifier: BSD-3-Clause
"""Comparison with diffprivlib, which runs in an environment of its own."""
