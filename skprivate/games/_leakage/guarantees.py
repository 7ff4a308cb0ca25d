# SPDX-License-Identifier: BSD-3-Clause
"""Leakage of the broadcasts about the players' private vectors: exact where possible, else a proven bound."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from ..._typing import Criterion, FloatArray, IndexArray
from ...accounting import PrivacyGuarantee
from ...accounting._statements.fields import check_choice
from ...exceptions import PrivacyUnboundedError
from .._plan import BroadcastMechanism
from .broadcast_sensitivity import Distance, player_distances
from .correlated_players import JointChannel, TwoTypeChannel, as_joint_prior
from .independent_players import (
    BoxPlayerPrior,
    ContinuousPlayerPrior,
    FinitePlayerPrior,
    LeakageBound,
    PlayerPrior,
    SampledPlayerPrior,
)
from .priors import ContinuousPrior, JointPrior, Prior, SampledPrior, TwoTypePrior, TypePrior, as_prior

View = Literal["entire", "individual"]

_SUBJECTS = {"entire": "the values of all {} players as one", "individual": "any single player's value"}
# A two-type prior of players with different distances is written out profile by profile up to so many.
_MOST_ENUMERATED = 12


def privacy_guarantee(
    mechanism: BroadcastMechanism, prior: Any = None, view: View = "entire", criterion: Criterion = "pml"
) -> PrivacyGuarantee:
    """Return what the broadcasts of a run leak at most about the players' private vectors.

    Parameters
    ----------
    mechanism : BroadcastMechanism
        The public description of the players.
    prior : TypePrior, ContinuousPrior, JointPrior, TwoTypePrior, SampledPrior, frozen distribution, or None
        What the adversary knows of the private vectors before; a frozen distribution of scipy.stats stands
        for that `ContinuousPrior`. None for ``criterion="dp"`` only: the game's declared bounds then count.
    view : {"entire", "individual"}, default="entire"
        About all players' vectors together, or about any single player's.
    criterion : {"pml", "corollary1", "dp"}, default="pml"
        Pointwise maximal leakage, almost surely; its bound by the mean over f of the largest distance from f;
        or differential privacy: of the group of all players (entire), or of one (individual).

    Returns
    -------
    guarantee : PrivacyGuarantee
        With status "exact" if the value is attained by Laplace noise of real numbers. `allowance` is the part
        of epsilon for the grid of the noise and for rounding; `lower` is without it.

    Raises
    ------
    TypeError
        If `prior` is no prior.
    ValueError
        If `view` or `criterion` is unknown, the prior does not fit the mechanism or leaves the bounds that
        the game declares, a prior is missing, or there is a round without noise.
    PrivacyUnboundedError
        If nothing bounds how far a private vector moves the broadcasts.

    See Also
    --------
    PrivateNashSolver.privacy_guarantee : The same for a fitted solver.

    Notes
    -----
    **Privacy**: computed from public things and the prior alone, never from the players' secrets or from
    what was broadcast; it holds for every sequence of broadcasts.

    *Factorisation.* Given the broadcasts o, the path of a player is a function of its own secret and of o, so
    ``P(o | f) = prod_i P_i(o | f_i)``. With v_i^k the estimate that player i perturbs in round k, Laplace
    noise of scale M_k gives, by the triangle inequality,

        P(o | f) / P(o | f') >= exp(-D(f, f')),  D(f, f') = sum_i sum_k |v_i^k - v_i'^k|_1 / M_k.

    If players are independent, ``P(o) = prod_i E P_i(o | f_i)``: the leakages of the players add up.

    *Theorem 1.* The leakage is ``log max_f' P(o | f') / E_f P(o | f)``, which is at most
    ``max_f' -log E_f exp(-D(f, f'))`` if D bounds the sum for all o. If D does not depend on o, as for affine
    pseudo-gradients of which only the constant part is private and nothing is clipped or projected, equality
    holds at the noiseless broadcasts of f': there ``|o - v'| = 0``, so the triangle inequality is one. This
    holds for every prior, correlated ones included. The leakage about a single player is never larger.

    *Corollaries.* Corollary 1, ``-log E_f exp(-max_f' D(f, f'))``, and Corollary 2, the largest D, which is
    differential privacy of the whole group, are each at least as large as the one before.

    References
    ----------
    Cheng, Chen, Oechtering and Skoglund, Privacy guarantee for Nash equilibrium computation of aggregative
    games based on pointwise maximal leakage.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from skprivate.games._leakage.guarantees import privacy_guarantee
    >>> from skprivate.games._plan import BroadcastMechanism
    >>> from skprivate.games._games.sets import Unconstrained
    >>> k = np.arange(200)
    >>> mechanism = BroadcastMechanism(
    ...     n_players=10, n_dims=1, algorithm="ye", noise_scales=1 + 0.5 * k, steps=1 / (1 + k),
    ...     constraint=Unconstrained(), clip_norm=None, private=frozenset({"r"}), P=np.eye(1),
    ...     Q=0.5 * np.eye(1), private_bounds=None, allowance=0.0,
    ... )
    >>> prior = stats.uniform(-1, 2)
    >>> for criterion in ("pml", "corollary1", "dp"):
    ...     print(criterion, f"{float(privacy_guarantee(mechanism, prior, criterion=criterion)):.2f}")
    pml 7.44
    corollary1 12.67
    dp 17.31
    """
    check_choice(view, "view", get_args(View))
    check_choice(criterion, "criterion", get_args(Criterion))
    if prior is not None:
        prior = as_prior(prior)
        prior.check(mechanism)
    elif criterion != "dp":
        raise ValueError(f"criterion={criterion!r} needs a prior; without one only 'dp' is defined.")
    distances, kinds = player_distances(mechanism)
    players = _PlayerDistances(mechanism, distances, kinds)
    request = _Request(prior, view, criterion)
    groups = _independent_groups(players, prior)
    found = without_allowance = _leakage(players, groups, request)
    if mechanism.allowance != 0:
        exact = replace(players, distances=[distance.without_allowance() for distance in distances])
        without_allowance = _leakage(exact, groups, request)
    return _guarantee(players, request, found, without_allowance)


def largest_player_epsilon(mechanism: BroadcastMechanism) -> float:
    """Return the largest epsilon of differential privacy of any one player within its declared bounds."""
    players = _PlayerDistances(mechanism, *player_distances(mechanism))
    return float(_leakage(players, _groups_of_boxes(players), _Request(None, "individual", "dp")).value)


@dataclass(frozen=True, eq=False)
class _Request:
    """The requested guarantee: its prior, its view and its criterion."""

    prior: Prior | None
    view: View
    criterion: Criterion

    def describe_subject(self, mechanism: BroadcastMechanism) -> str:
        subject = _SUBJECTS[self.view].format(mechanism.n_players)
        if self.criterion != "dp":
            return subject
        # Differential privacy holds for any prior, but over the support of this one alone.
        if self.prior is not None:
            return f"{subject}, of those that are possible for {self.prior.describe(mechanism.n_players)}"
        return subject if mechanism.private_bounds is None else f"{subject}, within the declared bounds"

    def describe_method(self, exact: bool) -> str:
        rule = {"pml": "Theorem 1", "corollary1": "Corollary 1", "dp": "largest distance"}[self.criterion]
        source = "sensitivity bounded by clipping, the constraint set or a Lipschitz constant"
        if exact:
            source = "sensitivity by the recursion of the linear dynamics"
        if isinstance(self.prior, JointPrior | TwoTypePrior):
            return f"{rule} of correlated players; {source}"
        combined = "summed over" if self.view == "entire" else "largest of the"
        return f"{rule}, {combined} independent players; {source}"


@dataclass(frozen=True, eq=False)
class _PlayerDistances:
    """The distance of every player: one per distinct kind of player, and the kind of each."""

    mechanism: BroadcastMechanism
    distances: list[Distance]
    kinds: IndexArray

    @property
    def exact(self) -> bool:
        return all(distance.exact for distance in self.distances)

    def per_player(self) -> list[Distance]:
        return [self.distances[kind] for kind in self.kinds]


@dataclass(frozen=True, eq=False)
class _PlayerGroup:
    """Independent players with the same prior and the same distance."""

    player: PlayerPrior
    kind: int
    count: int


def _leakage(players: _PlayerDistances, groups: list[_PlayerGroup], request: _Request) -> LeakageBound:
    prior, view, criterion = request.prior, request.view, request.criterion
    if criterion == "dp" and isinstance(prior, JointPrior | TwoTypePrior):
        # The largest distance of two private vectors, for any correlation.
        if isinstance(prior, JointPrior):
            values = [float(table.max()) for table in JointChannel(prior, players.per_player()).tables]
        else:
            values = _distances_of_types(players, prior).tolist()
        found = [LeakageBound(value, players.exact) for value in values]
        return _combine_players(found, [1] * len(values), view)
    if isinstance(prior, JointPrior):
        return _joint_leakage(JointChannel(prior, players.per_player()), view, criterion)
    if isinstance(prior, TwoTypePrior):
        return _two_type_leakage(players, prior, view, criterion)
    bound = {"pml": "leakage", "corollary1": "corollary1", "dp": "largest_distance"}[criterion]
    found = [getattr(group.player, bound)(players.distances[group.kind]) for group in groups]
    return _combine_players(found, [group.count for group in groups], view)


def _combine_players(found: list[LeakageBound], counts: list[int], view: View) -> LeakageBound:
    """Combine independent players: the sum of their leakages (entire view), or the largest one."""
    if view == "entire":
        value = sum(count * item.value for item, count in zip(found, counts, strict=True))
    else:
        value = max(item.value for item in found)
    confidences = [item.confidence for item in found if item.confidence is not None]
    return LeakageBound(
        value, all(item.exact for item in found), confidence=confidences[0] if confidences else None
    )


def _joint_leakage(channel: JointChannel, view: View, criterion: Criterion) -> LeakageBound:
    if criterion == "pml":
        return channel.entire() if view == "entire" else channel.individual()
    # What bounds the leakage about all players bounds that about any of them.
    value = channel.corollary1()
    return LeakageBound(value if view == "entire" else min(value, channel.rarest_type_bound()), False)


def _two_type_leakage(
    players: _PlayerDistances, prior: TwoTypePrior, view: View, criterion: Criterion
) -> LeakageBound:
    """Enumerate numbers of players if all have one distance; else profiles, or take the largest distance."""
    sizes, n_players = _distances_of_types(players, prior), players.mechanism.n_players
    if criterion == "corollary1":
        cap = np.inf if view == "entire" else TwoTypeChannel(prior, n_players, 0.0).rarest_type_bound()
        return LeakageBound(min(float(sizes.sum()), cap), False)
    # As if all players had one distance between the types, the least or the largest.
    channels = (TwoTypeChannel(prior, n_players, float(end)) for end in (sizes.min(), sizes.max()))
    low, high = (
        channel.entire() if view == "entire" else max(channel.first(), channel.others())
        for channel in channels
    )
    if sizes.min() == sizes.max():
        return LeakageBound(high, players.exact)
    if n_players <= _MOST_ENUMERATED:
        return _joint_leakage(
            JointChannel(as_joint_prior(prior, n_players), players.per_player()), view, criterion
        )
    # Theorem 1 and the range of likelihood ratios increase with every player's distance.
    return LeakageBound(high, False, low if players.exact else None)


def _distances_of_types(players: _PlayerDistances, prior: TwoTypePrior) -> FloatArray:
    """Every player's distance between the two types."""
    return np.array([distance.between(prior.types)[0, 1] for distance in players.distances])[players.kinds]


