# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on what is released: what an adversary learns from it, beside what the proofs allow."""
