# SPDX-License-Identifier: BSD-3-Clause
"""Aggregative games: private Nash equilibrium seeking, and what its broadcasts leak."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._game import AggregativeGame as AggregativeGame
    from ._priors import ContinuousPrior as ContinuousPrior
    from ._priors import JointPrior as JointPrior
    from ._priors import SampledPrior as SampledPrior
    from ._priors import TwoTypePrior as TwoTypePrior
    from ._priors import TypePrior as TypePrior
    from ._quadratic import QuadraticAggregativeGame as QuadraticAggregativeGame
    from ._sets import Box as Box
    from ._sets import ConstraintSet as ConstraintSet
    from ._sets import Simplex as Simplex
    from ._solver import PrivateNashSolver as PrivateNashSolver
    from ._vaccination import VaccinationGame as VaccinationGame

_HOMES = {
    "AggregativeGame": "._game",
    "Box": "._sets",
    "ConstraintSet": "._sets",
    "ContinuousPrior": "._priors",
    "JointPrior": "._priors",
    "PrivateNashSolver": "._solver",
    "QuadraticAggregativeGame": "._quadratic",
    "SampledPrior": "._priors",
    "Simplex": "._sets",
    "TwoTypePrior": "._priors",
    "TypePrior": "._priors",
    "VaccinationGame": "._vaccination",
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
