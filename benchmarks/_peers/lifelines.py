# SPDX-License-Identifier: BSD-3-Clause
"""The Weibull regression of lifelines on censored targets in scikit-survival's form."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def weibull_fit(X: NDArray[np.float64], y: NDArray[Any]) -> Callable[[], Any] | None:
    """Return what fits lifelines' model once and returns it; None, and a line, where it is not installed."""
    try:
        import pandas as pd
        from lifelines import WeibullAFTFitter
    except ImportError:
        print("lifelines is not installed: pip install lifelines")
        return None
    frame = pd.DataFrame(X).rename(columns="x{}".format).assign(time=y["time"], event=y["event"])
    return lambda: WeibullAFTFitter().fit(frame, "time", "event")
