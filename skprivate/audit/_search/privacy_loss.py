# SPDX-License-Identifier: BSD-3-Clause
"""Exact privacy losses of recorded fits: of a pair of neighbours, and of every stated release by itself."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from scipy.optimize import brentq
from scipy.special import log_ndtr

from ...accounting import ReleaseRecord
from ...accounting._statements.spent import DO_NOT_ADD_UP
from .._observation.fitted_objects import fitted_steps
from .._observation.recorder import Recording, Release

# The exact privacy loss of two neighbours, as epsilon or as rho, whichever is claimed.

# Of the discrete Gaussian's epsilon from that of the continuous one, which is compared.
_DISCRETE_GAUSSIAN_ERROR = 1e-6


def claims_rho(spent: Any) -> bool:
    """Whether a statement claims zero-concentrated differential privacy; others' may not know of it."""
    return getattr(spent, "rho", None) is not None


def claimed_loss(spent: Any) -> Any:
    """Return what is claimed: rho, or epsilon."""
    return Fraction(spent.rho if claims_rho(spent) else spent.epsilon)


def loss_as_claimed(loss: tuple[Fraction, Fraction], claim: Any) -> Any:
    """Return the loss of a pair in the terms of a claim: epsilon, rho, or epsilon at its delta."""
    delta = float(getattr(claim, "delta", 0.0) or 0.0)
    if claims_rho(claim) or not delta:
        return as_epsilon_or_rho(loss, claims_rho(claim))
    epsilon, rho = loss
    return epsilon + Fraction(epsilon_of_gaussians(math.sqrt(2 * float(rho)), delta)) if rho else epsilon


def as_epsilon_or_rho(loss: tuple[Fraction, Fraction], by_rho: bool) -> Fraction | Any:
    """Return epsilon, or rho, of a pair; epsilon-DP is epsilon^2 / 2-zCDP, and rho has no epsilon."""
    epsilon, rho = loss
    if by_rho:
        return rho + epsilon**2 / 2
    return epsilon if not rho else float("inf")


def epsilon_of_gaussians(mu: float, delta: float) -> float:
    """Return the epsilon of two unit Gaussians at distance `mu`, at a `delta` (Balle and Wang, 2018)."""

    def excess(epsilon: float) -> float:
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return float(math.exp(log_ndtr(near)) - math.exp(epsilon + log_ndtr(far)) - delta)

    if mu == 0 or excess(0.0) <= 0:
        return 0.0
    # At this epsilon the first term alone is below delta.
    most = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))
    return float(brentq(excess, 0.0, most)) * (1 - _DISCRETE_GAUSSIAN_ERROR)


# The loss of every stated release by itself, between neighbours that were handed the same outputs.

# Half the noise doubles a loss in epsilon, and takes four times as much of rho.
_SHARE_THAT_SHOWS_HALF_THE_NOISE = {"epsilon": Fraction(1, 2), "rho": Fraction(1, 4)}


def stated_releases(model: Any) -> tuple[ReleaseRecord, ...]:
    """Return the releases that the steps of a fitted object state, in their order; none of whose are not."""
    spent = [getattr(step, "privacy_spent_", None) for _, step in fitted_steps(model, "")]
    lists = [getattr(one, "releases", ()) for one in spent if one is not None]
    return tuple(one for releases in lists for one in releases) if all(lists) else ()


@dataclass(eq=False)
class ReleaseLosses:
    """The largest losses of stated releases that were seen.

    Attributes
    ----------
    largest : dict of str to Fraction
        Name of a release -> largest loss as a part of its share. A name that comes again has a number.
    found_in : dict of str to str
        Name -> the neighbours.
    enough : dict of str to bool
        Name -> whether half the noise would have passed the share.
    unlisted : str
        The neighbours with draws of noise that no release lists, "" if there are none.
    wrong_total : bool
        Whether a fit stated releases that do not add up to its total.
    """

    largest: dict[str, Any] = field(default_factory=dict)
    found_in: dict[str, str] = field(default_factory=dict)
    enough: dict[str, bool] = field(default_factory=dict)
    unlisted: str = ""
    wrong_total: bool = False

    def compare(
        self, releases: Sequence[ReleaseRecord], one: Recording, other: Recording, found_in: str
    ) -> None:
        """Take a pair of fits that state these releases."""
        if not releases:
            return
        losses = [a.loss(b) for a, b in zip(one.calls, other.calls, strict=True)]
        n_listed = 0
        for name, record, calls in _blocks(releases, len(losses)):
            n_listed = calls.stop
            epsilon, rho = (sum((pair[k] for pair in losses[calls]), Fraction(0)) for k in (0, 1))
            if record.rho is not None:
                loss: Any = (rho + epsilon**2 / 2) / record.rho
            else:
                loss = float("inf") if rho else epsilon / record.share
            if loss > self.largest.get(name, -1):
                self.largest[name], self.found_in[name] = loss, found_in
            unit = "epsilon" if record.rho is None else "rho"
            self.enough[name] = self.largest[name] > _SHARE_THAT_SHOWS_HALF_THE_NOISE[unit]
        if len(losses) > n_listed:
            self.unlisted = self.unlisted or found_in

    def note_error(self, error: Exception) -> None:
        """Take what a fit ended with."""
        self.wrong_total |= DO_NOT_ADD_UP in str(error)

    @property
    def contradictions(self) -> list[str]:
        """What contradicts the statements, in words."""
        found = ["the shares of the stated releases do not add up to the total"] if self.wrong_total else []
        if self.unlisted:
            found.append(f"noise is drawn that no stated release lists ({self.unlisted})")
        return found + [
            f"{name!r} loses {float(loss):.4g} times its share ({self.found_in[name]})"
            for name, loss in self.largest.items()
            if loss > 1
        ]

    @property
    def weak(self) -> list[str]:
        """Releases of which half the noise would not show, in words."""
        return [
            f"{name!r} ({float(self.largest[name]):.2g} of its share)"
            for name, enough in self.enough.items()
            if not enough
        ]


def _blocks(releases: Sequence[ReleaseRecord], n_calls: int) -> Iterator[tuple[str, ReleaseRecord, slice]]:
    """Yield every single release: its name, its record and the places of its calls.

    Of what is listed beyond the calls that there are, one each is enough.
    """
    names: Counter[str] = Counter()
    place = 0
    for record in releases:
        names[record.name] += 1
        name = record.name if names[record.name] == 1 else f"{record.name} ({names[record.name]})"
        if not record.draws:
            continue
        for _ in range(int(record.times)):
            yield name, record, slice(place, place + record.draws)
            place += record.draws
            if place > n_calls:
                break


def largest_call(one: Recording, other: Recording) -> Fraction:
    """Return the largest loss of a single call of a Laplace mechanism."""
    pairs: list[tuple[Release, Release]] = list(zip(one.calls, other.calls, strict=True))
    return max((a.loss(b)[0] for a, b in pairs), default=Fraction(0))
