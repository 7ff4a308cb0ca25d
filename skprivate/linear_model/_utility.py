# SPDX-License-Identifier: BSD-3-Clause
"""When the noise hides the signal."""

from typing import Any


def constant_wins(release: Any, fit: Any) -> str | None:
    """Return why a constant predictor is expected to be better, or None."""
    return None
