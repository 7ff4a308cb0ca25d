# SPDX-License-Identifier: BSD-3-Clause
"""Figures and tables of the collaborative prediction paper on noise, sweeps of parameters and warfarin."""
