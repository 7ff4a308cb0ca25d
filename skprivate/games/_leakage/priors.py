# SPDX-License-Identifier: BSD-3-Clause
"""Priors: distributions of the players' private vectors that an adversary is assumed to know."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..._typing import FloatArray
from ...utils import check_bounds, check_int
from ...utils._public_module import public_module
from .._games.sets import as_numbers
from .._plan import BroadcastMechanism

# Priors: distributions of the players' private vectors that an adversary is assumed to know.

Sampler = Callable[[int, np.random.Generator], ArrayLike]

# Longer lists of probabilities are described by their number.
_SHOWN = 6
# Families of SciPy with a bounded support, an interval: their densities are positive between its ends.
_INTERVALS = (
    *("anglit", "arcsine", "beta", "bradford", "cosine", "irwinhall", "johnsonsb", "loguniform", "powerlaw"),
    *("rdist", "reciprocal", "semicircular", "trapezoid", "triang", "truncexpon", "truncnorm", "truncpareto"),
    *("truncweibull_min", "uniform", "vonmises_line", "wrapcauchy"),
)
_FROZEN_METHODS = ("cdf", "sf", "ppf", "isf", "support")


class Prior(ABC):
    """A distribution of the private vectors of all players."""

    @abstractmethod
    def check(self, mechanism: BroadcastMechanism) -> None:
        """Raise a ValueError if the prior does not fit the players or the declared bounds."""

    @abstractmethod
    def describe(self, n_players: int) -> str:
        """Return the prior in words, for `PrivacyGuarantee.prior`."""


@public_module("skprivate.games")
class TypePrior(Prior):
    """Independent players, each of one of finitely many types.

    Parameters
    ----------
    types : array-like of shape (m,), (m, n_dims) or (n_players, m, n_dims)
        Private vectors that a player may hold; for one dimension (m,). Where more than a vector is private
        they are labels, and every one of them counts as different.
    probabilities : array-like of shape (m,) or (n_players, m)
        At least 0, with sums of 1; a type of probability 0 is not in the support.

    Attributes
    ----------
    types : ndarray of shape (m, n_dims) or (n_players, m, n_dims)
        The types.
    probabilities : ndarray of shape (m,) or (n_players, m)
        Their probabilities.

    Raises
    ------
    ValueError
        Not finite, shapes that do not fit, negative probabilities, or a sum other than 1.

    See Also
    --------
    JointPrior : Correlated players.

    Notes
    -----
    **Privacy**: a prior states what an adversary knows; a guarantee holds for that adversary. It is public:
    do not read it from what the players hold.

    Examples
    --------
    >>> from skprivate.games import TypePrior
    >>> TypePrior([0.0, 1.0], [0.7, 0.3]).describe(10)
    '10 independent players, each of one of 2 types with probabilities 0.7, 0.3'
    """

    def __init__(self, types: ArrayLike, probabilities: ArrayLike) -> None:
        values = check_numbers(types, "types")
        self.types = values[:, None] if values.ndim == 1 else values
        self.probabilities = check_probabilities(probabilities)
        if self.types.ndim not in (2, 3):
            raise ValueError("types must have the shape (m,), (m, n_dims) or (n_players, m, n_dims).")
        sizes = {len(self.types)} if self.types.ndim == 3 else set()
        sizes |= {len(self.probabilities)} if self.probabilities.ndim == 2 else set()
        if self.probabilities.shape[-1] != self.types.shape[-2] or len(sizes) > 1:
            raise ValueError("types and probabilities must agree in the number of types and of players.")
        self._n_players = sizes.pop() if sizes else None

    def check(self, mechanism: BroadcastMechanism) -> None:
        """Raise a ValueError if the prior does not fit the mechanism."""
        check_n_players(self._n_players, mechanism.n_players)
        # A type of probability 0 may lie anywhere: comparisons with nan are false.
        values = np.where((self.probabilities > 0)[..., None], self.types, np.nan)
        check_support(values if values.ndim == 3 else values[None], mechanism)

    def describe(self, n_players: int) -> str:
        """Return the prior in words."""
        types = f"{self.types.shape[-2]} types with {_describe_probabilities(self.probabilities)}"
        return f"{n_players} independent players, each of one of {types}"


@public_module("skprivate.games")
class ContinuousPrior(Prior):
    """Independent and identically distributed players with independent coordinates.

    Parameters
    ----------
    distribution : frozen distribution of scipy.stats, or a sequence of them
        Continuous; of every coordinate, or one per coordinate. A guarantee is "exact" only for families of
        SciPy whose density is known to be positive between the ends of a bounded support (uniform, beta,
        truncnorm, triang, ...); for others, histograms and own subclasses of rv_continuous, gaps count as
        possible and the same number is an "upper_bound".

    Attributes
    ----------
    distributions : tuple of frozen distributions
        One for all coordinates, or one per coordinate.

    Raises
    ------
    TypeError, ValueError
        Not a frozen continuous distribution, one with arrays as parameters, or with parameters outside of its
        range.

    See Also
    --------
    SampledPrior : Distributions of which only a sampler is known.

    Notes
    -----
    **Privacy**: a prior states what an adversary knows; a guarantee holds for that adversary. An unbounded
    support gives no finite guarantee unless clipping or the constraint set limits the broadcasts.

    Examples
    --------
    >>> from scipy import stats
    >>> from skprivate.games import ContinuousPrior
    >>> ContinuousPrior(stats.uniform(-1, 2)).describe(10)
    '10 independent players, each uniform on [-1, 1]'
    """

    def __init__(self, distribution: Any) -> None:
        several = isinstance(distribution, Sequence)
        self.distributions: tuple[Any, ...] = tuple(distribution) if several else (distribution,)
        if not self.distributions or not all(map(is_frozen, self.distributions)):
            raise TypeError("distribution must be a frozen continuous distribution of scipy.stats, or some.")
        ends = [end for item in self.distributions for end in item.support()]
        if any(map(np.ndim, ends)):
            raise TypeError(
                "distribution must have numbers as parameters, no arrays: give one for each coordinate."
            )
        if np.isnan(ends).any():
            raise ValueError("distribution has parameters outside of its range: nothing is distributed so.")

    def per_dimension(self, n_dims: int) -> tuple[Any, ...]:
        """Return one distribution per coordinate."""
        return self.distributions * n_dims if len(self.distributions) == 1 else self.distributions

    def support(self, n_dims: int) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the supports, each of shape (n_dims,)."""
        ends = np.array([item.support() for item in self.per_dimension(n_dims)], dtype=np.float64)
        return ends[:, 0], ends[:, 1]

    def check(self, mechanism: BroadcastMechanism) -> None:
        """Raise a ValueError if the prior does not fit the mechanism."""
        if len(self.distributions) not in (1, mechanism.n_dims):
            raise ValueError(
                f"the prior has {len(self.distributions)} coordinates, the game {mechanism.n_dims}."
            )
        check_support(np.stack(self.support(mechanism.n_dims))[None], mechanism)

    def describe(self, n_players: int) -> str:
        """Return the prior in words."""
        words = " and ".join(dict.fromkeys(map(_describe_distribution, self.distributions)))
        return f"{n_players} independent players, each {words}"


