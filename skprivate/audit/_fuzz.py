# SPDX-License-Identifier: BSD-3-Clause
"""The exact privacy loss of one estimator over extreme neighbours, without statistics."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ._neighbours import AuditCase
from ._tape import Tape


@dataclass(frozen=True, kw_only=True)
class SensitivityFuzz:
    """Largest privacy loss that was found among pairs of neighbours; made by `sensitivity_fuzz`.

    Attributes
    ----------
    loss : Fraction
        Largest sum of ``abs(difference) / t``; where rho is claimed, largest rho.
    claimed : Fraction
        Epsilon, or rho, of ``privacy_spent_``.
    pair : tuple of two ints
        Which of the data sets it was.
    n_pairs : int
        Number of pairs looked at.
    n_integers : int
        Number of integers, or reports, that a fit releases.
    measure : {"epsilon", "rho"}
        What was compared.
    same_form : bool
        Whether every fit released the same number of integers with the same noise.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.audit import SensitivityFuzz
    >>> print(SensitivityFuzz(loss=Fraction(2), claimed=Fraction(1), pair=(0, 1), n_pairs=3, n_integers=8))
    epsilon of 3 pairs of neighbours reaches 2, claimed 1: REFUTED by the data sets 0 and 1
    """

    loss: Fraction
    claimed: Fraction
    pair: tuple[int, int]
    n_pairs: int
    n_integers: int
    measure: str = "epsilon"
    same_form: bool = True

    @property
    def passed(self) -> bool:
        """Whether no pair loses more than is claimed."""
        return self.same_form and self.loss <= self.claimed

    def __str__(self) -> str:
        if not self.same_form:
            first, second = self.pair
            return f"the data sets {first} and {second} release different things: REFUTED"
        text = f"{self.measure} of {self.n_pairs} pairs of neighbours reaches {float(self.loss):.4g}"
        text += f", claimed {float(self.claimed):.4g}"
        return text if self.passed else f"{text}: REFUTED by the data sets {self.pair[0]} and {self.pair[1]}"


class NothingRecordedError(ValueError):
    """No noise of a fit came from skprivate's mechanisms."""


def sensitivity_fuzz(estimator: Any, data: Mapping[str, Any] | None = None) -> SensitivityFuzz:
    """Compare the exact privacy loss of extreme neighbours with what the estimator claims.

    Every fit runs with a recorder in the place where noise is added: it takes down the integers f before the
    noise and its scale t. Whatever is drawn, a pair of data sets loses at most sum ``abs(f - f') / t``
    (Laplace), or rho = sum ``(f - f')**2 / (2 t**2)`` (Gaussian); of local reports, epsilon for each
    that may differ. Later releases of a fit may depend on earlier ones: all fits are handed the outputs of
    the first.

    Parameters
    ----------
    estimator : estimator or AuditCase
        It takes its noise from `skprivate.noise` or `skprivate.randomizers`, and has ``privacy_spent_``.
    data : mapping, default=None
        Arguments of ``fit``, from which neighbours are made; see `AuditCase.of`. None: random rows.

    Returns
    -------
    fuzz : SensitivityFuzz
        ``passed``: no pair loses more than is claimed.

    Raises
    ------
    NothingRecordedError
        No release passed through a mechanism that can be recorded (a ValueError).
    AttributeError
        The fitted estimator has no ``privacy_spent_``.

    See Also
    --------
    audit_epsilon : Needs no mechanism of ours, and thousands of fits.

    Notes
    -----
    **Privacy**: the recorder sees exact values: give it data made for the purpose. It exists while this
    function runs; a normal fit has no such place. It proves nothing about data sets that were not tried, nor
    about what leaves beside the mechanisms (`check_private_estimator` looks for that).

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.audit import sensitivity_fuzz
    >>> fuzz = sensitivity_fuzz(DPTreeClassifier(max_depth=2, bounds=(0, 1), classes=[0, 1]))
    >>> fuzz.passed, fuzz.loss
    (True, Fraction(1, 1))
    """
    case = estimator if isinstance(estimator, AuditCase) else AuditCase.of(estimator, data)
    if not case.tapes[0].releases:
        raise NothingRecordedError(
            f"no noise of {type(case.estimator).__name__} came from skprivate.noise or "
            "skprivate.randomizers, or it keeps the best of several draws, so there is nothing to record; "
            "audit its releases with audit_epsilon."
        )
    if any(tape.missed for tape in case.tapes):
        raise NothingRecordedError(
            "noise was drawn in other threads, where it is not recorded: fit with n_jobs=1."
        )
    return worst_pair(case, case.tapes, case.fit(0).privacy_spent_)


def worst_pair(case: AuditCase, tapes: list[Tape], spent: Any) -> SensitivityFuzz:
    """Return the largest loss among recorded fits."""
    by_rho = claims_rho(spent)
    found = functools.partial(
        SensitivityFuzz,
        claimed=Fraction(spent.rho if by_rho else spent.epsilon),
        n_pairs=len(case.neighbours),
        n_integers=sum(release.exact.size for release in tapes[0].releases),
        measure="rho" if by_rho else "epsilon",
    )
    worst, worst_at = Fraction(-1), case.neighbours[0]
    for pair in case.neighbours:
        try:
            loss = one_number(tapes[pair[0]].loss(tapes[pair[1]]), by_rho)
        except ValueError:
            return found(loss=Fraction(0), pair=pair, same_form=False)
        if loss > worst:
            worst, worst_at = loss, pair
    return found(loss=worst, pair=worst_at)


def claims_rho(spent: Any) -> bool:
    """Whether a statement claims zero-concentrated differential privacy; others' may not know of it."""
    return getattr(spent, "rho", None) is not None


def one_number(loss: tuple[Fraction, Fraction], by_rho: bool) -> Fraction | Any:
    """Return epsilon, or rho, of a pair; epsilon-DP is epsilon^2 / 2-zCDP, and rho has no epsilon."""
    epsilon, rho = loss
    if by_rho:
        return rho + epsilon**2 / 2
    return epsilon if not rho else float("inf")
