# SPDX-License-Identifier: BSD-3-Clause
"""Observation of a fit: its draws, its lines, its object, and the process around it."""
