# SPDX-License-Identifier: BSD-3-Clause
"""Composition of several runs: sums, Rényi divergences and privacy loss distributions."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..._typing import FloatArray, Relation, Unit
from ...utils import check_probability
from ...utils._public_module import public_module
from .._privacy_amounts import ReadableAmounts, show_pair, upper_sum
from .._statements.fields import check_choice
from .._statements.html import NO_EPSILON, PRIVATE_VERDICT, Label, amounts_figure, label_fragment
from .._statements.spent import LedgerEntry, PrivacySpent

# Epsilon of many runs at one delta: by Rényi divergences, and by privacy loss distributions.
# The numbers that follow are set by hand.

# Orders are dense near 1, for tiny epsilons, and beyond 2. The best order is used.
_ORDERS = np.concatenate([1 + np.geomspace(1e-4, 1, 400), np.geomspace(2.01, 1e6, 2000)])
_ROUNDING = 1e-9  # added to results in floats; many times their error
_LOG_ERROR = 1e-13  # relative to 1 + the logarithm, where it cancels
# Allowance in delta for errors of the Fourier transforms of dp-accounting. Against exact sums these errors
# were at most 1e-15.
_TRANSFORMS, _TRANSFORMS_PER_RUN = 1e-13, 1e-16
_STEP = 1e-4  # of the grid of losses; the losses of each run are rounded up to it
# Larger shifts use noise on one real number for the discrete noise, at 2 / shift more (`Amount.laplace`).
_LARGEST_SHIFT = 1000
# From this shift on there is room for integers of several scales (`compose`, Laplace noise).
SEVERAL_SCALES = 2**30
_LARGEST_SUPPORT = 2**22  # points of one loss distribution: 32 MB


class Amount(NamedTuple):
    """Amounts of a run; shift and scale are set only if discrete Laplace noise is its whole release."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = None
    shift: int | None = None
    scale: Fraction | None = None

    @property
    def laplace(self) -> Fraction | None:
        """Epsilon of Laplace noise on one real number that leaks no less.

        On integers the hockey-stick divergence equals that of real numbers at losses of the shift's parity.
        It is linear in e^loss between them. So 2 / scale more covers it, once for each scale.
        """
        if self.shift is None or self.scale is None:
            return None
        more = 2 if self.shift < SEVERAL_SCALES else self.shift // 2**14
        return (self.shift + more) / self.scale


def rdp_epsilon(amounts: Counter[Amount], delta: Fraction) -> float:
    """Return the epsilon of all runs at this delta by Rényi divergences."""
    left = delta - sum(amount.delta * count for amount, count in amounts.items() if amount.rho is None)
    if left <= 0:
        raise ValueError("the deltas of the runs use up delta: give a larger one, or method='basic'.")
    divergence = np.zeros_like(_ORDERS)
    for amount, count in amounts.items():
        divergence += count * _divergence(amount)
    # A million orders: epsilon(a) = D(a) + log(1 - 1/a) - (log delta + log a) / (a - 1).
    spent = np.log1p(-1 / _ORDERS) - (math.log(left) + np.log(_ORDERS)) / (_ORDERS - 1)
    return max(0.0, float(np.min(divergence + spent))) * (1 + _ROUNDING) + _ROUNDING


def pld_epsilon(amounts: Counter[Amount], delta: Fraction) -> float:
    """Return the epsilon of all runs at this delta by their dominating pairs; needs dp-accounting."""
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError as error:
        raise ImportError(
            "method='pld' needs dp-accounting: pip install 'skprivate[accounting]'. Without it, use 'rdp'."
        ) from error
    if not amounts:
        return 0.0
    step = _step(amounts)
    without_rho: Counter[Amount] = Counter()
    for amount, count in amounts.items():
        without_rho[amount._replace(rho=None)] += count
    composed: Any = None
    for amount, count in without_rho.items():
        single = _dominating(amount, step, privacy_loss_distribution, common)
        several = single.self_compose(count)
        composed = several if composed is None else composed.compose(several)
    unsure = _TRANSFORMS + _TRANSFORMS_PER_RUN * sum(amounts.values())
    target = float(delta) * (1 - _ROUNDING) - unsure
    return float(composed.get_epsilon_for_delta(target)) + _ROUNDING if target > 0 else math.inf


