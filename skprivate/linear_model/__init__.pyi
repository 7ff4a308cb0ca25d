# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.linear_model` and their modules; those outside ``__all__`` are for pickles."""

from ..rounds._plans.moments import MomentGrid as MomentGrid
from ..rounds._rates import ClassRates as ClassRates
from ._accumulator import MomentAccumulator as MomentAccumulator
from ._accumulator_plan import AccumulatorPlan as AccumulatorPlan
from ._censored.gradient_round import GradientRound as GradientRound
from ._censored.histograms import Correction as Correction
from ._censored.histograms import HistogramRelease as HistogramRelease
from ._censored.histograms import LawFit as LawFit
from ._censored.histograms import ResidualHistogram as ResidualHistogram
from ._censored.newton import CurvatureEstimate as CurvatureEstimate
from ._censored.newton import StepRule as StepRule
from ._censored.population import PopulationRelease as PopulationRelease
from ._censored.release import CensoredRelease as CensoredRelease
from ._distributions import Logistic as Logistic
from ._distributions import Normal as Normal
from ._distributions import SmallestExtremeValue as SmallestExtremeValue
from ._goodness_of_fit import GoodnessOfFit as GoodnessOfFit
from ._logistic.rounds import LogisticRelease as LogisticRelease
from ._logistic.schedule import Schedule as Schedule
from ._logistic.schedule import Standards as Standards
from ._logistic_regression import DPLogisticRegression as DPLogisticRegression
from ._moments.released_moments import MomentRelease as MomentRelease
from ._moments.released_moments import ScaledFit as ScaledFit
from ._moments.rounds import Look as Look
from ._moments.rounds import LookRelease as LookRelease
from ._moments.rounds import PredictionCheck as PredictionCheck
from ._moments.rounds import ResidualRelease as ResidualRelease
from ._regressors import DPLogisticLLSRegressor as DPLogisticLLSRegressor
from ._regressors import DPLogLocationScaleRegressor as DPLogLocationScaleRegressor
from ._regressors import DPNormalLLSRegressor as DPNormalLLSRegressor
from ._regressors import DPSEVRegressor as DPSEVRegressor
from ._scale_by_level import LevelModel as LevelModel
from ._scale_by_level import LevelPlan as LevelPlan
from ._scale_by_level import LevelRelease as LevelRelease
from ._scale_by_level import SpreadByLevel as SpreadByLevel
from ._summary import ModelSummary as ModelSummary

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
