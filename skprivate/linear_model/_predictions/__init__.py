# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of fitted models: quantiles, survival curves, and their score."""
