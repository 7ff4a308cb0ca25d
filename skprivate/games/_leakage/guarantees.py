# SPDX-License-Identifier: BSD-3-Clause
"""What the broadcasts of a run tell of the players' secrets: exact where it can be, or a proven bound."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...accounting import PrivacyGuarantee
from ...accounting._checks import check_choice
from ...accounting._statements.guarantee import Criterion, Status
from ...exceptions import PrivacyUnboundedError
from .._broadcast_model import BroadcastModel
from .independent import BoxPlayer, ContinuousPlayer, FinitePlayer, Leakage, OnePlayer
from .joint import JointChannel
from .monte_carlo import SampledPlayer
from .priors import ContinuousPrior, JointPrior, Prior, SampledPrior, TwoTypePrior, TypePrior, as_prior
from .sensitivity import Distance, player_distances
from .two_types import FollowedPlayers, as_joint

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
View = Literal["entire", "individual"]

_WHOSE = {"entire": "the values of all {} players as one", "individual": "any single player's value"}
# A two-type prior of players with different distances is written out profile by profile up to so many.
_WRITTEN_OUT = 12


def privacy_guarantee(
    model: BroadcastModel, prior: Any = None, view: View = "entire", criterion: Criterion = "pml"
) -> PrivacyGuarantee:
    """Return what the broadcasts of a run leak at most about the players' private vectors.

    Parameters
    ----------
    model : BroadcastModel
        The public description of the run.
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
        With status "exact" if the value is attained by Laplace noise of real numbers; `allowance` pays for
        the grid that noise is really drawn on and for rounding, and `lower` takes it off.

    Raises
    ------
    TypeError
        If `prior` is no prior.
    ValueError
        If `view` or `criterion` is unknown, the prior does not fit the model or leaves the bounds that the
        game declares, a prior is missing, or there is a round without noise.
    PrivacyUnboundedError
        If nothing bounds how far a secret moves the broadcasts.

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
    >>> from skprivate.games._broadcast_model import BroadcastModel
    >>> from skprivate.games._games.sets import Unconstrained
    >>> k = np.arange(200)
    >>> model = BroadcastModel(
    ...     n_players=10, n_dims=1, algorithm="ye", noise_scales=1 + 0.5 * k, steps=1 / (1 + k),
    ...     constraint=Unconstrained(), clip_norm=None, private=frozenset({"r"}), P=np.eye(1),
    ...     Q=0.5 * np.eye(1), private_bounds=None, allowance=0.0,
    ... )
    >>> prior = stats.uniform(-1, 2)
    >>> for criterion in ("pml", "corollary1", "dp"):
    ...     print(criterion, f"{float(privacy_guarantee(model, prior, criterion=criterion)):.2f}")
    pml 7.44
    corollary1 12.67
    dp 17.31
    """
    check_choice(view, "view", get_args(View))
    check_choice(criterion, "criterion", get_args(Criterion))
    if prior is not None:
        prior = as_prior(prior)
        prior.check(model)
    elif criterion != "dp":
        raise ValueError(f"criterion={criterion!r} needs a prior; without one only 'dp' is defined.")
    distances, kinds = player_distances(model)
    run = _Run(model, distances, kinds)
    players = _players(run, prior)
    with_grid = _evaluate(run, prior, players, view, criterion)
    if model.allowance == 0:
        return _report(run, prior, view, criterion, with_grid, with_grid)
    bare = _Run(model, [distance.bare() for distance in distances], kinds)
    return _report(run, prior, view, criterion, with_grid, _evaluate(bare, prior, players, view, criterion))


def worst_player(model: BroadcastModel) -> float:
    """Return epsilon of differential privacy of one player within its declared bounds, and nothing else."""
    run = _Run(model, *player_distances(model))
    return float(_evaluate(run, None, _boxed(run), "individual", "dp").value)


@dataclass(frozen=True, eq=False)
class _Run:
    model: BroadcastModel
    distances: list[Distance]
    kinds: IntArray

    def per_player(self) -> list[Distance]:
        return [self.distances[kind] for kind in self.kinds]


@dataclass(frozen=True, eq=False)
class _Group:
    """Independent players with the same prior and the same distance."""

    player: OnePlayer
    kind: int
    count: int


def _evaluate(
    run: _Run, prior: Prior | None, groups: list[_Group], view: View, criterion: Criterion
) -> Leakage:
    if criterion == "dp":
        return _differential(run, prior, groups, view)
    if isinstance(prior, JointPrior):
        return _joint(JointChannel(prior, run.per_player()), view, criterion)
    if isinstance(prior, TwoTypePrior):
        return _two_types(run, prior, view, criterion)
    found = [
        group.player.leakage(run.distances[group.kind])
        if criterion == "pml"
        else group.player.corollary(run.distances[group.kind])
        for group in groups
    ]
    return _combined(found, [group.count for group in groups], view)


def _differential(run: _Run, prior: Prior | None, groups: list[_Group], view: View) -> Leakage:
    """The largest distances of two secrets: over the players' supports, whatever their correlation."""
    exact, counts = all(distance.exact for distance in run.distances), [1] * run.model.n_players
    if isinstance(prior, JointPrior):
        spreads = JointChannel(prior, run.per_player()).spread()
        return _combined([Leakage(value, exact) for value in spreads], counts, view)
    if isinstance(prior, TwoTypePrior):
        sizes = _sizes(run, prior)
        return _combined([Leakage(value, exact) for value in sizes.tolist()], counts, view)
    found = [group.player.spread(run.distances[group.kind]) for group in groups]
    return _combined(found, [group.count for group in groups], view)


