# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a private description of a table: cells of its tables, estimates from noisy counts, pages."""