def _independent_groups(players: _PlayerDistances, prior: Prior | None) -> list[_PlayerGroup]:
    """Groups of independent players; empty for correlated priors."""
    if prior is None:
        return _groups_of_boxes(players)
    if isinstance(prior, TypePrior):
        return _groups_of_types(players, prior)
    n, (present, counts) = players.mechanism.n_dims, np.unique(players.kinds, return_counts=True)
    player: PlayerPrior
    if isinstance(prior, ContinuousPrior):
        player = ContinuousPlayerPrior(prior.per_dimension(n))
    elif isinstance(prior, SampledPrior):
        box = prior.box(n)
        player = SampledPlayerPrior(prior.sample(n), *box, prior.log_concave, prior.confidence, len(present))
    else:
        return []
    return [_PlayerGroup(player, *pair) for pair in zip(present.tolist(), counts.tolist(), strict=True)]


def _groups_of_types(players: _PlayerDistances, prior: TypePrior) -> list[_PlayerGroup]:
    m, n = prior.types.shape[-2:]
    columns = [players.kinds[:, None].astype(np.float64)]
    columns += [prior.types.reshape(len(prior.types), -1)] if prior.types.ndim == 3 else []
    columns += [prior.probabilities] if prior.probabilities.ndim == 2 else []
    all_types = np.broadcast_to(prior.types, (players.mechanism.n_players, m, n))
    all_weights = np.broadcast_to(prior.probabilities, (players.mechanism.n_players, m))
    groups = []
    for index, count in _distinct_rows(columns):
        types, weights = all_types[index], all_weights[index]
        player = FinitePlayerPrior(types[weights > 0], weights[weights > 0])
        groups.append(_PlayerGroup(player, int(players.kinds[index]), count))
    return groups


