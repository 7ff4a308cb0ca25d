# SPDX-License-Identifier: BSD-3-Clause
"""Data sets and generators for examples, tests and benchmarks."""

from ._census import fetch_census
from ._diabetes import fetch_diabetes_outcome
from ._posterior_drift import make_posterior_drift

__all__ = ["fetch_census", "fetch_diabetes_outcome", "make_posterior_drift"]
