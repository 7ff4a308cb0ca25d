# SPDX-License-Identifier: BSD-3-Clause
"""Proof that a reorganisation changed names alone: two checkouts fit the same cases, bit by bit.

The folder is copied beside a checkout and run there, so that nothing of the other checkout is imported.
"""