def _combined(found: list[Leakage], counts: list[int], view: View) -> Leakage:
    """Independent players: the sum of what they leak, or the most that one of them does."""
    if view == "entire":
        value = sum(count * item.value for item, count in zip(found, counts, strict=True))
    else:
        value = max(item.value for item in found)
    confidences = [item.confidence for item in found if item.confidence is not None]
    return Leakage(
        value, all(item.exact for item in found), confidence=confidences[0] if confidences else None
    )


def _joint(channel: JointChannel, view: View, criterion: Criterion) -> Leakage:
    if criterion == "pml":
        return channel.entire() if view == "entire" else channel.individual()
    # What bounds the leakage about all players bounds that about any of them.
    value = channel.corollary()
    return Leakage(value if view == "entire" else min(value, channel.cap()), False)


def _two_types(run: _Run, prior: TwoTypePrior, view: View, criterion: Criterion) -> Leakage:
    """By numbers of players if all have one distance; else profile by profile, or between the extremes."""
    sizes, n_players = _sizes(run, prior), run.model.n_players
    exact = all(distance.exact for distance in run.distances)
    if criterion == "corollary1":
        cap = np.inf if view == "entire" else FollowedPlayers(prior, n_players, 0.0).cap()
        return Leakage(min(float(sizes.sum()), cap), False)
    low, high = (_followed(prior, n_players, float(end), view) for end in (sizes.min(), sizes.max()))
    if sizes.min() == sizes.max():
        return Leakage(high, exact)
    if n_players <= _WRITTEN_OUT:
        return _joint(JointChannel(as_joint(prior, n_players), run.per_player()), view, criterion)
    # Theorem 1 and the range of likelihood ratios increase with every player's distance.
    return Leakage(high, False, low if exact else None)


def _followed(prior: TwoTypePrior, n_players: int, distance: float, view: View) -> float:
    players = FollowedPlayers(prior, n_players, distance)
    return players.entire() if view == "entire" else max(players.first(), players.others())


def _sizes(run: _Run, prior: TwoTypePrior) -> FloatArray:
    """Every player's distance between the two types."""
    return np.array([distance.between(prior.types)[0, 1] for distance in run.distances])[run.kinds]


def _players(run: _Run, prior: Prior | None) -> list[_Group]:
    """Groups of independent players; empty for correlated priors."""
    if prior is None:
        return _boxed(run)
    if isinstance(prior, TypePrior):
        return _typed(run, prior)
    n, (present, counts) = run.model.n_dims, np.unique(run.kinds, return_counts=True)
    player: OnePlayer
    if isinstance(prior, ContinuousPrior):
        player = ContinuousPlayer(prior.per_dimension(n))
    elif isinstance(prior, SampledPrior):
        box = prior.box(n)
        player = SampledPlayer(prior.sample(n), *box, prior.log_concave, prior.confidence, len(present))
    else:
        return []
    return [_Group(player, *pair) for pair in zip(present.tolist(), counts.tolist(), strict=True)]