def _dominating(amount: Amount, step: float, losses: Any, common: Any) -> Any:
    grid = {"value_discretization_interval": step}
    # Never below the exact amounts.
    if amount.shift is not None and amount.scale is not None:
        if amount.shift <= _LARGEST_SHIFT:
            rate = round_up(1 / amount.scale)
            return losses.from_discrete_laplace_mechanism(rate, amount.shift, **grid)
        return losses.from_laplace_mechanism(1 / round_up(amount.laplace or amount.epsilon), **grid)
    pair = common.DifferentialPrivacyParameters(round_up(amount.epsilon), round_up(amount.delta))
    return losses.from_privacy_parameters(pair, **grid)


def _divergence(amount: Amount) -> FloatArray:
    if amount.rho is not None:
        return float(amount.rho) * _ORDERS
    response = _response_divergence(amount)
    if amount.laplace is None:
        return response
    # log(a / (2a - 1) e^((a-1) epsilon) + (a - 1) / (2a - 1) e^(-a epsilon)) / (a - 1)
    epsilon = float(amount.laplace)
    forward = np.log(_ORDERS / (2 * _ORDERS - 1)) + (_ORDERS - 1) * epsilon
    backward = np.log((_ORDERS - 1) / (2 * _ORDERS - 1)) - _ORDERS * epsilon
    laplace = (np.logaddexp(forward, backward) + _LOG_ERROR) / (_ORDERS - 1)
    return np.minimum(response, np.maximum(laplace, 0.0))


def _response_divergence(amount: Amount) -> FloatArray:
    # log(p^a q^(1-a) + q^a p^(1-a)) with log p = -log(1 + e^-epsilon), log q = log p - epsilon.
    epsilon = float(amount.epsilon)
    log_p = -math.log1p(math.exp(-epsilon))
    forward = log_p + epsilon * (_ORDERS - 1)
    backward = log_p - epsilon * _ORDERS
    # Near order 1 the logarithm cancels, so its error is added. Epsilon and a epsilon^2 / 2 are bounds too.
    exact = (np.logaddexp(forward, backward) + _LOG_ERROR) / (_ORDERS - 1)
    return np.minimum(np.maximum(exact, 0.0), np.minimum(epsilon, _ORDERS * epsilon**2 / 2))


def _step(amounts: Counter[Amount]) -> float:
    """Return a step that divides the smallest epsilon, as fine as memory and time allow."""
    smallest = float(min(amount.epsilon for amount in amounts))
    largest = 2 * sum(float(amount.epsilon) * count for amount, count in amounts.items())
    wanted = max(min(_STEP, smallest / 20), largest / _LARGEST_SUPPORT)
    return smallest / max(1, round(smallest / wanted))


def round_up(amount: Fraction) -> float:
    """Return the amount as a float that is not below it."""
    number = float(amount)
    return number if number >= amount else math.nextafter(number, math.inf)


# Composition of several runs, separately for each relation, unit of privacy and group of disjoint data.

Method = Literal["basic", "rdp", "pld"]
Run = PrivacySpent | LedgerEntry
Kind = tuple[Relation, Unit]

