# SPDX-License-Identifier: BSD-3-Clause
"""Private log-location-scale (accelerated failure time) regression, and logistic regression."""

# Some names are not for users: pickles of fitted estimators name them here, so that files can be moved.
from ..rounds._plans.grid import MomentGrid as MomentGrid
from ._accumulation.plan import AccumulatorPlan as AccumulatorPlan
from ._accumulator import MomentAccumulator
from ._censored.correction import Correction as Correction
from ._censored.curvature import CurvatureEstimate as CurvatureEstimate
from ._censored.curvature import StepRule as StepRule
from ._censored.gradient_round import GradientRound as GradientRound
from ._censored.histogram import HistogramRelease as HistogramRelease
from ._censored.release import CensoredRelease as CensoredRelease
from ._censored.residual_histogram import LawFit as LawFit
from ._censored.residual_histogram import ResidualHistogram as ResidualHistogram
from ._distributions import Logistic as Logistic
from ._distributions import Normal as Normal
from ._distributions import SmallestExtremeValue as SmallestExtremeValue
from ._logistic.estimate import LogisticRelease as LogisticRelease
from ._logistic.schedule import Schedule as Schedule
from ._logistic.standards import Standards as Standards
from ._logistic_regression import DPLogisticRegression
from ._moments.looks import Look as Look
from ._moments.looks import LookRelease as LookRelease
from ._moments.looks import ResidualRelease as ResidualRelease
from ._moments.release import MomentRelease as MomentRelease
from ._moments.solve import ScaledFit as ScaledFit
from ._predictions.goodness_of_fit import GoodnessOfFit
from ._predictions.summary import ModelSummary
from ._presets import DPLogisticLLSRegressor, DPNormalLLSRegressor, DPSEVRegressor
from ._regressor import DPLogLocationScaleRegressor

__all__ = [
    "DPLogLocationScaleRegressor",
    "DPLogisticLLSRegressor",
    "DPLogisticRegression",
    "DPNormalLLSRegressor",
    "DPSEVRegressor",
    "GoodnessOfFit",
    "ModelSummary",
    "MomentAccumulator",
]
