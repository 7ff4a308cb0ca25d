# SPDX-License-Identifier: BSD-3-Clause
"""Sides of missing cells in partitions that cuts grow."""

import numpy as np

from skprivate.domain import NumberColumn, TableDomain
from skprivate.partition import build_partition


def test_missing_cells_that_no_row_of_a_node_shows_go_the_heavier_way():
    # Missing cells are all on the left of the first split, where `flag` is 0; right of it nobody lacks `x`.
    domain = TableDomain({"flag": (0, 1), "x": NumberColumn(0, 1, missing="indicator")})
    rng = np.random.default_rng(3)
    flag, x = np.repeat([0.0, 1.0], 200), rng.uniform(size=400)
    for share in (0.25, 0.75):
        labels = np.where(flag == 0, 0, 2 * (x > share) + 1).astype(np.int32)
        labels[:20] = 1 - labels[:20] % 2
        cells = [None if row < 20 else float(x[row]) for row in range(400)]
        rows = domain.encode({"flag": flag, "x": cells})
        partition = build_partition(
            rows, labels, lower=[0, 0, 0], upper=[1, 1, 1], max_depth=2, n_labels=4, rule="cart",
            groups=domain.groups,
        )  # fmt: skip
        missing, low, high = partition.apply(domain.encode({"flag": [1, 1, 1], "x": [None, 0.01, 0.99]}))
        assert low != high
        assert missing == (high if share < 0.5 else low)
