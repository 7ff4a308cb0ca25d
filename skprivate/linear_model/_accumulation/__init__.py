# SPDX-License-Identifier: BSD-3-Clause
"""The parts of an accumulator of moments: its public plan, its batches, its bytes, and the fit to it."""
