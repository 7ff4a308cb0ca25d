# SPDX-License-Identifier: BSD-3-Clause
"""What an evaluation does with the scores of rows: nodes, noisy counts, statistics and their intervals."""
