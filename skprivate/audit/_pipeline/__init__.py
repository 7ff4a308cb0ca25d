# SPDX-License-Identifier: BSD-3-Clause
"""The check of a whole pipeline: changed rows, comparison of fits, results."""
