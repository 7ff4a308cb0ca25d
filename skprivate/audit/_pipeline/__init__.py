# SPDX-License-Identifier: BSD-3-Clause
"""The check of a whole pipeline: the changed rows, and the comparison of fits."""
