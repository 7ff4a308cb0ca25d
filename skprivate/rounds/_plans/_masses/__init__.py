# SPDX-License-Identifier: BSD-3-Clause
"""Plans of masses: each row shares out an amount, the same for all, among some cells."""
