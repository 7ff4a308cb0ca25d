# SPDX-License-Identifier: BSD-3-Clause
"""Public plans of what one row contributes to integer sums: cells, moments, gradients."""
