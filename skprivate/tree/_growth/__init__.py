# SPDX-License-Identifier: BSD-3-Clause
"""How a tree grows without public rows: splits that private rows pay for, or that reports suggest."""