@public_module("skprivate.games")
class JointPrior(Prior):
    """Finitely many profiles of all players, with any correlation.

    Parameters
    ----------
    profiles : array-like of shape (m, n_players) or (m, n_players, n_dims)
        Private vectors of all players; for one dimension (m, n_players).
    probabilities : array-like of shape (m,)
        At least 0, with sum 1; profiles of probability 0 are dropped.

    Attributes
    ----------
    profiles : ndarray of shape (m, n_players, n_dims)
        The profiles of positive probability.
    probabilities : ndarray of shape (m,)
        Their probabilities.

    Raises
    ------
    ValueError
        Not finite, shapes that do not fit, negative probabilities, or a sum other than 1.

    See Also
    --------
    TwoTypePrior : A correlated prior for any number of players.

    Notes
    -----
    **Privacy**: what is known of one player through others counts as its leakage in the individual view.

    Examples
    --------
    >>> from skprivate.games import JointPrior
    >>> JointPrior([[0.0, 0.0], [1.0, 1.0]], [0.5, 0.5]).describe(2)
    'one of 2 joint profiles of 2 players with probabilities 0.5, 0.5'
    """

    def __init__(self, profiles: ArrayLike, probabilities: ArrayLike) -> None:
        values, weights = check_numbers(profiles, "profiles"), check_probabilities(probabilities)
        values = values[:, :, None] if values.ndim == 2 else values
        if values.ndim != 3 or weights.shape != (len(values),):
            raise ValueError(
                "profiles must have the shape (m, n_players) or (m, n_players, n_dims), probabilities (m,)."
            )
        self.profiles, self.probabilities = values[weights > 0], weights[weights > 0]

    def check(self, mechanism: BroadcastMechanism) -> None:
        """Raise a ValueError if the prior does not fit the mechanism."""
        check_n_players(self.profiles.shape[1], mechanism.n_players)
        check_support(self.profiles.swapaxes(0, 1), mechanism)

    def describe(self, n_players: int) -> str:
        """Return the prior in words."""
        listed = _describe_probabilities(self.probabilities)
        return f"one of {len(self.probabilities)} joint profiles of {n_players} players with {listed}"


