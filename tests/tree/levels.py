# SPDX-License-Identifier: BSD-3-Clause
"""A table of declared columns whose levels tell the label, and trees of it."""

import numpy as np
import pandas as pd

from skprivate import DPTreeClassifier
from skprivate.domain import CategoricalColumn, NumberColumn, TableDomain

DOMAIN = TableDomain(
    {
        "job": CategoricalColumn(["clerk", "smith", "farmer"], missing="indicator"),
        "age": NumberColumn(10, 80, missing="indicator"),
        "town": list("abcde"),
        "married": bool,
        "sex": ["f", "m"],
    }
)
JOBS = ["clerk", "smith", "farmer", None]


def level_rows(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "job": np.array(JOBS, dtype=object)[rng.integers(4, size=n)],
            "age": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.uniform(10, 80, n)),
            "town": np.array(list("abcde"), dtype=object)[rng.integers(5, size=n)],
            "married": rng.uniform(size=n) < 0.5,
            "sex": np.array(["f", "m"], dtype=object)[rng.integers(2, size=n)],
        }
    )
    likely = np.where(table["job"].isin(["smith"]) | table["job"].isna(), 0.8, 0.2)
    return table, (rng.uniform(size=n) < likely).astype(int)


TABLE, ILL = level_rows(3000, 0)


def level_tree(epsilon=1.0, **options):
    return DPTreeClassifier(epsilon, domain=DOMAIN, classes=[0, 1], **options)
