# SPDX-License-Identifier: BSD-3-Clause
"""The leakage of the broadcasts: sensitivities, priors, and guarantees from them."""
