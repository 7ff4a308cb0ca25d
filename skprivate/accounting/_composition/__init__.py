# SPDX-License-Identifier: BSD-3-Clause
"""The cost of several runs together, and of reports that are shuffled."""
