# SPDX-License-Identifier: BSD-3-Clause
"""The checks of the battery, by topic."""
