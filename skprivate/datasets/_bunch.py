# SPDX-License-Identifier: BSD-3-Clause
"""Return values of the loaders: a Bunch or a tuple, as arrays or as data frames."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch


def as_bunch(
    data: NDArray[np.float64],
    target: NDArray[np.int64],
    is_public: NDArray[np.bool_],
    *,
    feature_names: list[str],
    target_name: str,
    description: str,
    return_X_y: bool,
    as_frame: bool,
) -> Bunch | tuple[Any, ...]:
    """Return a Bunch, or with ``return_X_y`` a tuple; with ``as_frame`` data and target are of pandas."""
    X: Any = data
    y: Any = target
    if as_frame:
        import pandas as pd

        X, y = pd.DataFrame(data, columns=feature_names), pd.Series(target, name=target_name)
    if return_X_y:
        return X, y, is_public
    return Bunch(data=X, target=y, is_public=is_public, feature_names=feature_names, DESCR=description)
