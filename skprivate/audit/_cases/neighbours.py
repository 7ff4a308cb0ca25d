# SPDX-License-Identifier: BSD-3-Clause
"""Data sets that differ in one unit, as far apart as the declared domain allows, and further."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .domain import FAR, columns_of, extreme_targets, row_at, row_of
from .units import Arguments, private_rows, with_unit


def extreme_variants(estimator: Any, rows: Arguments, *, only_label: bool = False) -> Iterator[Arguments]:
    """Yield the data set with the most extreme units."""
    width = np.shape(rows["X"])[1]
    corners = [row_at(estimator, width, share) for share in (0.0, 1.0, np.arange(width) % 2)]
    corners += [row_of(estimator, width, -FAR), row_of(estimator, width, FAR), row_at(estimator, width, 0.5)]
    if columns_of(estimator) is not None:
        corners.append(row_at(estimator, width, np.nan))
    targets = list(extreme_targets(estimator, rows)) if rows.get("y") is not None else []
    if only_label:
        yield from (with_unit(rows, y=target) for target in targets)
        return
    for k, corner in enumerate(corners):
        if not targets:
            yield with_unit(rows, X=corner)
        # Every target meets the first two corners; the others take turns.
        for target in targets if k < 2 else targets[k % len(targets) :: len(targets)] if targets else []:
            yield with_unit(rows, X=corner, y=target)


def make_unrelated_data_sets(
    estimator: Any, rows: Arguments, *, only_label: bool = False
) -> Iterator[Arguments]:
    """Yield the data set with all private rows at one end of the domain, and at the other."""
    private = private_rows(rows)
    targets = list(extreme_targets(estimator, rows)) if rows.get("y") is not None else [None]
    corners = [row_at(estimator, np.shape(rows["X"])[1], share) for share in (0.0, 1.0)]
    for corner, target in zip(corners, targets[:2], strict=False):
        changed = dict(rows)
        if not only_label:
            changed["X"] = np.where(private[:, None], corner, np.asarray(rows["X"]))
        if target is not None:
            changed["y"] = np.array(rows["y"])
            changed["y"][private] = target
        yield changed
