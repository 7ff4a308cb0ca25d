# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration of ``python -m skprivate``: trees, life data, parties, games."""
