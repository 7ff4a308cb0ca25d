# SPDX-License-Identifier: BSD-3-Clause
"""External counts of leaf and label: their noise, their privacy, and their release for a tree."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray
from ..accounting import PrivacySpent, ReleaseRecord
from ..noise import zcdp_to_epsilon
from ..randomizers import LocalRandomizer
from ..tree._release import TreeDesign
from ..utils import check_epsilon, check_int, check_positive, check_probability

# Doubles hold all integers up to this one.
_LARGEST = 2**53
_MECHANISMS = {
    "laplace": "Laplace noise",
    "discrete-laplace": "discrete Laplace noise",
    "gaussian": "Gaussian noise",
}
_RELATIONS = ("replace-one", "add-remove")
# Relative difference up to which numbers agree: a variance may be printed with seven digits.
_SAME = 1e-6
# More than the rounding errors of a few operations on doubles.
_ROUND_UP = 1 + Fraction(1, 2**40)


@dataclass(frozen=True)
class ExternalNoise:
    """Noise that a service added to every count, and its privacy guarantee.

    Attributes
    ----------
    mechanism, relation : str
    epsilon, delta : Fraction
    rho : Fraction or None
        Only for Gaussian noise.
    scale : Fraction
        Scale of Laplace noise, standard deviation of Gaussian noise.
    variance : float
    max_rows_per_unit : int or None
        None: the unit is the row.
    """

    mechanism: str
    relation: str
    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None
    scale: Fraction
    variance: float
    max_rows_per_unit: int | None

    @classmethod
    def of(
        cls,
        mechanism: str,
        epsilon: Any = None,
        noise_variance: Any = None,
        delta: Any = 0,
        relation: str = "replace-one",
        max_rows_per_unit: int | None = None,
    ) -> "ExternalNoise":
        """Derive missing parameters, and refuse contradictory ones.

        Notes
        -----
        A row is counted in one cell. Replacing the m rows of a unit takes at most m from cells and adds m.
        This is 2 m in L1, and 2 m^2 in squared L2 if all rows move from one cell to another. Adding or
        removing the rows changes the counts by at most m, and m^2. Laplace noise of scale b is then (L1 /
        b)-DP, on the integers and on reals. Its variance is 2 b^2, and on the integers 1 / (cosh(1 / b) - 1).
        Gaussian noise of variance v is L2^2 / (2 v)-zCDP, from which epsilon follows by `zcdp_to_epsilon`.
        """
        choices = (("mechanism", mechanism, tuple(_MECHANISMS)), ("relation", relation, _RELATIONS))
        for name, value, known in choices:
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}.")
        rows = 1 if max_rows_per_unit is None else check_int(max_rows_per_unit, "max_rows_per_unit", least=1)
        moved = 2 if relation == "replace-one" else 1
        variance = None if noise_variance is None else check_positive(noise_variance, "noise_variance")
        epsilon = None if epsilon is None else check_epsilon(epsilon)
        exact_delta = check_probability(delta, "delta")
        if mechanism == "gaussian":
            found = _gaussian(moved * rows**2, epsilon, variance, exact_delta)
        else:
            found = _laplace(moved * rows, epsilon, variance, exact_delta, mechanism == "discrete-laplace")
        return cls(mechanism, relation, *found, max_rows_per_unit)

    @property
    def sensitivity(self) -> int:
        """Largest change of all counts together, in L1."""
        return (2 if self.relation == "replace-one" else 1) * (self.max_rows_per_unit or 1)


#: Epsilon, delta, rho, scale and variance.
_Found = tuple[Fraction, Fraction, Fraction | None, Fraction, float]


def _laplace(
    l1: int, epsilon: Fraction | None, variance: Fraction | None, delta: Fraction, discrete: bool
) -> _Found:
    if delta:
        raise ValueError("delta must be 0: Laplace noise needs none.")
    if epsilon is None:
        if variance is None:
            raise TypeError("epsilon or noise_variance must be given: each follows from the other.")
        try:
            # This form is accurate for a large variance.
            half = math.sqrt(1 / (2 * float(variance)))
            exact = Fraction(2 * (math.asinh(half) if discrete else half))
        except (OverflowError, ZeroDivisionError):
            raise ValueError("noise_variance is too small to be noise in doubles.") from None
        return l1 * exact * _ROUND_UP, delta, None, 1 / exact, float(variance)
    rate = float(epsilon / l1)
    try:
        # This form is accurate for a small rate.
        derived = 1 / (2 * math.sinh(rate / 2) ** 2) if discrete else 2 / rate**2
    except (OverflowError, ZeroDivisionError):
        derived = 0.0
    if not 0 < derived < math.inf:
        raise ValueError("epsilon is beyond what counts can bear: the noise has no variance in doubles.")
    if variance is not None and not math.isclose(derived, float(variance), rel_tol=_SAME):
        raise ValueError(
            f"epsilon and noise_variance contradict each other: for one unit, which moves {l1} in all, they "
            f"belong to other noise; epsilon={float(epsilon):g} has the variance {derived:.7g}. Pass one."
        )
    return epsilon, delta, None, l1 / epsilon, derived


def _gaussian(squared: int, epsilon: Fraction | None, variance: Fraction | None, delta: Fraction) -> _Found:
    if variance is None or not delta:
        raise TypeError("noise_variance and delta must be given with Gaussian noise: epsilon follows.")
    rho = squared / (2 * variance)
    derived = zcdp_to_epsilon(rho, delta)
    if epsilon is not None and not math.isclose(derived, epsilon, rel_tol=_SAME):
        raise ValueError(
            "epsilon contradicts noise_variance and delta: for one unit, which moves the square root of "
            f"{squared} in all, it is {float(derived):.7g} by zCDP. Leave it out."
        )
    return derived, delta, rho, Fraction(math.sqrt(variance)), float(variance)


class ExternalMechanism:
    """Mechanism of a service that counts rows by leaf and label and adds noise, as a `ReleaseMechanism`.

    Parameters
    ----------
    randomizer : LocalRandomizer
        Randomizer of the specification for which the rows were counted; it has the same shape.
    noise : ExternalNoise
    """

    name = "external"

    def __init__(self, randomizer: LocalRandomizer, noise: ExternalNoise) -> None:
        self.n_cells, self.n_labels = randomizer.n_cells, randomizer.n_labels
        self.noise = noise
        self.relation, self.epsilon = noise.relation, noise.epsilon
        self.sensitivity, self.noise_scale = noise.sensitivity, noise.scale

    def describe(self) -> str:
        """Return the declared mechanism."""
        return (
            f"{_MECHANISMS[self.noise.mechanism]} on the counts of leaf and label, as their source declares"
        )

    def check(self, counts: ArrayLike) -> "ExternalCounts":
        """Return the checked counts; ValueError for invalid ones."""
        array = np.asarray(counts)
        if array.dtype.kind not in "iuf" or array.shape != (self.n_cells, self.n_labels):
            raise ValueError(
                f"counts must be numbers of shape ({self.n_cells}, {self.n_labels}), leaf x label, got "
                f"{array.dtype} of shape {array.shape}."
            )
        total = float(array.sum(dtype=np.float64))
        # Also False for NaN. Unsigned integers beyond int64 would become negative.
        if not np.abs(array.astype(np.float64)).max() <= _LARGEST or round(total) < 1:
            raise ValueError("counts must be finite, at most 2^53 in magnitude, with a sum of at least 1.")
        if self.noise.mechanism == "discrete-laplace" and not (array == np.floor(array)).all():
            raise ValueError("counts must be whole numbers where the noise is discrete.")
        exact = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
        return ExternalCounts(self, exact, round(total))

    def simulate(self, categories: ArrayLike, random_state: Any = None) -> NoReturn:
        """Raise TypeError: the service draws its noise."""
        raise TypeError("external counts are not drawn here.")

    def estimate(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return signed sums for two labels, otherwise the counts, which are unbiased."""
        array = np.asarray(counts, dtype=np.float64)
        return array[:, 1] - array[:, 0] if self.n_labels == 2 else array

    def estimate_cells(self, counts: ArrayLike, n: int) -> FloatArray:
        """Return unbiased estimates of the rows in the leaves."""
        return np.asarray(counts, dtype=np.float64).sum(axis=1)

    def variance(self, n: int, cell_counts: ArrayLike | None = None) -> FloatArray:
        """Return the variance of the difference of two labels' counts, for any rows."""
        return np.full(self.n_cells, 2 * self.noise.variance)


