# SPDX-License-Identifier: BSD-3-Clause
"""Cases of an audit: an estimator, its declared domain, and neighbouring data sets."""
