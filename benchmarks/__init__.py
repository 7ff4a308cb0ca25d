# SPDX-License-Identifier: BSD-3-Clause
"""Speed as ratios, and figures that take longer than a test should."""
