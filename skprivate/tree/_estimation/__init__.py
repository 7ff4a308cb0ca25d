# SPDX-License-Identifier: BSD-3-Clause
"""Post-processing of a release: depth, weight of public rows, pruning and probabilities of the leaves."""