def _typed(run: _Run, prior: TypePrior) -> list[_Group]:
    m, n = prior.types.shape[-2:]
    columns = [run.kinds[:, None].astype(np.float64)]
    columns += [prior.types.reshape(len(prior.types), -1)] if prior.types.ndim == 3 else []
    columns += [prior.probabilities] if prior.probabilities.ndim == 2 else []
    all_types = np.broadcast_to(prior.types, (run.model.n_players, m, n))
    all_weights = np.broadcast_to(prior.probabilities, (run.model.n_players, m))
    groups = []
    for index, count in _distinct(columns):
        types, weights = all_types[index], all_weights[index]
        player = FinitePlayer(types[weights > 0], weights[weights > 0])
        groups.append(_Group(player, int(run.kinds[index]), count))
    return groups


def _boxed(run: _Run) -> list[_Group]:
    model = run.model
    if model.private_bounds is None:
        if max(distance.ceiling for distance in run.distances) == np.inf:
            raise PrivacyUnboundedError(
                "without bounds of the private vectors or a prior nothing bounds their differences: declare "
                "the game's bounds, or set clip_norm."
            )
        widths = np.full((model.n_players, model.n_dims), np.inf)
    else:
        lower, upper = model.private_bounds
        widths = np.broadcast_to(upper - lower, (model.n_players, model.n_dims))
    columns = [run.kinds[:, None].astype(np.float64), widths]
    return [
        _Group(BoxPlayer(widths[index]), int(run.kinds[index]), count) for index, count in _distinct(columns)
    ]


def _distinct(columns: list[FloatArray]) -> list[tuple[int, int]]:
    """First index and number of the players with each distinct row."""
    _, first, counts = np.unique(np.hstack(columns), axis=0, return_index=True, return_counts=True)
    return list(zip(first.tolist(), counts.tolist(), strict=True))


def _report(
    run: _Run, prior: Prior | None, view: View, criterion: Criterion, found: Leakage, bare: Leakage
) -> PrivacyGuarantee:
    model, value = run.model, float(found.value)
    paid = sum(distance.allowance for distance in run.per_player())
    lower = bare.value if bare.exact else bare.lower
    return PrivacyGuarantee(
        epsilon=value,
        status=_status(found),
        criterion=criterion,
        subject=f"this run ({_whose(run, prior, view, criterion)})",
        prior="" if prior is None or criterion == "dp" else prior.describe(model.n_players),
        confidence=found.confidence,
        lower=None if lower is None else max(0.0, float(lower - paid)),
        allowance=max(0.0, value - float(bare.value)) if np.isfinite(value) else 0.0,
        method=_method(run, prior, view, criterion),
        movable=view == "entire",
    )


def _whose(run: _Run, prior: Prior | None, view: View, criterion: Criterion) -> str:
    whose = _WHOSE[view].format(run.model.n_players)
    if criterion != "dp":
        return whose
    # No prior, but not any value either.
    if prior is not None:
        return f"{whose}, of those that are possible for {prior.describe(run.model.n_players)}"
    return f"{whose}, within the declared bounds" if run.model.private_bounds is not None else whose


def _status(found: Leakage) -> Status:
    if found.confidence is not None:
        return "estimate"
    return "exact" if found.exact else "upper_bound"


def _method(run: _Run, prior: Prior | None, view: View, criterion: Criterion) -> str:
    rule = {"pml": "Theorem 1", "corollary1": "Corollary 1", "dp": "largest distance"}[criterion]
    if all(distance.exact for distance in run.distances):
        source = "sensitivity by the recursion of the linear dynamics"
    else:
        source = "sensitivity bounded by clipping, the constraint set or a Lipschitz constant"
    if isinstance(prior, JointPrior | TwoTypePrior):
        return f"{rule} of correlated players; {source}"
    return f"{rule}, {'summed over' if view == 'entire' else 'largest of the'} independent players; {source}"
