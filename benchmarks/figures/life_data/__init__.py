# SPDX-License-Identifier: BSD-3-Clause
"""Errors, warnings and interval coverage of private log-location-scale regression."""
