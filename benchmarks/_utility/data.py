# SPDX-License-Identifier: BSD-3-Clause
"""Splits of tables into public, private and test rows."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sources import load

#: What is public: the number of rows (None: all that came as public), and whether labels are permuted.
SETTINGS: dict[str, tuple[int | None, bool]] = {
    "all": (None, False),
    "500": (500, False),
    "50": (50, False),
    "0": (0, False),
    "500 permuted": (500, True),
}
# Public rows that are drawn where none came as public.
MOST_DRAWN = 500


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows with their mask, and private rows to test; the rest is as in `LabelledRows`."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    is_public: NDArray[np.bool_]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    seed: int
    bounds: Any = None
    categories: tuple[tuple[int, ...], ...] = ()
    classes: tuple[int, ...] = (0, 1)
    table: Any = None
    table_test: Any = None
    domain: Any = None
    target_range: tuple[float, float] | None = None
    logged: tuple[int, ...] = ()


def differs(name: str, setting: str) -> bool:
    """Whether a setting is another than that of 500 public rows: "all" is where more than these came."""
    return setting != "all" or int(load(name).is_public.sum()) > MOST_DRAWN


@lru_cache(maxsize=1)
def make_split(name: str, setting: str, seed: int, most_rows: int | None = None) -> Split:
    """Test a fifth of the private rows; train on the others and on the setting's public rows.

    Where a table has public rows, the setting's are drawn from these, and the rest of these is left out. Else
    they are training rows: at most 500, and at most a tenth of the table. Test rows depend on the seed alone.
    Of a table with more than `most_rows` private rows, as many are drawn.
    """
    data = load(name)
    rng = np.random.default_rng([seed, 7])
    order = rng.permutation(np.flatnonzero(~data.is_public))[:most_rows]
    n_test = len(order) // 5
    test, train = order[:n_test], order[n_test:]
    own = rng.permutation(np.flatnonzero(data.is_public))
    offered = own if len(own) else train[: min(MOST_DRAWN, len(order) // 10)]
    n_public, permuted = SETTINGS[setting]
    public = offered[:n_public]
    private = train if len(own) else np.setdiff1d(train, public)
    rows = np.concatenate([public, private])
    y, is_public = data.y[rows], np.arange(len(rows)) < len(public)
    if permuted:
        y[is_public] = rng.permutation(y[is_public])
    known: dict[str, Any] = {"bounds": data.bounds, "categories": data.categories, "classes": data.classes}
    known |= {"domain": data.domain, "target_range": data.target_range, "logged": data.logged}
    if data.table is not None:
        known |= {"table": data.table.iloc[rows], "table_test": data.table.iloc[test]}
    return Split(data.X[rows], y, is_public, data.X[test], data.y[test], seed, **known)
