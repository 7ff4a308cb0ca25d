# SPDX-License-Identifier: BSD-3-Clause
"""The largest exact privacy loss of an estimator over the neighbours of a search."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from ..utils._public_module import public_module
from ._cases.case import AuditCase
from ._search.privacy_loss import claimed_loss, claims_rho
from ._search.search import SearchResult, search_neighbours


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class SensitivityFuzz:
    """Largest privacy loss that was found among pairs of neighbours; made by `sensitivity_fuzz`.

    Attributes
    ----------
    loss : Fraction
        Largest sum of ``abs(difference) / t``; where rho is claimed, largest rho.
    claimed : Fraction
        Epsilon, or rho, of ``privacy_spent_``.
    data_sets : tuple of two data sets
        The pair: arguments of ``fit``.
    found_in : str
        The data sets that were tried: a chain of neighbours, or those of the case.
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
    >>> fuzz = SensitivityFuzz(
    ...     loss=Fraction(2),
    ...     claimed=Fraction(1),
    ...     data_sets=({}, {}),
    ...     found_in="ties",
    ...     n_pairs=3,
    ...     n_integers=8,
    ... )
    >>> print(fuzz)
    epsilon of 3 pairs of neighbours reaches 2, claimed 1: REFUTED (ties)
    """

    loss: Fraction
    claimed: Fraction
    data_sets: tuple[Any, Any] = field(repr=False)
    found_in: str
    n_pairs: int
    n_integers: int
    measure: Literal["epsilon", "rho"] = "epsilon"
    same_form: bool = True

    @property
    def passed(self) -> bool:
        """Whether no pair loses more than is claimed."""
        return self.same_form and self.loss <= self.claimed

    def __str__(self) -> str:
        if not self.same_form:
            return f"two neighbours release different things: REFUTED ({self.found_in})"
        text = f"{self.measure} of {self.n_pairs} pairs of neighbours reaches {float(self.loss):.4g}"
        text += f", claimed {float(self.claimed):.4g}"
        return text if self.passed else f"{text}: REFUTED ({self.found_in})"


class NothingRecordedError(ValueError):
    """No noise of a fit came from skprivate's mechanisms."""


def sensitivity_fuzz(estimator: Any, data: Mapping[str, Any] | None = None) -> SensitivityFuzz:
    """Compare the exact privacy loss of the worst neighbours that are found with what the estimator claims.

    Every fit runs with a recorder in the place where noise is added (`record_releases`): it takes down the
    integers f before the noise and the scale t of the noise. Whatever is drawn, a pair of data sets loses at
    most sum ``abs(f - f') / t`` (Laplace), or rho = sum ``(f - f')**2 / (2 t**2)`` (Gaussian); of local
    reports, epsilon for each that may differ. Later releases of a fit may depend on earlier ones: all fits
    are handed the outputs of the first. The user guide (How do I check a claim?) says which neighbours
    are tried.

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
    **Privacy**: give it data made for the purpose, since the recorder sees exact values. It proves nothing
    about data sets that were not tried, nor about what leaves beside the mechanisms
    (`check_private_estimator` looks for that). Of a choice by noisy scores, such as
    that of a tree's splits, the loss is the bound by how far the scores move.

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.audit import sensitivity_fuzz
    >>> tree = DPTreeClassifier(max_depth=2, bounds=(0, 1), classes=[0, 1], split_share=0)
    >>> fuzz = sensitivity_fuzz(tree)
    >>> fuzz.passed, fuzz.loss
    (True, Fraction(1, 1))
    """
    case = estimator if isinstance(estimator, AuditCase) else AuditCase.of(estimator, data)
    found = search_neighbours(case)
    if found.drawn_in_other_threads:
        raise NothingRecordedError(
            "noise was drawn in other threads, where it is not recorded: fit with n_jobs=1."
        )
    if found.noise_is_added_elsewhere:
        raise NothingRecordedError(
            "the mechanisms are handed nothing that depends on rows: hand them the exact values, not zeros, "
            "so that it can be recorded what meets the noise."
        )
    if found.pair is None and not found.differing_releases:
        raise NothingRecordedError(
            f"no noise of {type(case.estimator).__name__} came from skprivate.noise or "
            "skprivate.randomizers, or it keeps the best of several draws, so there is nothing to record; "
            "audit its releases with audit_epsilon."
        )
    return _fuzz_of(found, case.fit(0).privacy_spent_)


def _fuzz_of(found: SearchResult, spent: Any) -> SensitivityFuzz:
    pair = found.pair
    return SensitivityFuzz(
        loss=max(found.loss, Fraction(0)),
        claimed=claimed_loss(spent),
        data_sets=(None, None) if pair is None else (pair[0].data, pair[1].data),
        found_in=found.differing_releases or found.found_in,
        n_pairs=found.n_pairs,
        n_integers=0 if pair is None else sum(one.exact.size for one in pair[0].recording.releases),
        measure="rho" if claims_rho(spent) else "epsilon",
        same_form=not found.differing_releases,
    )
