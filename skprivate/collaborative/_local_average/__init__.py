# SPDX-License-Identifier: BSD-3-Clause
"""Local average regression: the estimator, its bandwidths, and the kernels over rows."""
