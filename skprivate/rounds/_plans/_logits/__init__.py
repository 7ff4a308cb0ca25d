# SPDX-License-Identifier: BSD-3-Clause
"""Plans of logistic regression: moments by label, and gradients of the log loss."""
