# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of speed, figures of accuracy that take longer than a test should, and the tables of the papers."""
