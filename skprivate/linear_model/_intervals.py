# SPDX-License-Identifier: BSD-3-Clause
"""Parametric bootstrap of a release."""

from typing import Any

from ._solve import ScaledFit


def bootstrap_moments(release: Any, fit: ScaledFit, family: Any, rule: str, bounds: Any) -> ScaledFit:
    """Return replicates of the fit."""
    raise NotImplementedError
