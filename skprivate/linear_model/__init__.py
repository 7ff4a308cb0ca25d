# SPDX-License-Identifier: BSD-3-Clause
"""Private log-location-scale (accelerated failure time) regression."""
