# SPDX-License-Identifier: BSD-3-Clause
"""Aggregative games: private Nash equilibrium seeking, and the leakage of its broadcasts."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._games.affine_games import QuadraticAggregativeGame as QuadraticAggregativeGame
    from ._games.affine_games import VaccinationGame as VaccinationGame
    from ._games.game import AggregativeGame as AggregativeGame
    from ._games.sets import Box as Box
    from ._games.sets import ConstraintSet as ConstraintSet
    from ._games.sets import Simplex as Simplex
    from ._leakage.priors import ContinuousPrior as ContinuousPrior
    from ._leakage.priors import JointPrior as JointPrior
    from ._leakage.priors import SampledPrior as SampledPrior
    from ._leakage.priors import TwoTypePrior as TwoTypePrior
    from ._leakage.priors import TypePrior as TypePrior
    from ._solver import PrivateNashSolver as PrivateNashSolver

_HOMES = {
    "AggregativeGame": "._games.game",
    "Box": "._games.sets",
    "ConstraintSet": "._games.sets",
    "ContinuousPrior": "._leakage.priors",
    "JointPrior": "._leakage.priors",
    "PrivateNashSolver": "._solver",
    "QuadraticAggregativeGame": "._games.affine_games",
    "SampledPrior": "._leakage.priors",
    "Simplex": "._games.sets",
    "TwoTypePrior": "._leakage.priors",
    "TypePrior": "._leakage.priors",
    "VaccinationGame": "._games.affine_games",
    # Not for users: pickles of fitted estimators name them here, so that files can be moved.
    "BroadcastMechanism": "._plan",
    "LinearMap": "._games.equilibrium",
    "ChangingMixing": "._communication_weights",
    "CompleteMixing": "._communication_weights",
    "MatrixMixing": "._communication_weights",
    "Unconstrained": "._games.sets",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "AggregativeGame",
    "Box",
    "ConstraintSet",
    "ContinuousPrior",
    "JointPrior",
    "PrivateNashSolver",
    "QuadraticAggregativeGame",
    "SampledPrior",
    "Simplex",
    "TwoTypePrior",
    "TypePrior",
    "VaccinationGame",
]
