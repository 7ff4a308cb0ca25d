# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of exact sums over rows: what a trusted curator releases, from an array to a cluster."""
