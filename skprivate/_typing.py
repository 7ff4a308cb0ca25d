# SPDX-License-Identifier: BSD-3-Clause
"""Types that several sub-packages share: arrays by kind of entry, and the choices that a statement has."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

#: Which data sets count as neighbours.
Relation = Literal["replace-one", "add-remove", "local", "label"]
#: What neighbouring data sets differ in.
Unit = Literal["row", "group", "player"]
#: Where the randomness of the noise came from.
NoiseSource = Literal["os-entropy", "seeded"]
#: Who saw the rows.
Deployment = Literal["curator", "simulated", "collected"]
#: What is claimed for a run.
Claim = Literal["dp", "not-private"]
#: How far a guarantee is proven.
Status = Literal["exact", "upper_bound", "estimate"]
#: What a guarantee bounds.
Criterion = Literal["pml", "corollary1", "dp"]
