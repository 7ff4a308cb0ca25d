# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of times of private methods to those of reference implementations."""
