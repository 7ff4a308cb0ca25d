# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a plan: rows that are drawn, models of public labels, fits, bands, the budget, the result."""
