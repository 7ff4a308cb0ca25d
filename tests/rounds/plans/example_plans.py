# SPDX-License-Identifier: BSD-3-Clause
"""One plan of every kind, over rows of two columns; tests of what all plans keep to share them."""

from typing import Any

import numpy as np

from skprivate.partition import Partition, build_partition
from skprivate.rounds._plans.boosting import (
    AdditiveModel,
    CellGrid,
    ClassLoss,
    CodeCountsPlan,
    CodedFeature,
    FeatureCodes,
    NumberLoss,
    ResidualsPlan,
)
from skprivate.rounds._plans.cells import (
    CellsPlan,
    ErrorAxis,
    LabelAxis,
    LeafAxis,
    LevelAxis,
    OctaveAxis,
    SurvivalAxis,
)
from skprivate.rounds._plans.linear_residuals import LinearResidualsPlan
from skprivate.rounds._plans.logits import ColumnMomentsPlan, LogitsPlan, StandardRows
from skprivate.rounds._plans.masses import (
    HistogramsPlan,
    LabelMasses,
    MassesPlan,
    MassHistogramsPlan,
    NumberMasses,
)
from skprivate.rounds._plans.moments import GradientsPlan, LooksPlan, MomentGrid, MomentsPlan, ResidualGrid
from skprivate.rounds._plans.probabilities import LinearModel, ProbabilitiesPlan


def halved(n_features: int, depth: int, lower: float = 0.0, upper: float = 1.0) -> Partition:
    """Return cells of a box that is halved so often, the feature chosen at random."""
    return build_partition(
        np.empty((0, n_features)),
        np.empty(0, dtype=np.int32),
        lower=np.full(n_features, lower),
        upper=np.full(n_features, upper),
        max_depth=depth,
        n_labels=2,
        rule="random",
        seed=0,
    )


HALVES = halved(2, 4)
GRID = MomentGrid(lower=np.zeros(2), upper=np.ones(2), target=(0.0, 1.0), exponent=8)
RESIDUALS = ResidualGrid(0, (-1e300, 0.5), 10, 8, (2048.0, 1024.0, 256.0, 0.0))
THETA = np.array([0.1, 2.0, -0.5, 0.3])
STANDARD = StandardRows(np.zeros(2), np.ones(2), 1.7, 2, 14)
CODES = FeatureCodes((CodedFeature(0, np.array([0.25, 0.5])), CodedFeature(1, np.array([0.5]))))
PLANS: dict[str, Any] = {
    "leaves": CellsPlan(((LeafAxis(HALVES), LabelAxis(2)),)),
    "octaves": CellsPlan(((OctaveAxis(0),), (OctaveAxis(1),))),
    "levels": CellsPlan(((LevelAxis(0, 1, 1), LabelAxis(2)), (LevelAxis(0, 2, None),))),
    "survival": CellsPlan(((SurvivalAxis(0.5, 0.5, 4),),)),
    "errors": CellsPlan(((ErrorAxis(GRID, THETA, np.array([-1.0, 0.5])),),)),
    "histograms": HistogramsPlan(HALVES, (8, 2), 2),
    "label masses": MassesPlan.of_leaves(HALVES, LabelMasses(2)),
    "number masses": MassesPlan.of_leaves(HALVES, NumberMasses(0.5, 0.5)),
    "number histograms": MassHistogramsPlan.of(HALVES, (8, 2), NumberMasses(0.5, 0.5).for_splits()),
    "moments": MomentsPlan(GRID),
    "moments of a line": MomentsPlan(GRID, line=np.array([0.1, 0.5, -0.25])),
    "gradient": GradientsPlan(GRID, RESIDUALS, THETA, None),
    "curvature": GradientsPlan(GRID, RESIDUALS, THETA, 6),
    "column moments": ColumnMomentsPlan(GRID),
    "logits": LogitsPlan(GRID, STANDARD, np.array([[0.2, 1.0, -1.0]]), 16, (8, 10)),
    "three logits": LogitsPlan(GRID, STANDARD, np.eye(3), 16, None),
    "codes": CodeCountsPlan(CODES, (CellGrid.of_feature(0, 3),)),
    "residuals": ResidualsPlan(
        AdditiveModel.constant(CODES, np.zeros(1)), ClassLoss(2), CellGrid.of_feature(0, 3), 20
    ),
    "linear residuals": LinearResidualsPlan(
        AdditiveModel.constant(CODES, np.zeros(3)),
        ClassLoss(3),
        20,
        (np.array([-30, 5, 40]), np.array([-9, 1, 4, 0])),
        40,
        20,
    ),
    "probabilities": ProbabilitiesPlan(
        LinearModel(np.zeros(2), np.ones(2), np.array([-1.0]), np.array([3.0, 1.0])), 0, 0.5, 12
    ),
    "three probabilities": ProbabilitiesPlan(AdditiveModel.constant(CODES, np.arange(3.0)), 2, 1.0, 20),
    "number residuals": ResidualsPlan(
        AdditiveModel.constant(CODES, np.zeros(1)), NumberLoss(0.5, 0.5, 0.75), CellGrid.of_feature(0, 3), 20
    ),
}
#: What a row brings besides its features.
NUMBERS = {"number masses", "number histograms", "moments", "moments of a line", "number residuals"}
LIVES = {"survival", "errors", "gradient", "curvature"}
#: Of lives, too; no task carries it alone.
LOOKS = LooksPlan(GRID, np.zeros(3), 1.0, 10)
