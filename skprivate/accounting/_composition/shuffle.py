# SPDX-License-Identifier: BSD-3-Clause
"""Privacy amplification by shuffling: the (epsilon, delta) of local reports that are shuffled."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from ...noise._fit_budget import warn_of_large_delta
from ...utils import check_epsilon, check_int, check_probability
from ...utils._public_module import public_module
from .._amounts import show
from .blanket import Blanket

CONDITION = "if shuffled by a party that does not collude"

# More reports only help; beyond this number the arithmetic gains nothing more.
_LARGEST_N = 10**9
# No number of reports that fits into _LARGEST_N amplifies it.
_LARGEST_EPSILON = 60
_ROUNDING = Fraction(1, 2**40)  # many times the relative error of an exponential in floats
_UNSHUFFLED = "none: the report's own epsilon"


@runtime_checkable
class ShuffledMechanism(Protocol):
    """What `shuffle_amplification` asks of a local randomizer."""

    epsilon: Fraction
    relation: str

    def blanket(self) -> Blanket | None:
        """Return what all clients' reports have in common, None where that is not worked out."""


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class ShuffledPrivacy:
    """What shuffled reports claim, and under which condition.

    Attributes
    ----------
    epsilon : float
        Of the set of all reports, at most that of one report.
    delta : Fraction
        As requested.
    epsilon0 : Fraction
        Of one report by itself; it holds whoever shuffles.
    n : int
        Number of reports.
    method : str
        How epsilon was derived: the bound of the least epsilon.
    condition : str
        'if shuffled by a party that does not collude'.
    bounds : mapping of str to float
        Every bound that was tried; infinite where its theorem does not apply.

    See Also
    --------
    shuffle_amplification : Where it comes from.

    Notes
    -----
    **Privacy**: a function of public numbers. Nothing in it can tell whether reports were shuffled.

    Examples
    --------
    >>> from skprivate.accounting import shuffle_amplification
    >>> print(shuffle_amplification(2.0, 10**4, 1e-6))
    Shuffled reports: epsilon = 0.115, delta = 1e-06, if shuffled by a party that does not collude
      one report by itself: epsilon = 2, whoever shuffles
      reports: 10000, one of each client, of which no other is known to the adversary
      method: blanket of any randomizer
    """

    epsilon: float
    delta: Fraction
    epsilon0: Fraction
    n: int
    method: str
    condition: str
    bounds: Mapping[str, float]

    def __str__(self) -> str:
        lines = [
            f"Shuffled reports: epsilon = {_up(self.epsilon)}, delta = {show(self.delta)}, {self.condition}",
            f"one report by itself: epsilon = {show(self.epsilon0)}, whoever shuffles",
            f"reports: {self.n}, one of each client, of which no other is known to the adversary",
            f"method: {self.method}",
        ]
        return "\n  ".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        fields = {**vars(self), "bounds": dict(self.bounds)}
        return _restore, (fields,)


def shuffle_amplification(
    epsilon0: float | Fraction,
    n: int,
    delta: float | Fraction,
    mechanism: ShuffledMechanism | None = None,
) -> ShuffledPrivacy:
    """Return the (epsilon, delta) of n local reports, if shuffled by a party that does not collude.

    Parameters
    ----------
    epsilon0 : float or Fraction
        Privacy loss of one report, finite and above 0.
    n : int
        Number of clients that the adversary knows nothing about, with the one that is attacked, each with one
        report of the same randomizer. Leave out those who may collude with the adversary.
    delta : float or Fraction
        In (0, 1).
    mechanism : LocalRandomizer, default=None
        The randomizer, of this epsilon. None: a bound for every randomizer of pure epsilon.

    Returns
    -------
    shuffled : ShuffledPrivacy
        Its epsilon is the least that is proven, never above ``epsilon0``.

    Raises
    ------
    TypeError, ValueError
        A number is out of its range; the mechanism is no local randomizer, is of another epsilon, or protects
        the label only.

    Warns
    -----
    UserWarning
        Delta is not below 1 / n: a weak guarantee.

    See Also
    --------
    Blanket : What a mechanism has to state for a bound of its own.

    Notes
    -----
    **Privacy.** Relation: replace-one, of one client's data, which the adversary knows but for that, as all
    other clients' data; n is public. The claim holds if somebody takes the reports off their senders, mixes
    them, and does not collude with whoever reads them. A curator who collects reports from the clients
    directly has no such claim: there, ``epsilon0`` counts.

    Proof: :doc:`/proofs/shuffling`.

    *Bounds.* "closed form" is Theorem 3.1 of [1]. "clones" and the blankets are computed from one lemma [2]
    with three choices of q. Let a and b be the distributions of the attacked client's report under two
    values, and q <= R(x) for every x, with mass m. So another client's report is a draw from q / m with
    probability m, or from a rest that depends on its data. Give the adversary the rests: without them it
    knows less. Left are M shuffled reports, one from a (or b) and M - 1 from q / m, M - 1 binomial(n - 1, m).
    Against M draws of q / m their density is m times the mean of a(Y_i) / q(Y_i), so that for given M the
    hockey-stick divergence is m / M times the expected positive part of the sum of
    Z_i = (a - e^epsilon b)(Y_i) / q(Y_i).
    As P(M) / M is P(binomial(n, m) = M) / (n m),

        delta(epsilon) <= E[max(0, Z_1 + ... + Z_n)] / n,

    with independent Z_i that are 0 with probability 1 - m. It grows when the distribution of Z is replaced by
    one under which every convex function has a larger mean.

    *Every randomizer*, p = e^epsilon0: q = max(a, b) / p. Z lies between 1 - p e^epsilon and p - e^epsilon,
    and so does the 0 of those without a blanket. Writing (a, b) as u (p, 1) + v (1, p), u + v = (a + b) /
    (p + 1) >= max(a, b) / p, moves all mass to the two ends and keeps the mean: mass 1 / (p + 1) each. The
    weaker "clones" takes q = (a + b) / (2 p) and writes (a, b) as before: mass 1 / (2 p) each [1].

    *Mechanisms* state masses and ratios of their own q = inf R(x) (see ``blanket`` of each). In
    block-Hadamard response, two values have two of the 2 B answers of a row for their own, and q gives every
    answer the probability of a false one.

    *Rounding.* The expectation is computed on a lattice that keeps means, which only increases it, with a
    tilt and a Fourier transform; float errors are bounded and added (`Blanket`). epsilon is found from above
    and is at most 1e-4 of itself, and what the lattice adds, above the solution. Beyond 1e9 reports the bound
    is that of 1e9.

    References
    ----------
    .. [1] Feldman, McMillan, Talwar, Hiding among the clones: a simple and nearly optimal analysis of privacy
       amplification by shuffling, FOCS 2021, arXiv:2012.12803.
    .. [2] Balle, Bell, Gascon, Nissim, The privacy blanket of the shuffle model, CRYPTO 2019.

    Examples
    --------
    >>> from skprivate.accounting import shuffle_amplification
    >>> from skprivate.randomizers import HadamardRandomizer
    >>> shuffled = shuffle_amplification(4.0, 10**5, 1e-6, HadamardRandomizer(4.0, 256))
    >>> print(f"{shuffled.epsilon:.3f}", shuffled.condition)
    0.079 if shuffled by a party that does not collude
    >>> {name: round(bound, 3) for name, bound in shuffled.bounds.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'closed form': 0.535, 'clones': 0.17, 'blanket of any randomizer': 0.118,
     'blanket of block-Hadamard response (L=256, B=32)': 0.079}
    """
    own = check_epsilon(epsilon0)
    n = check_int(n, "n", least=1)
    exact_delta = check_probability(delta, "delta")
    if exact_delta == 0:
        raise ValueError("delta must be greater than 0: shuffling gives no pure epsilon.")
    warn_of_large_delta(exact_delta, n, "client")
    bounds = _generic_bounds(own, n, exact_delta)
    if mechanism is not None:
        bounds.update(_mechanism_bound(own, n, exact_delta, mechanism))
        own = min(own, mechanism.epsilon)
    method = min(bounds, key=lambda name: bounds[name])
    if bounds[method] >= own:
        method = _UNSHUFFLED
    return ShuffledPrivacy(
        epsilon=bounds.get(method, float(own)),
        delta=exact_delta,
        epsilon0=own,
        n=n,
        method=method,
        condition=CONDITION,
        bounds=MappingProxyType(bounds),
    )