_METHODS = {
    "basic": "basic composition: the sum, exactly",
    "rdp": "Rényi divergences of Laplace noise, of zCDP, and of randomised response for everything else",
    "pld": "privacy loss distributions of Laplace noise, and of the worst mechanism for everything else",
}
# A run of the first relation is also one of the others at the same cost. A report that hides its unit hides
# that the unit is replaced. A replaced unit may differ in its label only.
_IMPLIED: dict[Relation, tuple[Relation, ...]] = {
    "local": ("local", "replace-one", "label", "joint"),
    "replace-one": ("replace-one", "label", "joint"),
    "add-remove": ("add-remove",),
    "label": ("label",),
    "joint": ("joint",),
}


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True, repr=False)
class CompositionPart(ReadableAmounts):
    """Total cost of all runs for one relation and unit.

    Attributes
    ----------
    relation, unit : str
        As in `PrivacySpent`.
    epsilon : Fraction or float
        Total of the runs on all data and of the most expensive group of disjoint data. With method "basic" it
        is an exact sum. It includes the nominal amounts of runs that are not private.
    delta : Fraction
        With method "basic" a sum like epsilon, otherwise as requested.
    n_runs : int
        Number of counted runs: of this relation and unit, or of one that implies it at the same cost.
    n_other : int
        Number of runs that imply nothing for this relation and unit. If it is above 0, there is no bound.
    n_not_private : int
        Number of counted runs that claim no privacy. If it is above 0, there is no bound.
    groups : mapping of str to (epsilon, delta)
        For each declared group of data, the cost of the runs that touch it, including runs on all data.
    holds : bool
        Whether epsilon and delta bound how much all runs together reveal about a unit.

    See Also
    --------
    compose : Returns it.

    Notes
    -----
    **Privacy**: a function of names and amounts, never of rows.

    Examples
    --------
    >>> from skprivate.accounting import PrivacySpent, compose
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=1, relation="local", noise_scale=4,
    ...     noise_source="os-entropy", deployment="collected", claim="dp",
    ... )
    >>> part = compose([spent, spent]).parts[0]
    >>> part.relation, part.epsilon, part.holds
    ('local', Fraction(2, 1), True)
    """

    relation: Relation
    unit: Unit
    epsilon: Fraction | float
    delta: Fraction
    n_runs: int
    n_other: int
    n_not_private: int
    groups: Mapping[str, tuple[Fraction | float, Fraction]]

    @property
    def holds(self) -> bool:
        """Whether the amounts are a bound."""
        return not self.n_other and not self.n_not_private and self.epsilon < math.inf

    def _rows(self) -> list[tuple[str, str]]:
        amounts = show_pair(self.epsilon, self.delta)
        rows = [(f"{self.relation}, {self.unit}", f"{amounts} ({_runs(self.n_runs)})")]
        rows += [(f"data {group!r}", show_pair(*amount)) for group, amount in self.groups.items()]
        if self.n_not_private:
            rows.append(("NO BOUND", f"{_runs(self.n_not_private)} not private; nominal amounts are shown"))
        if self.n_other:
            rows.append(("NO BOUND", f"{_runs(self.n_other)} of another kind, without a claim of this kind"))
        return rows


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class Composition:
    """Total cost of several runs, as returned by `compose`.

    Attributes
    ----------
    method : {"basic", "rdp", "pld"}
        How amounts were added up.
    parts : tuple of CompositionPart
        One for each relation and unit among the runs. Parts whose amounts hold come first.
    epsilon : Fraction or float
        Epsilon of the first part; infinite if there is no bound, 0 without runs.
    delta : Fraction
        Delta of the first part; 0 without runs.

    See Also
    --------
    compose : Returns it.

    Notes
    -----
    **Privacy**: a function of names and amounts, never of rows. The amounts are claimed, not certified.

    Examples
    --------
    >>> from skprivate.accounting import PrivacySpent, compose
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=1, relation="replace-one", noise_scale=4,
    ...     noise_source="os-entropy", deployment="curator", claim="dp",
    ... )
    >>> print(compose([spent, spent]))
    Composition of 2 runs (claimed by the software, not certified)
    By basic composition: the sum, exactly
    replace-one, row: epsilon = 2, delta = 0 (2 runs)
    Not covered: values computed from private rows outside these runs, such as the scores and the
    choice of a plain search; several units with rows of one person.
    """

    method: Method
    n_runs: int
    parts: tuple[CompositionPart, ...]

    @property
    def epsilon(self) -> Fraction | float:
        """Epsilon of the first part, infinite if there is no bound."""
        if not self.parts:
            return Fraction(0)
        return self.parts[0].epsilon if self.parts[0].holds else math.inf

    @property
    def delta(self) -> Fraction:
        """Delta of the first part."""
        return self.parts[0].delta if self.parts else Fraction(0)

    def _repr_html_(self) -> str:
        """Return a label for a notebook, with every text escaped."""
        holds = self.epsilon < math.inf
        label = Label(
            subject=f"Composition of {_runs(self.n_runs)}, by {_METHODS[self.method]}",
            private=holds,
            verdict=PRIVATE_VERDICT if holds else "NO BOUND holds for all runs together",
            figure=amounts_figure(self.epsilon, self.delta) if holds else NO_EPSILON,
            rows=[row for part in self.parts for row in part._rows()],
            note=" ".join(self._notes()),
        )
        return label_fragment([label])

    def __str__(self) -> str:
        lines = [
            f"Composition of {_runs(self.n_runs)} (claimed by the software, not certified)",
            f"By {_METHODS[self.method]}",
        ]
        for part in self.parts:
            first, *others = (f"{name}: {value}" for name, value in part._rows())
            lines += [first, *(f"  {line}" for line in others)]
        return "\n".join([*lines, *self._notes()])

    def _notes(self) -> list[str]:
        grouped = [
            "Groups of data are disjoint AS DECLARED: no unit may be in two of them, or change its group.",
            "The most expensive group counts; runs without a group count in every group.",
        ]
        return [
            *(grouped if any(part.groups for part in self.parts) else ()),
            "Not covered: values computed from private rows outside these runs, such as the scores and the",
            "choice of a plain search; several units with rows of one person.",
        ]