@public_module("skprivate.games")
class TwoTypePrior(Prior):
    """Two types: all players have the type of the first one, or any other profile, each equally likely.

    The first player is of type 0 with probability `alpha`. Given its type, all others are of the same with
    probability `beta`, and every other profile of the others is equally likely.

    Parameters
    ----------
    types : array-like of shape (2,) or (2, n_dims)
        The two private vectors.
    alpha, beta : float
        In (0, 1) and in [0, 1].

    Attributes
    ----------
    types : ndarray of shape (2, n_dims)
        The types.
    alpha, beta : float
        The probabilities.

    Raises
    ------
    ValueError
        A shape or a probability out of range.

    See Also
    --------
    JointPrior : Any correlation, profile by profile.

    Notes
    -----
    **Privacy**: with many players and a fixed `beta` everyone's broadcasts depend on the first player's
    type: its leakage tends to ``log(1 / min(alpha, 1 - alpha))`` however small that of each broadcast is.

    References
    ----------
    Cheng, Chen, Oechtering and Skoglund, Privacy guarantee for Nash equilibrium computation of aggregative
    games based on pointwise maximal leakage: eq. (8).

    Examples
    --------
    >>> from skprivate.games import TwoTypePrior
    >>> print(TwoTypePrior([0.0, 1.0], alpha=0.3, beta=0.6).describe(5))
    5 players of two types: the first of type 0 with probability 0.3, all others like it with probability 0.6
    """

    def __init__(self, types: ArrayLike, alpha: float, beta: float) -> None:
        values = check_numbers(types, "types")
        self.types = values[:, None] if values.ndim == 1 else values
        if self.types.ndim != 2 or len(self.types) != 2:
            raise ValueError("types must have the shape (2,) or (2, n_dims).")
        if not 0 < alpha < 1 or not 0 <= beta <= 1:
            raise ValueError("alpha must be in (0, 1), and beta in [0, 1].")
        self.alpha, self.beta = float(alpha), float(beta)

    def check(self, mechanism: BroadcastMechanism) -> None:
        """Raise a ValueError if the prior does not fit the mechanism."""
        if mechanism.n_players < 2:
            raise ValueError("a prior of players that follow the first needs at least 2 players.")
        check_support(self.types[None], mechanism)

    def describe(self, n_players: int) -> str:
        """Return the prior in words."""
        return (
            f"{n_players} players of two types: the first of type 0 with probability {self.alpha:.6g}, "
            f"all others like it with probability {self.beta:.6g}"
        )


