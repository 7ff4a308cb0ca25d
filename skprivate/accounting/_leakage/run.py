# SPDX-License-Identifier: BSD-3-Clause
"""Bound on what a run of some epsilon leaks about one unit, under one prior or all with a floor."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import Relation, Unit
from .channels import check_prior, describe_prior
from .pml import check_share, max_information, pml_from_ldp

_ASSUMED = {
    "local": "",
    "replace-one": " (and for whom the units are independent)",
    "add-remove": " (and for whom the units are independent)",
    "label": " over labels (and for whom the units' labels are independent given the features)",
}
# What the replacement of one unit's value costs, in epsilons.
_STEPS = {"local": 1, "replace-one": 1, "add-remove": 2, "label": 1}
# A player's broadcasts depend on those of others.
_PLAYERS = " (and for whom the players are independent)"


class Run(Protocol):
    """What bounds the leakage of a run, as `PrivacySpent` states it."""

    @property
    def private(self) -> bool:
        """Whether the claim is differential privacy."""

    @property
    def epsilon(self) -> Fraction | float:
        """Bound on the privacy loss."""

    @property
    def delta(self) -> Fraction:
        """Probability with which that bound may fail."""

    @property
    def relation(self) -> Relation:
        """Which data sets count as neighbours."""

    @property
    def unit(self) -> Unit:
        """What neighbours differ in."""


@dataclass(frozen=True, kw_only=True)
class LeakageBound:
    """An upper bound on pointwise maximal leakage in nats, what leaks, under which prior, and the method."""

    epsilon: float
    subject: str
    prior: str
    method: str


def leakage_of_run(run: Run, prior: ArrayLike | Fraction) -> LeakageBound:
    """Return the bound for every mechanism of this epsilon, and a prior or all priors with this floor."""
    if isinstance(prior, Fraction) or np.ndim(prior) == 0:
        p_min = check_share(prior, "prior")
        known = f"any that gives every possible value a probability of at least {float(p_min)!r}"
        largest = pml_from_ldp(math.inf, p_min)
    else:
        probabilities = check_prior(prior)
        p_min = check_share(probabilities[probabilities > 0].min(), "prior")
        known, largest = describe_prior(probabilities), max_information(probabilities)
    bound, method = _bound(run, p_min, largest)
    assumed = _PLAYERS if run.unit == "player" else _ASSUMED[run.relation]
    return LeakageBound(epsilon=bound, subject=_subject(run), prior=known + assumed, method=method)


def _subject(run: Run) -> str:
    if run.unit == "player":
        return "this run"
    return "your report" if run.relation == "local" else "this release"


def _bound(run: Run, p_min: Fraction, largest: float) -> tuple[float, str]:
    if not run.private:
        return largest, "log 1 / p_min, all that the prior leaves to tell: the run is not private"
    if run.delta:
        return largest, "log 1 / p_min, all that the prior leaves to tell: delta is above 0"
    steps = _STEPS[run.relation]
    epsilon = "epsilon" if steps == 1 else f"{steps} epsilon"
    bound = pml_from_ldp(steps * run.epsilon, p_min)
    return min(bound, largest), f"every mechanism of this epsilon: c({epsilon}, p_min)"
