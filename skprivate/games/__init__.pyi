# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.games` and their modules; those outside ``__all__`` are for pickles."""

from ._communication_weights import ChangingMixing as ChangingMixing
from ._communication_weights import CompleteMixing as CompleteMixing
from ._communication_weights import MatrixMixing as MatrixMixing
from ._game_plan import GamePlan as GamePlan
from ._game_plan import plan_game as plan_game
from ._games.affine_games import QuadraticAggregativeGame as QuadraticAggregativeGame
from ._games.affine_games import VaccinationGame as VaccinationGame
from ._games.equilibrium import LinearMap as LinearMap
from ._games.game import AggregativeGame as AggregativeGame
from ._games.sets import Box as Box
from ._games.sets import ConstraintSet as ConstraintSet
from ._games.sets import Simplex as Simplex
from ._games.sets import Unconstrained as Unconstrained
from ._leakage.priors import ContinuousPrior as ContinuousPrior
from ._leakage.priors import JointPrior as JointPrior
from ._leakage.priors import SampledPrior as SampledPrior
from ._leakage.priors import TwoTypePrior as TwoTypePrior
from ._leakage.priors import TypePrior as TypePrior
from ._mediated import MediatedNashSolver as MediatedNashSolver
from ._plan import BroadcastMechanism as BroadcastMechanism
from ._solver import PrivateNashSolver as PrivateNashSolver

__all__ = [
    "AggregativeGame",
    "Box",
    "ConstraintSet",
    "ContinuousPrior",
    "GamePlan",
    "JointPrior",
    "MediatedNashSolver",
    "PrivateNashSolver",
    "QuadraticAggregativeGame",
    "SampledPrior",
    "Simplex",
    "TwoTypePrior",
    "TypePrior",
    "VaccinationGame",
    "plan_game",
]
