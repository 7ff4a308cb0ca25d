# SPDX-License-Identifier: BSD-3-Clause
"""The estimates of the leaves from released counts: depth, weight, pruning, probabilities."""
