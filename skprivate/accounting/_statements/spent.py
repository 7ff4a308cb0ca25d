# SPDX-License-Identifier: BSD-3-Clause
"""Records of one fit's spending and claim, of its releases, of estimated bounds, and of a ledger's charge."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import groupby
from typing import Any, Self, cast, get_args

from numpy.typing import ArrayLike

from ..._typing import Claim, Deployment, NoiseSource, Relation, Unit
from ...noise import DiscreteGaussianMechanism
from ...utils import check_int, check_positive, check_probability
from ...utils._json_documents import Fields
from ...utils._public_module import public_module
from .._leakage import leakage_of_run
from .._privacy_amounts import ReadableAmounts, from_text, show, to_text
from . import fields as codec
from .guarantees import AuditRecord, PackageRecord, PrivacyGuarantee
from .html import Label, Labelled, label_of_spent
from .registry import RegistryEntry, registry_entry_of_spent
from .text import AMOUNTS_OF_RELEASE, GAUSSIAN, describe_release, describe_spent

LAPLACE = "discrete Laplace"
_NOTHING_DRAWN = "none"  # mechanism of a share that is not used


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True, repr=False)
class ReleaseRecord(ReadableAmounts):
    """One release of a run: a mechanism, its noise, and its share of the run's budget.

    Parameters
    ----------
    name : str
        Name of the released quantity, such as "counts of the leaves".
    mechanism : str
        "discrete Laplace", "discrete Gaussian", or the name of another mechanism.
    sensitivity : int, Fraction or None, default=None
        L1 sensitivity in units of the integer grid, above 0. For "discrete Gaussian": the squared L2
        sensitivity.
    noise_scale : int, Fraction or None, default=None
        Scale of the Laplace noise, or sigma of the Gaussian noise, above 0. If entries have weights, it and
        `sensitivity` are those of an entry of weight 1.
    epsilon, rho : Fraction or None, default=None
        Share of the run's epsilon or of its rho, above 0. Exactly one of them is given.
    times : int or Fraction, default=1
        How many times the share counts, at least 1. It is the number of such releases in sequence, or the
        cost of a private selection of the best of several runs, in runs.
    draws : int, default=1
        Calls of mechanisms for one such release. 0 for an unused share, which has the mechanism "none" and
        states no noise.
    rows : str or None, default=None
        Rows of the release, if releases are about disjoint rows. None: all rows. No private value may decide
        which rows these are. Otherwise a replaced row could be in both.

    Raises
    ------
    TypeError, ValueError
        A field has another type or is out of its range, or the noise is too small for the share.

    See Also
    --------
    PrivacySpent : Its `releases` compose to its total.

    Notes
    -----
    **Privacy**: a record states a claim of its author. Discrete Laplace noise of scale b on integers of L1
    sensitivity s costs s / b of epsilon, or (s / b)^2 / 2 of rho. Discrete Gaussian noise costs
    squared sensitivity / (2 sigma^2) of rho. A record with a smaller share is refused.

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
        for name in ("name", "mechanism") if self.rows is None else ("name", "mechanism", "rows"):
            codec.check_text(getattr(self, name), name)
        for name in AMOUNTS_OF_RELEASE:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_positive(getattr(self, name), name))
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError("A release must have a share of epsilon or of rho, but not of both.")
        if self.mechanism == GAUSSIAN and self.rho is None:
            raise ValueError("The share of Gaussian noise must be a share of rho.")
        if self.times < 1:
            raise ValueError("times must be at least 1: a release costs its whole share.")
        if type(self.draws) is not int or self.draws < 0:
            raise ValueError("draws must be an int of at least 0.")
        states_noise = self.sensitivity is not None or self.noise_scale is not None
        if not self.draws and (states_noise or self.mechanism != _NOTHING_DRAWN):
            raise ValueError("A share with draws=0 must have the mechanism 'none', and no noise.")
        if self._least_share() > self.share:
            raise ValueError(f"The noise of the release {self.name!r} is too small for its share.")

    def _least_share(self) -> Fraction:
        """Return the cost of the noise; 0 if the noise is not stated."""
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
            Name of the released quantity.
        mechanism : DiscreteLaplaceMechanism, DiscreteGaussianMechanism or LocalRandomizer
        share : Fraction or None, default=None
            Share of epsilon; for a Gaussian mechanism, of rho. None: the cost of the mechanism.
        **more
            Other fields.

        Returns
        -------
        record : ReleaseRecord
        """
        if isinstance(mechanism, DiscreteGaussianMechanism):
            known: dict[str, Any] = {"mechanism": GAUSSIAN, "rho": share or mechanism.rho}
            known |= {"sensitivity": mechanism.squared_sensitivity, "noise_scale": mechanism.sigma}
        else:
            scale = getattr(mechanism, "scale", None) or getattr(mechanism, "noise_scale", None)
            known = {"mechanism": mechanism.describe() if scale is None else LAPLACE, "noise_scale": scale}
            known |= {"sensitivity": mechanism.sensitivity, "epsilon": share or mechanism.epsilon}
        return cls(**{"name": name, **known, **more})

    @property
    def share(self) -> Fraction:
        """Share of epsilon or of rho."""
        return cast(Fraction, self.epsilon if self.rho is None else self.rho)

    @property
    def total(self) -> Fraction:
        """The share multiplied by `times`."""
        return self.share * self.times

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values that `json` writes."""
        amounts = {name: codec.encode_amount(getattr(self, name)) for name in AMOUNTS_OF_RELEASE}
        plain = {name: getattr(self, name) for name in ("name", "mechanism", "draws", "rows")}
        return {**plain, **amounts}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the record that `to_dict` wrote."""
        amounts = {name: codec.decode_scale(record[name]) for name in ("sensitivity", "noise_scale", "times")}
        shares = {name: codec.decode_amount(record[name]) for name in ("epsilon", "rho")}
        return cls(**{**record, **amounts, **shares})

    def __str__(self) -> str:
        return describe_release(self.to_dict())


def composed(releases: Iterable[ReleaseRecord]) -> Fraction:
    """Return the total cost of releases: their sum, with only the largest of those about disjoint rows.

    Notes
    -----
    **Privacy.** Pure differential privacy and zCDP add up over releases, even if earlier releases choose
    later ones, as long as the total is fixed. A unit is in one of several disjoint sets of rows, whatever its
    values are. So the releases about the other sets are the same for its neighbours.
    """
    parts: dict[str | None, Fraction] = {None: Fraction(0)}
    for one in releases:
        parts[one.rows] = parts.get(one.rows, Fraction(0)) + one.total
    return parts.pop(None) + max(parts.values(), default=Fraction(0))


# The statement of one fit: what it spent and what is claimed.

_KIND = "skprivate.privacy_spent"
#: Message for a statement whose releases do not add up to its total.
DO_NOT_ADD_UP = "The shares of the releases must add up to the total."
_CHOICES = {
    "relation": get_args(Relation),
    "unit": get_args(Unit),
    "noise_source": get_args(NoiseSource),
    "deployment": get_args(Deployment),
    "claim": get_args(Claim),
}
# The amounts that a ledger counts.
_CHARGED = ("epsilon", "delta", "rho")
# Fields that hold a record or None.
_RECORDS: dict[str, Any] = {"leakage": PrivacyGuarantee, "audit": AuditRecord, "package": PackageRecord}


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True, repr=False)
class PrivacySpent(ReadableAmounts, Labelled):
    """The budget that one fit of a private estimator spent, and its claim.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism, such as "discrete Laplace".
    epsilon : Fraction or float
        Proven upper bound on the mechanism's privacy loss, above 0. Ints and floats are converted exactly.
        ``math.inf`` if there is no bound. Only a run that is not private can have that.
    delta : Fraction, default=0
        In [0, 1). Ints and floats are converted exactly.
    rho : Fraction or None, default=None
        Parameter of zero-concentrated differential privacy, above 0, if the mechanism has one.
    relation : {"replace-one", "add-remove", "local", "label", "joint"}
        The neighbouring relation: which data sets count as neighbours.
    unit : {"row", "group", "player"}, default="row"
        Neighbours differ in one row, in all rows of one group, or in all data of a player of a game.
    max_rows_per_unit : int, default=1
        Largest number of rows of one unit; 1 unless the unit is a group.
    sensitivity : int, Fraction or None, default=None
        Sensitivity in units of the integer grid, above 0.
    noise_scale : int, Fraction or None
        Scale of the noise in units of the integer grid, above 0; None for mechanisms without additive noise.
    noise_source : {"os-entropy", "seeded"}
        Source of the randomness.
    deployment : {"curator", "simulated", "collected"}
        Who saw the rows: a curator; one place, where local reports were simulated; only their owners, from
        whom reports were collected.
    public_inputs : tuple of str, default=()
        Names of the inputs that were declared public.
    unprotected : mapping from str to value, default={}
        Quantities that the release shows and epsilon does not cover: number of rows, bounds, depth, classes.
        Values are texts, numbers, dates, None, and sequences, arrays and mappings of those. They are kept as
        tuples and read-only mappings.
    claim : {"dp", "not-private"}
        The claim. A seeded run cannot claim "dp".
    reasons : tuple of str, default=()
        Why the run is not private; empty if and only if the claim is "dp".
    leakage : PrivacyGuarantee or None, default=None
        Leakage about one unit to an adversary with a certain prior (see `given_prior`).
    audit : AuditRecord or None, default=None
        A lower bound on epsilon that an audit found (see `with_audit`).
    releases : tuple of ReleaseRecord, default=()
        All releases of the run, in the order of their draws. Their shares add up to rho, if the run has one,
        and otherwise to epsilon. Of releases about disjoint rows, only the largest counts. Empty: only the
        total is stated.
    package : PackageRecord or None, default=None
        The package that made the statement. None: the running package; a pickle and `to_dict` record it.
        Comparisons of two objects ignore it.

    Attributes
    ----------
    private : bool
        Whether the claim is differential privacy.
    effective_epsilon : float
        ``epsilon``, or infinity if the run is not private.

    Raises
    ------
    TypeError
        A field has another type.
    ValueError
        A field is out of its range, or the fields contradict each other.

    Notes
    -----
    **Privacy**: the object is meant to be published and carries only the given values. The author of the
    object must keep private values out of it, also out of ``unprotected`` and ``reasons``. The claim is a
    claim of the software, not a certificate.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.accounting import PrivacySpent
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=Fraction(1, 2), relation="replace-one", sensitivity=2,
    ...     noise_scale=4, noise_source="os-entropy", deployment="curator", claim="dp",
    ...     unprotected={"n": 100},
    ... )
    >>> spent.private, spent.effective_epsilon
    (True, 0.5)
    >>> print(spent)  # doctest: +ELLIPSIS
    Claim: differential privacy (claimed by the software, not certified)
      of this step alone: a pipeline's other steps are not covered; see privacy_report(pipeline)
      epsilon: 0.5 (exactly 1/2)
      delta: 0
      ...
    """

    mechanism: str
    epsilon: Fraction | float
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    relation: Relation
    unit: Unit = "row"
    max_rows_per_unit: int = 1
    sensitivity: int | Fraction | None = None
    noise_scale: int | Fraction | None
    noise_source: NoiseSource
    deployment: Deployment
    public_inputs: tuple[str, ...] = ()
    unprotected: Mapping[str, Any] = field(default_factory=dict)
    claim: Claim
    reasons: tuple[str, ...] = ()
    leakage: PrivacyGuarantee | None = None
    audit: AuditRecord | None = None
    releases: tuple[ReleaseRecord, ...] = ()
    package: PackageRecord | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        codec.check_text(self.mechanism, "mechanism")
        for name, allowed in _CHOICES.items():
            codec.check_choice(getattr(self, name), name, allowed)
        resolved = {
            "epsilon": _epsilon(self.epsilon, self.private),
            "delta": check_probability(self.delta, "delta"),
            "rho": None if self.rho is None else check_positive(self.rho, "rho"),
            "max_rows_per_unit": check_int(self.max_rows_per_unit, "max_rows_per_unit", least=1),
            "sensitivity": _grid_amount(self.sensitivity, "sensitivity"),
            "noise_scale": _grid_amount(self.noise_scale, "noise_scale"),
            "public_inputs": codec.check_texts(self.public_inputs, "public_inputs"),
            "unprotected": codec.freeze_mapping(self.unprotected, "unprotected"),
            "reasons": codec.check_texts(self.reasons, "reasons"),
            "releases": self._check_releases(),
        }
        vars(self).update(resolved)
        self._check_consistency()

    def _check_releases(self) -> tuple[ReleaseRecord, ...]:
        releases = tuple(self.releases)
        if any(not isinstance(one, ReleaseRecord) for one in releases):
            raise TypeError("releases must be a tuple of ReleaseRecord.")
        if any((one.rho is None) != (self.rho is None) for one in releases):
            raise ValueError("releases must have shares of rho if the run has a rho, otherwise of epsilon.")
        if releases and composed(releases) != (self.epsilon if self.rho is None else self.rho):
            raise ValueError(DO_NOT_ADD_UP)
        if not self.delta and any(one.mechanism == GAUSSIAN for one in releases):
            raise ValueError("Gaussian noise has no finite epsilon at delta = 0: delta must be above 0.")
        return releases

    def _check_consistency(self) -> None:
        if self.unit != "group" and self.max_rows_per_unit != 1:
            raise ValueError(f"max_rows_per_unit must be 1 when the unit is {self.unit!r}.")
        for name, kind in _RECORDS.items():
            if not isinstance(value := getattr(self, name), kind | None):
                raise TypeError(f"{name} must be of type {kind.__name__}, got {type(value).__name__}.")
        if self.private and self.audit is not None and self.audit.lower_bound > self.epsilon:
            raise ValueError("An audit above epsilon contradicts the claim: see with_audit.")
        if self.private and self.noise_source == "seeded":
            raise ValueError("A seeded run is not private: claim must be 'not-private'.")
        if self.private and self.reasons:
            raise ValueError("reasons explain why a run is not private: they must be empty if claim is 'dp'.")
        if not self.private and not self.reasons:
            raise ValueError("reasons must explain why the run is not private if claim is 'not-private'.")

    @property
    def private(self) -> bool:
        """Whether the claim is differential privacy."""
        return self.claim == "dp"

    @property
    def effective_epsilon(self) -> float:
        """Epsilon as a float, infinite if the run is not private."""
        return float(self.epsilon) if self.private else math.inf

    def with_releases(self, releases: Iterable[ReleaseRecord]) -> Self:
        """Return a copy that lists the releases; the rest of the total is listed as not used.

        Parameters
        ----------
        releases : iterable of ReleaseRecord
            Releases in the order of their draws. Equal consecutive releases become one.

        Returns
        -------
        spent : PrivacySpent

        Raises
        ------
        ValueError
            The releases cost more than the total.
        """
        found = [replace(one, times=one.times * len(list(equal))) for one, equal in groupby(releases)]
        unit = "epsilon" if self.rho is None else "rho"
        left: dict[str, Any] = {unit: Fraction(getattr(self, unit)) - composed(found)}
        if left[unit] > 0:
            found.append(ReleaseRecord(name="not used", mechanism=_NOTHING_DRAWN, draws=0, **left))
        return replace(self, releases=tuple(found))

    def given_prior(self, prior: ArrayLike | Fraction | PrivacyGuarantee) -> Self:
        """Return a copy that shows the leakage to an adversary with this prior.

        Parameters
        ----------
        prior : array-like of shape (n_values,), float, Fraction or PrivacyGuarantee
            Array: probabilities of the possible values of one unit (with relation "label", of its labels).
            Number: a lower bound on all these probabilities, for all such priors. PrivacyGuarantee: the
            output of `LocalRandomizer.leakage`, which is used unchanged for a run of that one report.

        Returns
        -------
        spent : PrivacySpent
            Its `leakage` is a bound for every mechanism of this epsilon: `pml_from_ldp` of epsilon (of twice
            epsilon for relation "add-remove") and of the smallest probability. If delta is above 0, or the
            run is not private, the bound is only `max_information` of the prior.

        Raises
        ------
        TypeError, ValueError
            The prior does not sum to 1, or the number is not in (0, 1]. A given guarantee is not about
            pointwise maximal leakage, or is not known to be about this run. The latter holds if the run is
            not private, not local, of a player, or has a delta above 0 or another epsilon than the report.

        Notes
        -----
        With relation "local" epsilon bounds the report's channel. Players of a game, however, answer each
        other: the broadcasts of one player reveal information about others. So players must be independent
        under the prior. With the other relations epsilon bounds P(y | x, rest) for one unit's value x and the
        rest of the data. If units are independent under the prior, P(y | x) is the mean of that over the
        distribution of the rest. That distribution is the same for every x, so the ratios have the same
        bound. Replacing a value removes one and adds another: 2 epsilon for relation "add-remove". Without
        independence there is no such bound: information about other units is then also about this unit.

        Examples
        --------
        >>> from skprivate.accounting import PrivacySpent
        >>> spent = PrivacySpent(
        ...     mechanism="k-ary randomised response", epsilon=1, relation="local", noise_scale=None,
        ...     noise_source="os-entropy", deployment="collected", claim="dp",
        ... )
        >>> print(spent.given_prior([0.7, 0.3]).leakage.statement())
        For an adversary whose prior is 2 values with probabilities 0.7 and 0.3, your report raises the best
        success probability of any guess about your value by at most the factor 1.80.
        """
        return replace(self, leakage=self._leakage_given(prior))

    def _leakage_given(self, prior: ArrayLike | Fraction | PrivacyGuarantee) -> PrivacyGuarantee:
        if not isinstance(prior, PrivacyGuarantee):
            bound = leakage_of_run(self, prior)
            return PrivacyGuarantee(status="upper_bound", criterion="pml", **bound)
        if prior.criterion == "dp":
            raise ValueError("prior: a guarantee of differential privacy is not about a prior.")
        if not self.private:
            raise ValueError("this run is not private: the leakage of its mechanism does not hold for it.")
        local = self.relation in ("local", "label") and self.unit != "player" and not self.delta
        if not local or prior.report_epsilon != self.epsilon:
            raise ValueError(
                "prior: this guarantee is not known to be about this run, which may leak more. It must be "
                "that of one local report of the run's epsilon, from LocalRandomizer.leakage. Several leak "
                "more than one: pass the prior itself for a bound on all of them."
            )
        return prior

    def with_audit(self, lower_bound: float | Fraction, confidence: float | Fraction, method: str) -> Self:
        """Return a copy with the result of an audit: claimed, audited at >= `lower_bound`.

        Parameters
        ----------
        lower_bound : float or Fraction
            Lower bound on the run's epsilon at its delta, at least 0.
        confidence : float or Fraction
            In (0, 1).
        method : str
            How the bound was found.

        Returns
        -------
        spent : PrivacySpent
            If the bound is above epsilon, the claim is contradicted: the copy is "not-private", with this
            reason.

        Examples
        --------
        >>> from skprivate.accounting import PrivacySpent
        >>> spent = PrivacySpent(
        ...     mechanism="discrete Laplace", epsilon=0.5, relation="replace-one", noise_scale=4,
        ...     noise_source="os-entropy", deployment="curator", claim="dp")
        >>> print(spent.with_audit(0.41, 0.999, "fixed event"))  # doctest: +ELLIPSIS
        Claim: differential privacy (claimed by the software, audited at >= 0.41 (confidence 0.999; ...
        >>> spent.with_audit(0.8, 0.999, "fixed event").private
        False
        """
        bound, share = cast(Fraction, lower_bound), cast(Fraction, confidence)
        audit = AuditRecord(lower_bound=bound, confidence=share, method=method)
        if audit.lower_bound <= self.epsilon:
            return replace(self, audit=audit)
        reason = f"the claim of epsilon = {show(self.epsilon)} is contradicted: {audit}"
        return replace(self, audit=audit, claim="not-private", reasons=(*self.reasons, reason))

    def to_dict(self) -> dict[str, Any]:
        """Return the machine-readable statement, with plain values that `json` writes.

        Returns
        -------
        statement : dict
            In the form of `statement_schema`. An amount has an exact fraction ("exact") and a rounded number
            ("value"; None if infinite). ``charged`` has the amounts that a ledger counts. ``guarantee`` is
            None if the run is not private. ``package`` has the fingerprints of the package that made the
            object; `PackageRecord` explains what they show.

        Examples
        --------
        >>> import json
        >>> from skprivate.accounting import PrivacySpent
        >>> spent = PrivacySpent(
        ...     mechanism="discrete Laplace", epsilon=0.5, relation="replace-one", noise_scale=4,
        ...     noise_source="os-entropy", deployment="curator", claim="dp")
        >>> statement = json.loads(json.dumps(spent.to_dict()))
        >>> statement["guarantee"]["epsilon"]
        {'exact': '1/2', 'value': 0.5}
        >>> PrivacySpent.from_dict(statement) == spent
        True
        """
        plain = ("claim", "relation", "unit", "max_rows_per_unit", "mechanism", "noise_source", "deployment")
        charged = {name: codec.encode_amount(getattr(self, name)) for name in _CHARGED}
        return {
            "schema": _KIND,
            "version": codec.VERSION,
            "private": self.private,
            "guarantee": dict(charged) if self.private else None,
            "charged": charged,
            **{name: getattr(self, name) for name in plain},
            "sensitivity": codec.encode_amount(self.sensitivity),
            "noise_scale": codec.encode_amount(self.noise_scale),
            "public_inputs": list(self.public_inputs),
            "unprotected": {name: codec.encode_value(value) for name, value in self.unprotected.items()},
            "reasons": list(self.reasons),
            "leakage": None if self.leakage is None else self.leakage.to_dict(),
            "audit": None if self.audit is None else self.audit.to_dict(),
            "releases": [one.to_dict() for one in self.releases],
            "package": (self.package or PackageRecord.current()).to_dict(),
        }

    @classmethod
    def from_dict(cls, statement: Mapping[str, Any]) -> Self:
        """Return the object that `to_dict` wrote.

        Parameters
        ----------
        statement : mapping
            Output of `to_dict`, possibly through JSON.

        Returns
        -------
        spent : PrivacySpent

        Raises
        ------
        ValueError
            It is not such a statement, is of another version, has missing or unknown parts, or contradicts
            itself, for example with a ``guarantee`` that differs from ``charged``.
        """
        codec.check_kind(statement, _KIND)
        with codec.readable():
            spent = cls(**_decode_fields(statement))
            # Unknown parts show here, and parts that contradict the rest.
            codec.check_unchanged(spent.to_dict(), statement)
        return spent

    def to_registry(self, **who_and_why: Any) -> RegistryEntry:
        """Return the run as an entry of the public registry of differential privacy deployments.

        Parameters
        ----------
        **who_and_why : str
            Fields that the software cannot know: ``name``, ``data_curator``, ``intended_use``,
            ``data_domain``, ``justification`` and so on; see `RegistryEntry` for all. Missing fields are
            printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            A dict; its ``str()`` is the YAML text to submit.

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or the run itself states it.
        ValueError
            A text is empty.

        Examples
        --------
        >>> from skprivate.accounting import PrivacySpent
        >>> spent = PrivacySpent(
        ...     mechanism="discrete Laplace", epsilon=0.5, relation="replace-one", noise_scale=4,
        ...     noise_source="os-entropy", deployment="curator", claim="dp")
        >>> entry = spent.to_registry(name="Length of stay", data_curator="A hospital")
        >>> deployment = entry["deployment"]
        >>> deployment["dp_flavor"]["name"], deployment["privacy_loss"]["privacy_parameters"]
        ('Pure DP', {'epsilon': 0.5})
        >>> "deployment.implementation.justification" in entry.missing
        True
        """
        return registry_entry_of_spent(self.to_dict(), who_and_why)

    def _labels(self) -> list[Label]:
        return [label_of_spent(self.to_dict())]

    def __str__(self) -> str:
        return describe_spent(self.to_dict())

    def __getstate__(self) -> dict[str, Any]:
        # The process that pickles is the one that ran the fit, unless the object came from elsewhere.
        return {**vars(self), "package": self.package or PackageRecord.current()}


def _decode_fields(statement: Mapping[str, Any]) -> dict[str, Any]:
    known = {item.name: statement[item.name] for item in fields(PrivacySpent) if item.name not in _CHARGED}
    known |= {name: codec.decode_amount(statement["charged"][name]) for name in _CHARGED}
    for name in ("sensitivity", "noise_scale"):
        known[name] = codec.decode_scale(known[name])
    known["unprotected"] = {name: codec.decode_value(value) for name, value in known["unprotected"].items()}
    for name, kind in _RECORDS.items():
        if known[name] is not None:
            known[name] = kind.from_dict(known[name])
    known["releases"] = tuple(ReleaseRecord.from_dict(one) for one in known["releases"])
    return known


def _epsilon(value: Any, private: bool) -> Fraction | float:
    if isinstance(value, float) and value == math.inf:
        if private:
            raise ValueError("epsilon must be finite if the claim is 'dp'.")
        return math.inf
    return check_positive(value, "epsilon")


def _grid_amount(value: Any, name: str) -> int | Fraction | None:
    if value is None:
        return None
    if isinstance(value, Fraction):
        return check_positive(value, name)
    # Amounts on the integer grid are exact: a float is refused.
    return int(check_positive(check_int(value, name, least=1), name))


# Estimated bounds, and how an estimator states that it uses them.


@public_module("skprivate.accounting")
@dataclass(frozen=True, eq=False, repr=False)
class EstimatedBounds(Sequence[Any]):
    """A pair (lower, upper) with the statement of its cost; made by `estimate_bounds`.

    Pass it wherever bounds are accepted: to an estimator, for one column in a dict of columns, in the grid of
    a search. The estimator states that these bounds were charged separately. It claims "not-private" if they
    were estimated with a seed.

    Parameters
    ----------
    lower, upper : float or ndarray of shape (n_features,)
        Lower and upper bounds, in the units of the data.
    spent : PrivacySpent
        Statement of the estimate.
    release_id : str, default=""
        Identifier of the release, so that copies are counted once. "": a new one is drawn.

    Raises
    ------
    TypeError
        ``spent`` is not a PrivacySpent, or ``release_id`` is not a text.

    Notes
    -----
    **Privacy.** Copies, clones and pickles keep the statement. A part of the pair (one side, one column, a
    sum with a margin) is a plain number or array and is treated as public. Then add the cost yourself, or
    use a ledger: it was charged when the bounds were estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.preprocessing import estimate_bounds
    >>> X = np.random.default_rng(0).uniform(size=(5000, 2))
    >>> bounds = estimate_bounds(X, epsilon=1.0)
    >>> bounds.spent.epsilon
    Fraction(1, 1)
    >>> tree = DPTreeClassifier(epsilon=2.0, bounds=bounds, classes=[0, 1]).fit(X, np.arange(5000) % 2)
    >>> tree.privacy_spent_.epsilon, tree.privacy_spent_.public_inputs[0]
    (Fraction(2, 1), 'bounds (estimated for epsilon = 1, charged separately)')
    """

    lower: Any
    upper: Any
    spent: PrivacySpent
    release_id: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.spent, PrivacySpent):
            raise TypeError(f"spent must be a PrivacySpent, not {type(self.spent).__name__}.")
        if not isinstance(self.release_id, str):
            raise TypeError(f"release_id must be a str, not {type(self.release_id).__name__}.")
        if not self.release_id:
            object.__setattr__(self, "release_id", os.urandom(16).hex())

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        return (self.lower, self.upper)[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EstimatedBounds | tuple):
            return NotImplemented
        return (self.lower, self.upper) == tuple(other)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper))

    def __repr__(self) -> str:
        cost = f"epsilon={show(self.spent.epsilon)}" + ("" if self.spent.private else ", not private")
        return f"EstimatedBounds({self.lower!r}, {self.upper!r}, {cost})"


def estimates_in(value: Any) -> Iterator[EstimatedBounds]:
    """Yield the estimated bounds in a parameter: the parameter itself, or items of a dict, list or tuple."""
    if isinstance(value, EstimatedBounds):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from estimates_in(item)


def reasons_of_inputs(estimator: Any, names: Iterable[str]) -> tuple[str, ...]:
    """Return why a release with such parameters is not private: estimates in them that are not private."""
    found = (
        f"{name} were estimated without privacy: {'; '.join(bounds.spent.reasons)}"
        for name in names
        for bounds in estimates_in(getattr(estimator, name))
        if not bounds.spent.private
    )
    return tuple(dict.fromkeys(found))


def name_inputs(estimator: Any, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of declared parameters for a statement, with the cost of estimated ones.

    Parameters
    ----------
    estimator : estimator
        An estimator with these parameters.
    names : iterable of str
        Names of parameters that declare properties of the rows, such as bounds. None counts as not declared.

    Returns
    -------
    public_inputs : tuple of str
        For `PrivacySpent`.

    Notes
    -----
    **Privacy.** Only parameters are read. Estimated bounds were charged before. Their cost is named, but it
    is not a part of the estimator's spending.

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.base import name_inputs
    >>> name_inputs(DPTreeClassifier(bounds=(0, 1)), ("bounds", "classes"))
    ('bounds',)
    """
    return tuple(
        name + _cost(list(estimates_in(getattr(estimator, name))))
        for name in names
        if getattr(estimator, name) is not None
    )


def estimate_behind(value: Any, name: str) -> EstimatedBounds | None:
    """Return the single estimate in a parameter, or None.

    Raises
    ------
    ValueError
        There are several.
    """
    found = {bounds.release_id: bounds for bounds in estimates_in(value)}
    if len(found) > 1:
        raise ValueError(f"{name} must come from one call of estimate_bounds, over all columns together.")
    return next(iter(found.values()), None)


def encode_estimate(bounds: EstimatedBounds) -> dict[str, Any]:
    """Return the statement and the identifier of an estimate as JSON values."""
    return {"spent": bounds.spent.to_dict(), "release_id": bounds.release_id}


def decode_estimate(pair: Any, content: Mapping[str, Any]) -> EstimatedBounds:
    """Return the estimate of a pair of numbers and the output of `encode_estimate`; else ValueError."""
    lower, upper = pair
    fields = Fields(content, ("spent", "release_id"), what="an estimate")
    release_id = fields.text("release_id")
    if not release_id:
        raise ValueError("an estimate has no id")
    return EstimatedBounds(lower, upper, PrivacySpent.from_dict(fields.mapping("spent")), release_id)


def source_of_input(value: Any) -> str:
    """Return the source of a given parameter."""
    return "estimated, and charged separately" if any(estimates_in(value)) else "declared"


def _cost(estimates: list[EstimatedBounds]) -> str:
    if not estimates:
        return ""
    # One estimate may stand for several columns.
    once = {bounds.release_id: bounds.spent for bounds in estimates}.values()
    amounts = " + ".join(show(spent.epsilon) for spent in once)
    return f" (estimated for epsilon = {amounts}, charged separately)"


_AMOUNTS = ("epsilon", "delta")
_OPTIONAL_AMOUNTS = ("rho", "sensitivity", "noise_scale")
_LABEL = 8  # column of a row
RECORD = ("purpose", "person", "approver", "expiry")
_N_OTHERS = 13  # columns before those of the record
#: The purpose, person, approver and expiry of a charge, or None.
Record = tuple[str | None, ...]
NO_RECORD: Record = (None, None, None, None)


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerEntry(ReadableAmounts):
    """One charge, as read from a `PrivacyLedger`.

    Attributes
    ----------
    time : datetime
        Time of the charge, in UTC.
    estimator : str
        Name of the estimator.
    mechanism : str
        Name of the mechanism.
    epsilon, delta : Fraction
        The charged amount; the nominal amount if the run was not private.
    relation : {"replace-one", "add-remove", "local", "label", "joint"}
        The neighbouring relation, as in `PrivacySpent`.
    unit : {"row", "group", "player"}
        The unit of privacy, as in `PrivacySpent`.
    private : bool
        Whether the run claimed differential privacy.
    label : str or None
        The innermost `PrivacyLedger.label` at that time.
    data : str or None
        The group of data that the run touched, as declared by `PrivacyLedger.data`. None: it may touch all.
    rho : Fraction or None
        Parameter of zero-concentrated differential privacy, as in `PrivacySpent`.
    sensitivity, noise_scale : int, Fraction or None
        In units of the integer grid, as in `PrivacySpent`.
    purpose, person, approver, expiry : str or None
        Texts of the user from `PrivacyLedger.record`; nothing checks them.

    See Also
    --------
    PrivacyLedger.entries : Returns the entries of a ledger.

    Notes
    -----
    **Privacy**: an entry holds names, a time and amounts, but nothing computed from rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skprivate.accounting import PrivacyLedger, PrivacySpent
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=1, relation="local", noise_scale=4,
    ...     noise_source="os-entropy", deployment="collected", claim="dp",
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(Path(folder, "study.ledger"))
    ...     with ledger.label("pilot"):
    ...         ledger.charge(spent, "LocallyPrivateTreeClassifier")
    ...     entry = ledger.entries()[0]
    >>> entry.estimator, entry.label, entry.private
    ('LocallyPrivateTreeClassifier', 'pilot', True)
    """

    time: datetime
    estimator: str
    mechanism: str
    epsilon: Fraction
    delta: Fraction
    relation: Relation
    unit: Unit
    private: bool
    label: str | None
    data: str | None = None
    rho: Fraction | None = None
    sensitivity: int | Fraction | None = None
    noise_scale: int | Fraction | None = None
    purpose: str | None = None
    person: str | None = None
    approver: str | None = None
    expiry: str | None = None

    def __post_init__(self) -> None:
        for name in ("estimator", "mechanism"):
            codec.check_text(getattr(self, name), name)
        for name in (*RECORD, "label", "data"):
            if getattr(self, name) is not None:
                codec.check_text(getattr(self, name), name)
        codec.check_choice(self.relation, "relation", get_args(Relation))
        codec.check_choice(self.unit, "unit", get_args(Unit))

    def has_expired(self, today: date) -> bool:
        """Return whether ``expiry`` is an ISO date before a day; any other text never expires.

        Parameters
        ----------
        today : datetime.date
            The day of comparison. On the day of its expiry an entry has not expired yet.

        Returns
        -------
        expired : bool
        """
        try:
            return self.expiry is not None and datetime.fromisoformat(self.expiry.strip()).date() < today
        except ValueError:
            return False

    def to_dict(self) -> dict[str, Any]:
        """Return the entry in the form of `PrivacyLedger.to_json`: plain values, amounts as exact text.

        Returns
        -------
        entry : dict
        """
        amounts = {name: _optional_text(getattr(self, name)) for name in (*_AMOUNTS, *_OPTIONAL_AMOUNTS)}
        return {**vars(self), "time": self.time.isoformat(), **amounts}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Self:
        """Return the entry that `to_dict` wrote.

        Parameters
        ----------
        entry : mapping
            Output of `to_dict`, possibly through JSON.

        Returns
        -------
        entry : LedgerEntry

        Raises
        ------
        ValueError
            Something is missing or unknown, or is no valid amount or time.
        """
        with codec.readable():
            found = cls(**_decode_entry(entry))
            codec.check_unchanged(found.to_dict(), entry)
        return found

    def to_row(self) -> tuple[str | int | None, ...]:
        """Return the entry as the columns of the ledger's table, which its hash covers."""
        return tuple({**self.to_dict(), "private": int(self.private)}.values())


def to_row(
    spent: PrivacySpent,
    epsilon: Fraction,
    estimator: str,
    label: str | None,
    data: str | None,
    record: Record = NO_RECORD,
) -> tuple[str | int | None, ...]:
    """Return a run as the columns of the ledger's table, with the current time."""
    time = datetime.now(UTC).isoformat()
    amounts = to_text(epsilon), to_text(spent.delta)
    kind = spent.relation, spent.unit, int(spent.private)
    details = (_optional_text(it) for it in (spent.rho, spent.sensitivity, spent.noise_scale))
    return (time, estimator, spent.mechanism, *amounts, *kind, label, data, *details, *record)


def same_charge(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two rows differ at most in their times, labels and records."""
    ours, theirs = (it[1:_LABEL] + it[_LABEL + 1 : _N_OTHERS] for it in (row, other))
    return ours == theirs


def from_row(*row: Any) -> LedgerEntry:
    """Return the entry of a row; TypeError or ValueError if the row is not valid."""
    names = (field.name for field in fields(LedgerEntry))
    return LedgerEntry(**_decode_entry(dict(zip(names, row, strict=True))))


def _decode_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    optional = [name for name in _OPTIONAL_AMOUNTS if entry[name] is not None]
    amounts = {name: from_text(entry[name]) for name in (*_AMOUNTS, *optional)}
    time = datetime.fromisoformat(entry["time"])
    return {**entry, **amounts, "time": time, "private": bool(entry["private"])}


def _optional_text(amount: int | Fraction | None) -> str | None:
    return None if amount is None else to_text(Fraction(amount))