def _generic_bounds(epsilon0: Fraction, n: int, delta: Fraction) -> dict[str, float]:
    names = "closed form", "clones", "blanket of any randomizer"
    if epsilon0 > _LARGEST_EPSILON:
        return dict.fromkeys(names, math.inf)
    # Above e^epsilon0: what is private with a smaller epsilon is with a larger one.
    odds = Fraction(math.exp(epsilon0)) * (1 + _ROUNDING)
    blankets = Blanket(odds, 1 / (2 * odds)), Blanket.of_total_variation(odds)
    solved = [_solve(blanket, n, delta) for blanket in blankets]
    return dict(zip(names, [_closed_form(float(epsilon0), n, float(delta)), *solved], strict=True))


def _closed_form(epsilon0: float, n: int, delta: float) -> float:
    if epsilon0 > math.log(n / (16 * math.log(2 / delta))):
        return math.inf
    odds = math.exp(epsilon0)
    root = 8 * math.sqrt(odds * math.log(4 / delta) / n)
    return math.log1p((odds - 1) / (odds + 1) * (root + 8 * odds / n)) * (1 + float(_ROUNDING))


def _mechanism_bound(
    epsilon0: Fraction, n: int, delta: Fraction, mechanism: ShuffledMechanism
) -> dict[str, float]:
    if not isinstance(mechanism, ShuffledMechanism):
        raise TypeError(f"mechanism must be a local randomizer, not {type(mechanism).__name__}.")
    if mechanism.relation != "local":
        raise ValueError(
            "mechanism protects the label alone, so that only the reports of one cell hide each other: use "
            "KRRRandomizer(epsilon, 1, n_labels), and as n the number of clients in the smallest cell."
        )
    # A mechanism may cost a little less than what was asked for.
    requested = getattr(mechanism, "epsilon_requested", mechanism.epsilon)
    if not mechanism.epsilon <= epsilon0 <= max(requested, mechanism.epsilon):
        raise ValueError(
            f"epsilon0 is {show(epsilon0)}, but a report of the mechanism costs {show(mechanism.epsilon)}: "
            "give the mechanism's epsilon."
        )
    blanket = mechanism.blanket()
    if blanket is None:
        return {}
    describe = getattr(mechanism, "describe", lambda: type(mechanism).__name__)
    return {f"blanket of {describe()}": _solve(blanket, n, delta)}


def _solve(blanket: Blanket, n: int, delta: Fraction) -> float:
    # Delta as a float that is not above it.
    return blanket.epsilon(min(n, _LARGEST_N), math.nextafter(float(delta), 0))


def _up(epsilon: float) -> str:
    """Three digits, rounded up."""
    digits = 2 - math.floor(math.log10(epsilon))
    return f"{math.ceil(epsilon * 10**digits - 1e-9) / 10**digits:.{max(digits, 0)}f}"


def _restore(fields: dict[str, object]) -> ShuffledPrivacy:
    return ShuffledPrivacy(**{**fields, "bounds": MappingProxyType(fields["bounds"])})  # type: ignore[arg-type]