@dataclass(frozen=True, eq=False)
class ExternalCounts:
    """Checked counts of a service.

    Attributes
    ----------
    mechanism : ExternalMechanism
    values : ndarray of int64 or float64 of shape (n_leaves, n_labels)
    n_rows : int
        The sum of the counts, rounded.
    """

    mechanism: ExternalMechanism
    values: NDArray[Any]
    n_rows: int


def describe_external_spending(tree: Any, design: TreeDesign, counts: ExternalCounts) -> PrivacySpent:
    """Return the statement of an unfitted tree about counts that a service made private."""
    noise = counts.mechanism.noise
    spent: PrivacySpent = tree._describe_spending(
        design, counts.n_rows, False, [], source="os-entropy", deployment="collected"
    )
    # These facts hold for reports only: here the sum of noisy counts is released, but not the number of rows.
    other = (tree._rows_are_called, "features")
    facts = {name: value for name, value in spent.unprotected.items() if name not in other}
    if noise.relation == "replace-one":
        facts["number of private rows"] = "not covered by the relation"
    share: dict[str, Any] = {"epsilon": noise.epsilon} if noise.rho is None else {"rho": noise.rho}
    return replace(
        spent,
        releases=(ReleaseRecord(name="counts of the leaves", mechanism=spent.mechanism, **share),),
        delta=noise.delta,
        rho=noise.rho,
        unit="row" if noise.max_rows_per_unit is None else "group",
        max_rows_per_unit=noise.max_rows_per_unit or 1,
        unprotected=facts,
    )