def _groups_of_boxes(players: _PlayerDistances) -> list[_PlayerGroup]:
    mechanism = players.mechanism
    if mechanism.private_bounds is None:
        if any(distance.ceiling == np.inf for distance in players.distances):
            raise PrivacyUnboundedError(
                "without bounds of the private vectors or a prior nothing bounds their differences: declare "
                "the game's bounds, or set clip_norm."
            )
        widths = np.full((mechanism.n_players, mechanism.n_dims), np.inf)
    else:
        lower, upper = mechanism.private_bounds
        widths = np.broadcast_to(upper - lower, (mechanism.n_players, mechanism.n_dims))
    columns = [players.kinds[:, None].astype(np.float64), widths]
    return [
        _PlayerGroup(BoxPlayerPrior(widths[index]), int(players.kinds[index]), count)
        for index, count in _distinct_rows(columns)
    ]


def _distinct_rows(columns: list[FloatArray]) -> list[tuple[int, int]]:
    """First index and number of the players with each distinct row."""
    _, first, counts = np.unique(np.hstack(columns), axis=0, return_index=True, return_counts=True)
    return list(zip(first.tolist(), counts.tolist(), strict=True))


def _guarantee(
    players: _PlayerDistances, request: _Request, found: LeakageBound, without_allowance: LeakageBound
) -> PrivacyGuarantee:
    mechanism, value, prior = players.mechanism, float(found.value), request.prior
    allowances = sum(distance.allowance for distance in players.per_player())
    lower = without_allowance.value if without_allowance.exact else without_allowance.lower
    return PrivacyGuarantee(
        epsilon=value,
        status="estimate" if found.confidence is not None else "exact" if found.exact else "upper_bound",
        criterion=request.criterion,
        subject=f"this run ({request.describe_subject(mechanism)})",
        prior="" if prior is None or request.criterion == "dp" else prior.describe(mechanism.n_players),
        confidence=found.confidence,
        lower=None if lower is None else max(0.0, float(lower - allowances)),
        allowance=max(0.0, value - float(without_allowance.value)) if np.isfinite(value) else 0.0,
        method=request.describe_method(players.exact),
        movable=request.view == "entire",
    )
