# SPDX-License-Identifier: BSD-3-Clause
"""Types that several files share: arrays by kind of entry, and names that parameters and statements take."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

#: What a parameter ``random_state`` takes. A string: evaluated, it would load numpy.random into every client.
RandomSource: TypeAlias = "int | np.integer[Any] | np.random.RandomState | np.random.Generator | None"

#: Noise of a local randomizer, or the choice of it.
ReportMechanism = Literal["auto", "hadamard", "krr", "subset", "unary", "signed-laplace", "laplace"]
#: Of these, those whose reports show how full a leaf is, which means of numbers need.
NumberMechanism = Literal["auto", "hadamard", "krr", "subset", "unary"]
#: How the cells of a tree are split, and by which impurity of the public labels.
SplitRule = Literal["max-edge", "cart", "random"]
SplitCriterion = Literal["gini", "entropy"]
#: What of a row a client protects.
Protection = Literal["record", "label"]
#: Kind of observation of a lifetime.
Observation = Literal["exact", "right", "left", "interval", "entry"]
#: Distribution of the target of a log-location-scale model.
Distribution = Literal["weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"]
#: Noise of a curator who holds the rows; "auto": Gaussian where delta is above 0.
CentralMechanism = Literal["auto", "laplace", "gaussian"]
#: How scale and intercept are estimated from moments.
MomentMethod = Literal["moments", "taylor"]
#: Treatments of directions of the features whose moments are below the level of the noise.
Regularization = Literal["floor", "trim", "zhang", "none"]
#: Kernel of a local average.
AveragingKernel = Literal["gaussian", "laplace", "epanechnikov", "partition", "knn"]
#: Which free rank is swapped next.
SwapOrder = Literal["fewest", "random", "top"]
#: Whose response counts.
ActiveRule = Literal["box", "receiver", "support"]
#: What a platform does about a site that fails.
OnSiteError = Literal["raise", "drop"]

#: What a missing cell of a declared column becomes.
MissingRule = Literal["error", "fill", "indicator"]

#: Which data sets of a curator count as neighbours.
CentralRelation = Literal["replace-one", "add-remove"]
#: Which data sets count as neighbours.
Relation = Literal["replace-one", "add-remove", "local", "label", "joint"]
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
