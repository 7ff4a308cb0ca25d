# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on what is released, as simulations that report how well they did."""

from typing import TYPE_CHECKING

from ..utils import lazy_exports

if TYPE_CHECKING:
    from ._attribute import AttributeAttack as AttributeAttack
    from ._bayes import BayesAdversary as BayesAdversary
    from ._extraction import ModelExtractionAttack as ModelExtractionAttack
    from ._gradient_matching import GradientMatchingAdversary as GradientMatchingAdversary

_HOMES = {
    "AttributeAttack": "._attribute",
    "BayesAdversary": "._bayes",
    "GradientMatchingAdversary": "._gradient_matching",
    "ModelExtractionAttack": "._extraction",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)

__all__ = [
    "AttributeAttack",
    "BayesAdversary",
    "GradientMatchingAdversary",
    "ModelExtractionAttack",
]
