# SPDX-License-Identifier: BSD-3-Clause
"""The checks of one private estimator, and what runs them."""
