# SPDX-License-Identifier: BSD-3-Clause
"""Tables of accuracy, error and coverage, comparisons with other methods, and choices of constants."""
