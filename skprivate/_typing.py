# SPDX-License-Identifier: BSD-3-Clause
"""Types of several files: arrays by kind of entry, and names for parameters and statements."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

#: Values of ``random_state``. It is a string, since evaluation would load numpy.random in every client.
RandomSource: TypeAlias = "int | np.integer[Any] | np.random.RandomState | np.random.Generator | None"

#: Noise of a local randomizer, or the choice of it.
ReportMechanism = Literal["auto", "hadamard", "krr", "subset", "unary", "signed-laplace", "laplace"]
#: Those whose reports show the number of rows in a leaf, as means of numbers require.
NumberMechanism = Literal["auto", "hadamard", "krr", "subset", "unary"]
#: Rule for the splits of a tree, and impurity of the public labels.
SplitRule = Literal["max-edge", "cart", "random"]
SplitCriterion = Literal["gini", "entropy"]
#: Part of a row that a client protects.
Protection = Literal["record", "label"]
#: Kind of observation of a lifetime.
Observation = Literal["exact", "right", "left", "interval", "entry"]
#: Distribution of the target of a log-location-scale model.
Distribution = Literal["weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"]
#: Noise of a curator who holds the rows; "auto": Gaussian if delta is above 0.
CentralMechanism = Literal["auto", "laplace", "gaussian"]
#: Estimators of scale and intercept from moments.
MomentMethod = Literal["moments", "taylor"]
#: Treatments of directions of the features with moments below the level of the noise.
Regularization = Literal["floor", "trim", "zhang", "none"]
#: Kernel of a local average.
AveragingKernel = Literal["gaussian", "laplace", "epanechnikov", "partition", "knn"]
#: Choice of the next free rank to swap.
SwapOrder = Literal["fewest", "random", "top"]
#: Choice of the parties whose response counts.
ActiveRule = Literal["box", "receiver", "support"]
#: Treatment of a site that fails by a platform.
OnSiteError = Literal["raise", "drop"]

#: Treatment of a missing cell of a declared column.
MissingRule = Literal["error", "fill", "indicator"]

#: Data sets of a curator that count as neighbours.
CentralRelation = Literal["replace-one", "add-remove"]
#: Data sets that count as neighbours.
Relation = Literal["replace-one", "add-remove", "local", "label", "joint"]
#: Unit in which neighbouring data sets differ.
Unit = Literal["row", "group", "player"]
#: Source of the randomness of the noise.
NoiseSource = Literal["os-entropy", "seeded"]
#: Deployment, which determines who saw the rows.
Deployment = Literal["curator", "simulated", "collected"]
#: Claim for a run.
Claim = Literal["dp", "not-private"]
#: Status of the proof of a guarantee.
Status = Literal["exact", "upper_bound", "estimate"]
#: Quantity that a guarantee bounds.
Criterion = Literal["pml", "corollary1", "dp"]
