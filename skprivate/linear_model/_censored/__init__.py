# SPDX-License-Identifier: BSD-3-Clause
"""The fit to censored times: a histogram, then gradient rounds with Newton steps."""