def compose(
    runs: Iterable[Run], method: Method = "basic", delta: float | Fraction | None = None
) -> Composition:
    """Return the total cost of several runs.

    Parameters
    ----------
    runs : iterable of PrivacySpent or LedgerEntry
        Entries with a group of data (`PrivacyLedger.data`) count in that group only. All other runs count in
        every group.
    method : {"basic", "rdp", "pld"}, default="basic"
        "basic": sums of fractions. They are exact, or rounded up by less than 2**-1200 a run if their common
        denominator exceeds 2,048 bits. "rdp", "pld": less than the sum for many runs, in floats that are
        rounded up. "pld" is the tightest and needs the extra ``accounting``.
    delta : float or Fraction, default=None
        Delta of the result, in (0, 1). Required for "rdp" and "pld", not accepted for "basic".

    Returns
    -------
    composition : Composition

    Raises
    ------
    TypeError, ValueError
        An element is not a run. The method is unknown. A delta is given for "basic", or none for the other
        methods, or the runs' own deltas use it up.
    ImportError
        The method is "pld" and the extra ``accounting`` is not installed.

    See Also
    --------
    PrivacyLedger.composition : The same for all entries of a ledger.

    Notes
    -----
    **Privacy.** Each run may be chosen from the releases of earlier runs, and the total still holds. Its
    epsilon must be fixed in advance for "rdp" and "pld", but not for "basic".

    *Units.* A run counts for its own relation and unit, and for those that it implies at the same cost. Local
    implies replace-one, which implies label. A group implies its rows, unless units are added and removed.
    Groups are assumed to be the same in all runs: a run on persons and a run on households do not add up.
    Amounts of other kinds have another meaning and are not added. Then there is no bound, and the printed
    text reports that.

    *Disjoint data.* A unit is in one group of data only. For its neighbours, the releases from the other
    groups have the same distribution. So the largest total of any group is a bound. The user declares that
    the groups are disjoint. The membership in a group must not depend on private values.

    *"pld".* Every (epsilon, delta) run is dominated by a pair of distributions [1]. One has the masses delta,
    (1 - delta) times e^epsilon / (1 + e^epsilon) and 1 / (1 + e^epsilon), and 0. The other is its reverse.
    The composition of dominating pairs dominates [2]. It is computed by dp-accounting with Fourier transforms
    in floats. For their error, 1e-13 of delta, and 1e-16 for each run, are set aside. No proof bounds this
    error; it was 1e-15 where exact sums are known. With a delta below that, only the sum is used.

    *Laplace noise* leaks less. Take a run whose mechanism begins with "discrete Laplace", and whose epsilon
    is its sensitivity D over its noise scale s. It adds such noise to integers that differ by at most D in
    sum. Let r = e^(-1/s). One integer with a shift d has delta(t) = 1 - r^((d - ts) / 2) for losses t from
    -d / s in steps of 2 / s. Between them delta is linear in e^t. Two integers of shifts c <= d have losses
    of the same parity. There delta at r^Y = e^(t/2) r^((c + d) / 2) is
    1 - r^Y (1 + min(c, Y) (1 - r) / (1 + r)): never more than for one integer with the shift c + d. By
    induction, the pair of one integer with the shift D dominates the run. Laplace noise on one real number
    with a loss of at most (D + 2) / s dominates that pair. Moments are integers of weights c with the scales
    s / c. One weight at a time, they are dominated by real numbers whose losses add up to at most
    (D + 2 sum c) / s. One real number with that loss dominates these. With fewer than 5,000 features 2 sum c
    is below 2^16. If D is 2^30 or more, D / 2^14 is used for it. If D is less, the noise of moments counts as
    any noise of that epsilon.

    *"rdp".* With probability 1 - delta each such pair is randomised response. Its Rényi divergence of order a
    is log(p^a q^(1-a) + q^a p^(1-a)) / (a - 1), with p = 1 - q = e^epsilon / (1 + e^epsilon). A run with a
    rho has at most rho a. The deltas of the runs without a rho are subtracted from the delta of the result.
    [3] converts the sum of divergences to an epsilon, at the best order of a grid.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath, The composition theorem for differential privacy, ICML 2015.
    .. [2] Zhu, Dong, Wang, Optimal accounting of differential privacy via characteristic function, AISTATS
       2022.
    .. [3] Canonne, Kamath, Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020, Prop. 12.

    Examples
    --------
    >>> from skprivate.accounting import PrivacySpent, compose
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=1, relation="replace-one", noise_scale=4,
    ...     noise_source="os-entropy", deployment="curator", claim="dp",
    ... )
    >>> compose([spent] * 81).epsilon
    Fraction(81, 1)
    >>> round(compose([spent] * 81, method="rdp", delta=1e-6).epsilon, 1)
    72.0
    """
    check_choice(method, "method", get_args(Method))
    target = _target(method, delta)
    if not isinstance(runs, Iterable):
        raise TypeError(f"runs must be several PrivacySpent or LedgerEntry, not one {type(runs).__name__}.")
    listed = list(runs)
    for run in listed:
        if not isinstance(run, PrivacySpent | LedgerEntry):
            raise TypeError(f"runs must be PrivacySpent or LedgerEntry, got {type(run).__name__}.")
    kinds = dict.fromkeys((run.relation, run.unit) for run in listed)
    parts = [_part(kind, listed, method, target) for kind in kinds]
    # The strongest kind that covers everything comes first. A stable sort keeps the order of the rest.
    strength = list(_IMPLIED)
    parts.sort(key=lambda part: (not part.holds, strength.index(part.relation)))
    return Composition(method=method, n_runs=len(listed), parts=tuple(parts))


