# SPDX-License-Identifier: BSD-3-Clause
"""Data sets, methods, scores and tables by which private models are compared."""
