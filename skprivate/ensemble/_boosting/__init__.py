# SPDX-License-Identifier: BSD-3-Clause
"""Private boosting: columns as cells, a schedule, noisy sums of residuals, and the steps made of them."""
