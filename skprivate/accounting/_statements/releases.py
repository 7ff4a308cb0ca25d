# SPDX-License-Identifier: BSD-3-Clause
"""The releases of one run: what each may reveal, and how they compose to the run's total."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import Any, Self, cast

from ...noise import DiscreteGaussianMechanism
from ...utils import check_positive
from ...utils._public_module import public_module
from .._amounts import ReadableAmounts
from .._checks import check_text
from .plain_values import decode_amount, decode_scale, encode_amount
from .text import AMOUNTS_OF_RELEASE, GAUSSIAN, describe_release

LAPLACE = "discrete Laplace"
_NOT_USED, _NONE = "not used", "none"


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True, repr=False)
class ReleaseRecord(ReadableAmounts):
    """One release of a run: a mechanism, its noise, and its share of the run's budget.

    Parameters
    ----------
    name : str
        What is released, such as "counts of the leaves".
    mechanism : str
        "discrete Laplace", "discrete Gaussian", or the name of another mechanism.
    sensitivity : int, Fraction or None, default=None
        Above 0, in units of the integer grid: in L1; of "discrete Gaussian", the squared L2 sensitivity.
    noise_scale : int, Fraction or None, default=None
        Above 0: scale of the Laplace noise, or sigma of the Gaussian noise. Where entries have weights, it
        and `sensitivity` are those of an entry of weight 1.
    epsilon, rho : Fraction or None, default=None
        Share of the run's epsilon, or of its rho: exactly one of them, above 0.
    times : int or Fraction, default=1
        How many times the share counts, at least 1: the number of such releases in a row, or what a private
        selection of the best of several runs costs, in runs.
    draws : int, default=1
        Calls of mechanisms by which one such release is drawn; 0 for a share that is not used, which has the
        mechanism "none" and states no noise.
    rows : str or None, default=None
        Rows that it is about, where releases are about disjoint rows; None: all rows. No private value may
        decide which rows these are, or a replaced row could be in both.

    Raises
    ------
    TypeError, ValueError
        If a field is of another type or out of its range, or the noise is too small for the share.

    See Also
    --------
    PrivacySpent : Its `releases` compose to its total.

    Notes
    -----
    **Privacy**: a record states what its author claims. Discrete Laplace noise of scale b on integers of L1
    sensitivity s costs s / b of epsilon, or (s / b)^2 / 2 of rho; discrete Gaussian noise costs
    squared sensitivity / (2 sigma^2) of rho. A record that asks less than that is refused.

    Examples
    --------
    >>> from skprivate.accounting import ReleaseRecord
    >>> from skprivate.noise import DiscreteLaplaceMechanism
    >>> print(ReleaseRecord.of("counts of the leaves", DiscreteLaplaceMechanism(0.5, sensitivity=2)))
    counts of the leaves: discrete Laplace, L1 sensitivity 2, noise scale 4; epsilon 0.5
    """

    name: str
    mechanism: str
    sensitivity: int | Fraction | None = None
    noise_scale: int | Fraction | None = None
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    times: int | Fraction = 1
    draws: int = 1
    rows: str | None = None

    def __post_init__(self) -> None:
        for name in ("name", "mechanism", "rows"):
            if name != "rows" or self.rows is not None:
                check_text(getattr(self, name), name)
        for name in ("sensitivity", "noise_scale", "epsilon", "rho", "times"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_positive(getattr(self, name), name))
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError("A release has a share of epsilon or of rho, and not of both.")
        if self.mechanism == GAUSSIAN and self.rho is None:
            raise ValueError("The share of Gaussian noise is one of rho.")
        self._check_counts()
        if self._least_share() > self.share:
            raise ValueError(f"The noise of the release {self.name!r} is too small for its share.")

    def _check_counts(self) -> None:
        if self.times < 1:
            raise ValueError("times must be at least 1: a release costs its whole share.")
        if type(self.draws) is not int or self.draws < 0:
            raise ValueError("draws must be an int of at least 0.")
        if not self.draws and (self.mechanism, self.sensitivity, self.noise_scale) != (_NONE, None, None):
            raise ValueError("A share of which nothing is drawn has the mechanism 'none', and no noise.")

    def _least_share(self) -> Fraction:
        """Return what the noise costs; 0 where it is not stated."""
        if self.sensitivity is None or self.noise_scale is None:
            return Fraction(0)
        if self.mechanism == GAUSSIAN:
            return Fraction(self.sensitivity) / (2 * Fraction(self.noise_scale) ** 2)
        loss = Fraction(self.sensitivity) / self.noise_scale
        return loss if self.rho is None else loss**2 / 2

    @classmethod
    def of(cls, name: str, mechanism: Any, share: Fraction | None = None, **more: Any) -> Self:
        """Return the record of one release by a mechanism.

        Parameters
        ----------
        name : str
            What is released.
        mechanism : DiscreteLaplaceMechanism, DiscreteGaussianMechanism or LocalRandomizer
        share : Fraction or None, default=None
            Of epsilon; of a Gaussian mechanism, of rho. None: what the mechanism costs.
        **more
            Other fields.

        Returns
        -------
        record : ReleaseRecord
        """
        if isinstance(mechanism, DiscreteGaussianMechanism):
            known: dict[str, Any] = {"mechanism": GAUSSIAN, "rho": share or mechanism.rho}
            known |= {"sensitivity": mechanism.squared_sensitivity, "noise_scale": mechanism.sigma}
            return cls(**{"name": name, **known, **more})
        scale = getattr(mechanism, "scale", None) or getattr(mechanism, "noise_scale", None)
        known = {"mechanism": mechanism.describe() if scale is None else LAPLACE, "noise_scale": scale}
        known |= {"sensitivity": mechanism.sensitivity, "epsilon": share or mechanism.epsilon}
        return cls(**{"name": name, **known, **more})

    @property
    def share(self) -> Fraction:
        """Share of epsilon, or of rho."""
        return cast(Fraction, self.epsilon if self.rho is None else self.rho)

    @property
    def total(self) -> Fraction:
        """The share, as many times as it counts."""
        return self.share * self.times

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values that `json` writes."""
        amounts = {name: encode_amount(getattr(self, name)) for name in AMOUNTS_OF_RELEASE}
        plain = {name: getattr(self, name) for name in ("name", "mechanism", "draws", "rows")}
        return {**plain, **amounts}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Read `to_dict` back."""
        amounts = {name: decode_scale(record[name]) for name in ("sensitivity", "noise_scale", "times")}
        shares = {name: decode_amount(record[name]) for name in ("epsilon", "rho")}
        return cls(**{**record, **amounts, **shares})

    def __str__(self) -> str:
        return describe_release(self.to_dict())


def composed(releases: Iterable[ReleaseRecord]) -> Fraction:
    """Return what releases cost together: their sum, of those about disjoint rows the largest.

    Notes
    -----
    **Privacy.** Pure differential privacy and zCDP add up over releases that are chosen by earlier ones, as
    long as the total is fixed. A unit is in one of several disjoint sets of rows, whatever its values are, so
    that the releases about the others are the same for its neighbours.
    """
    parts: dict[str | None, Fraction] = {None: Fraction(0)}
    for one in releases:
        parts[one.rows] = parts.get(one.rows, Fraction(0)) + one.total
    return parts.pop(None) + max(parts.values(), default=Fraction(0))


def in_a_row(releases: Iterable[ReleaseRecord]) -> list[ReleaseRecord]:
    """Return the releases in order, equal ones that follow each other as one."""
    return [replace(one, times=one.times * len(list(equal))) for one, equal in groupby(releases)]


def not_used(share: Fraction, of_rho: bool) -> ReleaseRecord:
    """Return the record of a share that no release has used."""
    unit = "rho" if of_rho else "epsilon"
    return ReleaseRecord(name=_NOT_USED, mechanism=_NONE, draws=0, **{unit: share})  # type: ignore[arg-type]