@public_module("skprivate.games")
class SampledPrior(Prior):
    """Independent and identically distributed players of whose distribution only a sampler is known.

    Parameters
    ----------
    draw : callable
        ``draw(n_samples, rng)`` returns independent private vectors, of shape (n_samples,) or
        (n_samples, n_dims); `rng` is a ``numpy.random.Generator``.
    bounds : tuple of two array-likes
        Lower and upper ends of the support, scalars or of shape (n_dims,), finite.
    n_samples : int, default=20000
        At least 2.
    confidence : float, default=0.999999
        Probability, in (0, 1), over the samples with which the guarantee is right.
    log_concave : bool, default=False
        Declares that the distribution has a log-concave density on a box; the worst private vector is then
        sought at the corners of the bounds alone.
    random_state : int or None, default=None
        Seed of the samples.

    Raises
    ------
    TypeError, ValueError
        `draw` is not callable, or a number is out of range.

    See Also
    --------
    ContinuousPrior : Known distributions, without sampling error.

    Notes
    -----
    **Privacy**: what comes of it is an estimate with a confidence, no proof. Asking again with other samples
    until the number pleases voids the confidence.

    Examples
    --------
    >>> from skprivate.games import SampledPrior
    >>> prior = SampledPrior(lambda n, rng: rng.triangular(-1, 0, 1, size=n), bounds=(-1, 1))
    >>> prior.describe(10)
    '10 independent players, each as sampled on [-1, 1]'
    """

    def __init__(
        self,
        draw: Sampler,
        bounds: Any,
        *,
        n_samples: int = 20_000,
        confidence: float = 0.999999,
        log_concave: bool = False,
        random_state: int | None = None,
    ) -> None:
        if not callable(draw):
            raise TypeError("draw must be callable as draw(n_samples, rng).")
        if not 0 < confidence < 1:
            raise ValueError("confidence must be in (0, 1).")
        size = max(np.size(side) for side in bounds)
        self.lower, self.upper = check_bounds(bounds, size)
        self.draw, self.log_concave, self.random_state = draw, bool(log_concave), random_state
        self.n_samples, self.confidence = check_int(n_samples, "n_samples", least=2), float(confidence)

    def box(self, n_dims: int) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the support, each of shape (n_dims,)."""
        return np.broadcast_to(self.lower, n_dims), np.broadcast_to(self.upper, n_dims)

    def sample(self, n_dims: int) -> FloatArray:
        """Return new samples of shape (n_samples, n_dims); a ValueError if they leave the bounds."""
        values = check_numbers(self.draw(self.n_samples, np.random.default_rng(self.random_state)), "draw")
        values = values[:, None] if values.ndim == 1 else values
        if values.shape != (self.n_samples, n_dims):
            raise ValueError(f"draw must return {self.n_samples} vectors of {n_dims} coordinates.")
        lower, upper = self.box(n_dims)
        if (values < lower).any() or (values > upper).any():
            raise ValueError("draw returned values outside the bounds of the prior.")
        return values

    def check(self, mechanism: BroadcastMechanism) -> None:
        """Raise a ValueError if the prior does not fit the mechanism."""
        if len(self.lower) not in (1, mechanism.n_dims):
            raise ValueError(f"the prior has {len(self.lower)} coordinates, the game {mechanism.n_dims}.")
        check_support(np.stack(self.box(mechanism.n_dims))[None], mechanism)

    def describe(self, n_players: int) -> str:
        """Return the prior in words."""
        boxes = dict.fromkeys(
            f"[{low:.6g}, {high:.6g}]" for low, high in zip(self.lower, self.upper, strict=True)
        )
        return f"{n_players} independent players, each as sampled on {' x '.join(boxes)}"


def as_prior(prior: Any) -> Prior:
    """Return a prior of this module; a frozen distribution of scipy.stats is wrapped."""
    if isinstance(prior, Prior):
        return prior
    if is_frozen(prior):
        return ContinuousPrior(prior)
    raise TypeError(
        "prior must be a TypePrior, ContinuousPrior, JointPrior, TwoTypePrior or SampledPrior, or a frozen "
        f"continuous distribution of scipy.stats, not {type(prior).__name__}."
    )


def is_uniform(distribution: Any) -> bool:
    """Return whether a frozen distribution is SciPy's uniform one: anyone may give that name to another."""
    return _is_of_scipy(distribution, "uniform")


def is_interval(distribution: Any) -> bool:
    """Return whether the density is known to be positive between the ends of the support.

    So it is, but for single points, in the families of SciPy that are listed. Any other distribution, a
    subclass of one of them included, may have gaps or name ends that nothing comes near.
    """
    return any(_is_of_scipy(distribution, name) for name in _INTERVALS)


