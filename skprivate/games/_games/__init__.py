# SPDX-License-Identifier: BSD-3-Clause
"""The games: costs, constraint sets, best responses and reference equilibria."""
