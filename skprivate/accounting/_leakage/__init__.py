# SPDX-License-Identifier: BSD-3-Clause
"""Pointwise maximal leakage: of channels, of Laplace noise, of whole runs."""
