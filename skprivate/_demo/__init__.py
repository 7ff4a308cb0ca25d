# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the demonstration: games, life data, parties."""
