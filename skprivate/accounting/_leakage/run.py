# SPDX-License-Identifier: BSD-3-Clause
"""What a run of some epsilon leaks about one unit to an adversary with a given prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from .._statements.guarantee import PrivacyGuarantee
from .channels import FloatArray, check_prior, describe_prior
from .pml import max_information, pml_from_ldp

if TYPE_CHECKING:
    from .._statements.spent import PrivacySpent

_ASSUMED = {
    "local": "",
    "replace-one": " (and for whom the units are independent)",
    "add-remove": " (and for whom the units are independent)",
    "label": " over labels (and for whom the units' labels are independent given the features)",
}
# What the replacement of one unit's value costs, in epsilons.
_STEPS = {"local": 1, "replace-one": 1, "add-remove": 2, "label": 1}


# A player's broadcasts answer those of others.
_PLAYERS = " (and for whom the players are independent)"


def leakage_of_run(spent: PrivacySpent, prior: ArrayLike | PrivacyGuarantee) -> PrivacyGuarantee:
    """Return the guarantee of `PrivacySpent.given_prior`."""
    if isinstance(prior, PrivacyGuarantee):
        return _taken(spent, prior)
    probabilities = check_prior(prior)
    bound, method = _bound(spent, probabilities)
    return PrivacyGuarantee(
        epsilon=bound,
        status="upper_bound",
        criterion="pml",
        subject=_subject(spent),
        prior=describe_prior(probabilities)
        + (_PLAYERS if spent.unit == "player" else _ASSUMED[spent.relation]),
        method=method,
    )


def _subject(spent: PrivacySpent) -> str:
    if spent.unit == "player":
        return "this run"
    return "your report" if spent.relation == "local" else "this release"


def _taken(spent: PrivacySpent, guarantee: PrivacyGuarantee) -> PrivacyGuarantee:
    if guarantee.criterion == "dp":
        raise ValueError("prior: a guarantee of differential privacy says nothing about this prior.")
    if not spent.private:
        raise ValueError("this run is not private: what its mechanism leaks does not hold for it.")
    return guarantee


def _bound(spent: PrivacySpent, probabilities: FloatArray) -> tuple[float, str]:
    largest = max_information(probabilities)
    if not spent.private:
        return largest, "log 1 / p_min, all that the prior leaves to tell: the run is not private"
    if spent.delta:
        return largest, "log 1 / p_min, all that the prior leaves to tell: delta is above 0"
    steps = _STEPS[spent.relation]
    epsilon = "epsilon" if steps == 1 else f"{steps} epsilon"
    bound = pml_from_ldp(steps * spent.epsilon, probabilities[probabilities > 0].min())
    return min(bound, largest), f"every mechanism of this epsilon: c({epsilon}, p_min)"