def _target(method: Method, delta: float | Fraction | None) -> Fraction | None:
    if method == "basic":
        if delta is not None:
            raise ValueError("delta is the sum with method='basic': give none.")
        return None
    if delta is None:
        raise ValueError(f"method={method!r} needs a delta.")
    exact = check_probability(delta, "delta")
    if exact == 0:
        raise ValueError(f"delta must be greater than 0 with method={method!r}.")
    return exact


def _implies(run: Run, kind: Kind) -> bool:
    relation, unit = kind
    if relation not in _IMPLIED[run.relation]:
        return False
    return run.unit == unit or ((run.unit, unit) == ("group", "row") and run.relation != "add-remove")


def _part(kind: Kind, runs: list[Run], method: Method, target: Fraction | None) -> CompositionPart:
    counted = [run for run in runs if _implies(run, kind)]
    by_group: dict[str | None, list[Run]] = {None: []}
    for run in counted:
        by_group.setdefault(getattr(run, "data", None), []).append(run)
    common = by_group.pop(None)
    groups = {str(name): _add_up(common + group, method, target) for name, group in by_group.items()}
    totals = list(groups.values()) or [_add_up(common, method, target)]
    return CompositionPart(
        relation=kind[0],
        unit=kind[1],
        epsilon=max(epsilon for epsilon, _ in totals),
        delta=max(own_delta for _, own_delta in totals),
        n_runs=len(counted),
        n_other=len(runs) - len(counted),
        n_not_private=sum(not run.private for run in counted),
        groups=groups,
    )


def _add_up(runs: list[Run], method: Method, target: Fraction | None) -> tuple[Fraction | float, Fraction]:
    deltas = upper_sum(run.delta for run in runs)
    if any(run.epsilon == math.inf for run in runs):
        return math.inf, target or deltas
    total = upper_sum(Fraction(run.epsilon) for run in runs)
    if target is None:
        return total, deltas
    amounts = Counter(_amount(run) for run in runs)
    better = (pld_epsilon if method == "pld" else rdp_epsilon)(amounts, target)
    # The sum is another bound if it needs no more delta.
    return (min(round_up(total), better) if deltas <= target else better), target


def _amount(run: Run) -> Amount:
    epsilon, shift, scale = Fraction(run.epsilon), run.sensitivity, run.noise_scale
    plain = Amount(epsilon, run.delta, run.rho)
    if not run.mechanism.startswith("discrete Laplace") or shift is None or scale is None or run.delta:
        return plain
    # Several releases, or additional noise, cost more than the quotient.
    if Fraction(shift) / scale != epsilon or Fraction(shift).denominator != 1:
        return plain
    # Moments of several weights have several scales. The statement holds only one of them.
    if "moments" in run.mechanism and shift < SEVERAL_SCALES:
        return plain
    return plain._replace(shift=int(shift), scale=Fraction(scale))


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"