def _is_of_scipy(distribution: Any, name: str) -> bool:
    """Return whether this is SciPy's own distribution of that name, with the ends that SciPy gave it."""
    known: Any = getattr(stats, name, None)  # older versions of SciPy lack some
    found = distribution.dist
    return type(found) is type(known) and (found.a, found.b) == (known.a, known.b)


def is_frozen(distribution: Any) -> bool:
    """Return whether this is a frozen continuous distribution of scipy.stats."""
    known = all(callable(getattr(distribution, name, None)) for name in _FROZEN_METHODS)
    return known and hasattr(distribution, "dist") and not hasattr(distribution.dist, "pmf")


def _describe_probabilities(probabilities: FloatArray) -> str:
    if probabilities.ndim == 2 or len(probabilities) > _SHOWN:
        return f"probabilities of at least {probabilities[probabilities > 0].min():.6g}"
    return "probabilities " + ", ".join(f"{p:.6g}" for p in probabilities)


def _describe_distribution(distribution: Any) -> str:
    low, high = distribution.support()
    ends = f"[{low:.6g}, {high:.6g}]" if np.isfinite([low, high]).all() else "an unbounded set"
    name = getattr(distribution.dist, "name", None) or "distributed"
    if is_uniform(distribution):
        return f"uniform on {ends}"
    numbers = [f"{value:.6g}" for value in distribution.args if np.ndim(value) == 0]
    numbers += [f"{key}={value:.6g}" for key, value in distribution.kwds.items() if np.ndim(value) == 0]
    return f"{name}({', '.join(numbers)}) on {ends}"


# Checks of priors: their numbers, and whether they fit a run.

# Of sums of probabilities, and of a support's ends beside the declared bounds.
_ROUNDING = 1e-9


def check_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Return finite numbers, at least one, as floats."""
    array = as_numbers(values, name).astype(np.float64)
    if array.ndim == 0 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers, at least one.")
    return array


def check_probabilities(values: ArrayLike) -> FloatArray:
    """Return probabilities that sum to 1 along the last axis.

    Sums that are off by rounding are brought there: one of 1 + 1e-10 would take 1e-10 from every leakage.
    """
    array = check_numbers(values, "probabilities")
    if array.ndim > 2 or (array < 0).any() or (np.abs(array.sum(axis=-1) - 1) > _ROUNDING).any():
        raise ValueError("probabilities must be at least 0 and have sums of 1.")
    return array / array.sum(axis=-1, keepdims=True)


def check_n_players(own: int | None, n_players: int) -> None:
    """Check the number of players that a prior names."""
    if own is not None and own != n_players:
        raise ValueError(f"the prior is about {own} players, the game has {n_players}.")


def check_support(values: FloatArray, mechanism: BroadcastMechanism) -> None:
    """Check private vectors of shape (1 or n_players, m, n_dims): their dimensions and the bounds."""
    if mechanism.private != {"r"}:
        return
    if values.shape[-1] != mechanism.n_dims:
        raise ValueError(f"the prior has {values.shape[-1]} coordinates, the game {mechanism.n_dims}.")
    if mechanism.private_bounds is None:
        # Finite private vectors must be in the range for which rounding is bounded.
        sizes = np.abs(values[np.isfinite(values)])
        if mechanism.limit and sizes.max(initial=0.0) > mechanism.limit:
            raise ValueError(
                f"the prior's support reaches beyond {mechanism.limit:.3g}, for which the run was not made: "
                "declare the game's bounds of the private vectors (r_bounds), or use other units."
            )
        return
    lower, upper = (side[:, None] for side in mechanism.private_bounds)
    slack = _ROUNDING * (1 + np.maximum(np.abs(lower), np.abs(upper)))
    if ((values < lower - slack) | (values > upper + slack)).any():
        raise ValueError(
            "the prior's support leaves the bounds of the private vectors that the game declares "
            "(private_bounds, of the constants r): they are clipped there, so that this is not their "
            "distribution."
        )
