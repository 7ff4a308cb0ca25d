# SPDX-License-Identifier: BSD-3-Clause
"""What one fit spent and what is claimed for it."""

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Self, cast, get_args

from numpy.typing import ArrayLike

from ..._typing import Claim, Deployment, NoiseSource, Relation, Unit
from ...utils import check_positive, check_probability
from ...utils._public_module import public_module
from .._amounts import ReadableAmounts, show
from .._checks import check_choice, check_text, check_texts
from .._leakage.run import leakage_of_run
from .frozen_mapping import freeze_mapping
from .guarantee import PrivacyGuarantee
from .html import label_fragment, label_of_spent, label_page
from .plain_values import decode_amount, decode_scale, decode_value, encode_amount, encode_value
from .provenance import AuditRecord, PackageRecord
from .registry import RegistryEntry, registry_entry_of_spent
from .releases import ReleaseRecord, composed, in_a_row, not_used
from .schema import VERSION, check_kind, check_unchanged, readable
from .text import GAUSSIAN, describe_spent

_KIND = "skprivate.privacy_spent"
#: Message of a statement whose releases cost something else than it says.
DO_NOT_ADD_UP = "The shares of the releases must add up to the total."
_CHOICES = {
    "relation": get_args(Relation),
    "unit": get_args(Unit),
    "noise_source": get_args(NoiseSource),
    "deployment": get_args(Deployment),
    "claim": get_args(Claim),
}
# What a ledger counts.
_CHARGED = ("epsilon", "delta", "rho")


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True, repr=False)
class PrivacySpent(ReadableAmounts):
    """What one fit of a private estimator spent, and what is claimed for it.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism, such as "discrete Laplace".
    epsilon : Fraction or float
        Proven upper bound on the mechanism's privacy loss, above 0. Ints and floats are converted exactly.
        ``math.inf`` if there is none, which only a run that is not private can have.
    delta : Fraction, default=0
        In [0, 1). Ints and floats are converted exactly.
    rho : Fraction or None, default=None
        Parameter of zero-concentrated differential privacy, above 0, where the mechanism has one.
    relation : {"replace-one", "add-remove", "local", "label"}
        Which data sets count as neighbours.
    unit : {"row", "group", "player"}, default="row"
        What a neighbour differs in: one row, all rows of one group, or all that a player of a game holds.
    max_rows_per_unit : int, default=1
        Rows that one unit contributes at most; 1 unless the unit is a group.
    sensitivity : int, Fraction or None, default=None
        Sensitivity in units of the integer grid, above 0.
    noise_scale : int, Fraction or None
        Scale of the noise in units of the integer grid, above 0; None for mechanisms without additive noise.
    noise_source : {"os-entropy", "seeded"}
        Where the randomness came from.
    deployment : {"curator", "simulated", "collected"}
        Who saw the rows.
    public_inputs : tuple of str, default=()
        Names of the inputs that were declared public.
    unprotected : mapping from str to value, default={}
        Quantities that the release shows and epsilon does not cover: number of rows, bounds, depth, classes.
        Text, numbers, dates, None, and sequences, arrays and mappings of those; kept as tuples and read-only
        mappings.
    claim : {"dp", "not-private"}
        What is claimed. A seeded run cannot claim "dp".
    reasons : tuple of str, default=()
        Why the run is not private; empty if and only if the claim is "dp".
    leakage : PrivacyGuarantee or None, default=None
        What the run leaks about one unit to an adversary with a certain prior (see `given_prior`).
    audit : AuditRecord or None, default=None
        A lower bound on epsilon that an audit found (see `with_audit`).
    releases : tuple of ReleaseRecord, default=()
        Every release of the run, in the order in which they are drawn. Their shares add up to rho, where
        there is one, and else to epsilon; of releases about disjoint rows the largest counts. Empty: only
        the total is stated.
    package : PackageRecord or None, default=None
        The package that made this. None: the one that runs now; a pickle and `to_dict` write down which. It
        does not count when two objects are compared.

    Attributes
    ----------
    private : bool
        Whether the claim is differential privacy.
    effective_epsilon : float
        ``epsilon``, or infinity when the run is not private.

    Raises
    ------
    TypeError
        If a field is of another type.
    ValueError
        If a field is out of its range, or the fields contradict each other.

    Notes
    -----
    **Privacy**: the object is meant to be published and carries only what it is given. To keep private values
    out of it, ``unprotected`` and ``reasons`` included, is the duty of whoever builds it. The claim is what
    the software claims, not a certificate.

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
        check_text(self.mechanism, "mechanism")
        for name, allowed in _CHOICES.items():
            check_choice(getattr(self, name), name, allowed)
        resolved = {
            "epsilon": _epsilon(self.epsilon, self.private),
            "delta": check_probability(self.delta, "delta"),
            "rho": None if self.rho is None else check_positive(self.rho, "rho"),
            "max_rows_per_unit": _count(self.max_rows_per_unit, "max_rows_per_unit"),
            "sensitivity": _grid_amount(self.sensitivity, "sensitivity"),
            "noise_scale": _grid_amount(self.noise_scale, "noise_scale"),
            "public_inputs": check_texts(self.public_inputs, "public_inputs"),
            "unprotected": freeze_mapping(self.unprotected, "unprotected"),
            "reasons": check_texts(self.reasons, "reasons"),
            "releases": self._check_releases(),
        }
        for name, value in resolved.items():
            object.__setattr__(self, name, value)
        self._check_consistency()

    def _check_releases(self) -> tuple[ReleaseRecord, ...]:
        releases = tuple(self.releases)
        if any(not isinstance(one, ReleaseRecord) for one in releases):
            raise TypeError("releases must be a tuple of ReleaseRecord.")
        if any((one.rho is None) != (self.rho is None) for one in releases):
            raise ValueError("releases have shares of rho where the run has one, and else of epsilon.")
        if releases and composed(releases) != (self.epsilon if self.rho is None else self.rho):
            raise ValueError(DO_NOT_ADD_UP)
        if not self.delta and any(one.mechanism == GAUSSIAN for one in releases):
            raise ValueError("Gaussian noise has no finite epsilon at delta = 0: delta must be above 0.")
        return releases

    def _check_consistency(self) -> None:
        if self.unit != "group" and self.max_rows_per_unit != 1:
            raise ValueError(f"max_rows_per_unit must be 1 when the unit is {self.unit!r}.")
        if self.leakage is not None and not isinstance(self.leakage, PrivacyGuarantee):
            raise TypeError(f"leakage must be a PrivacyGuarantee, got {type(self.leakage).__name__}.")
        if self.audit is not None and not isinstance(self.audit, AuditRecord):
            raise TypeError(f"audit must be an AuditRecord, got {type(self.audit).__name__}.")
        if self.package is not None and not isinstance(self.package, PackageRecord):
            raise TypeError(f"package must be a PackageRecord, got {type(self.package).__name__}.")
        if self.private and self.audit is not None and self.audit.lower_bound > self.epsilon:
            raise ValueError("An audit above epsilon contradicts the claim: see with_audit.")
        if self.private and self.noise_source == "seeded":
            raise ValueError("A seeded run is not private: claim must be 'not-private'.")
        if self.private and self.reasons:
            raise ValueError("reasons say why a run is not private: they must be empty when claim is 'dp'.")
        if not self.private and not self.reasons:
            raise ValueError("reasons must say why the run is not private when claim is 'not-private'.")

    @property
    def private(self) -> bool:
        """Whether the claim is differential privacy."""
        return self.claim == "dp"

    @property
    def effective_epsilon(self) -> float:
        """Epsilon as a float, infinite when the run is not private."""
        return float(self.epsilon) if self.private else math.inf

    def with_releases(self, releases: Iterable[ReleaseRecord]) -> Self:
        """Return a copy that lists what was released; what is left of the total is listed as not used.

        Parameters
        ----------
        releases : iterable of ReleaseRecord
            In the order in which they were drawn. Equal ones that follow each other become one.

        Returns
        -------
        spent : PrivacySpent

        Raises
        ------
        ValueError
            The releases cost more than the total.
        """
        found = in_a_row(releases)
        left = Fraction(self.epsilon if self.rho is None else self.rho) - composed(found)
        rest = [not_used(left, self.rho is not None)] if left > 0 else []
        return replace(self, releases=(*found, *rest))

    def given_prior(self, prior: ArrayLike | Fraction | PrivacyGuarantee) -> Self:
        """Return a copy that shows what the run leaks to an adversary with this prior.

        Parameters
        ----------
        prior : array-like of shape (n_values,), float, Fraction or PrivacyGuarantee
            Probabilities of the possible values of one unit (with relation "label", of its labels); a number
            that none of them is below, for all such priors; or what `LocalRandomizer.leakage` returned, which
            is taken as it is for a run of that one report.

        Returns
        -------
        spent : PrivacySpent
            Its `leakage` is a bound for every mechanism of this epsilon: `pml_from_ldp` of it, twice for
            relation "add-remove", and the smallest probability. If delta is above 0, or the run is not
            private, only `max_information` of the prior is left.

        Raises
        ------
        TypeError, ValueError
            The prior does not sum to 1, the number is not in (0, 1], or a guarantee is given that is not
            about pointwise maximal leakage, or not known to be about this run: the run is not private, not
            local, of a player, has a delta above 0 or another epsilon than the report.

        Notes
        -----
        With relation "local" epsilon bounds the report's channel; but players of a game answer each other:
        what one broadcasts tells of others, and so, unless players are independent under the prior, of what
        the prior knows together with them. With the other relations it bounds P(y | x, rest)
        for one unit's value x and the rest of the data. If units are independent under the prior, P(y | x) is
        the mean of that over the distribution of the rest, the same for every x, so its ratios obey the same
        bound.
        To replace a value is to remove one and to add another: 2 epsilon for relation "add-remove". Without
        independence nothing of the kind holds: what the release tells about others tells about the unit.

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
            return PrivacyGuarantee(status="upper_bound", criterion="pml", **asdict(bound))
        if prior.criterion == "dp":
            raise ValueError("prior: a guarantee of differential privacy says nothing about this prior.")
        if not self.private:
            raise ValueError("this run is not private: what its mechanism leaks does not hold for it.")
        local = self.relation in ("local", "label") and self.unit != "player" and not self.delta
        if not local or prior.report_epsilon != self.epsilon:
            raise ValueError(
                "prior: this guarantee is not known to be about this run, which may leak more: it must be "
                "that of one local report of the run's epsilon, from LocalRandomizer.leakage. Several leak "
                "more than one: give the prior itself, and all of them are bounded."
            )
        return prior

    def with_audit(self, lower_bound: float | Fraction, confidence: float | Fraction, method: str) -> Self:
        """Return a copy that also says what an audit found: claimed, audited at >= `lower_bound`.

        Parameters
        ----------
        lower_bound : float or Fraction
            Lower bound on the run's epsilon at its delta, at least 0.
        confidence : float or Fraction
            In (0, 1).
        method : str
            How it was found.

        Returns
        -------
        spent : PrivacySpent
            If the bound is above epsilon, the claim is contradicted: the copy is "not-private", and the
            reason says so.

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
        """Return the statement that machines read, of plain values that `json` writes.

        Returns
        -------
        statement : dict
            As `statement_schema` describes it. Amounts stand as exact fractions ("exact") and rounded
            ("value"; None where that is infinite). ``charged`` is what a ledger counts; ``guarantee`` is None
            if the run is not private. ``package`` has the fingerprints of the package that made the object,
            see `PackageRecord` for what they are and are not.

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
        charged = {name: encode_amount(getattr(self, name)) for name in _CHARGED}
        return {
            "schema": _KIND,
            "version": VERSION,
            "private": self.private,
            "guarantee": dict(charged) if self.private else None,
            "charged": charged,
            **{name: getattr(self, name) for name in plain},
            "sensitivity": encode_amount(self.sensitivity),
            "noise_scale": encode_amount(self.noise_scale),
            "public_inputs": list(self.public_inputs),
            "unprotected": {name: encode_value(value) for name, value in self.unprotected.items()},
            "reasons": list(self.reasons),
            "leakage": None if self.leakage is None else self.leakage.to_dict(),
            "audit": None if self.audit is None else self.audit.to_dict(),
            "releases": [one.to_dict() for one in self.releases],
            "package": (self.package or PackageRecord.current()).to_dict(),
        }

    @classmethod
    def from_dict(cls, statement: Mapping[str, Any]) -> Self:
        """Read `to_dict` back.

        Parameters
        ----------
        statement : mapping
            What `to_dict` returned, possibly through JSON.

        Returns
        -------
        spent : PrivacySpent

        Raises
        ------
        ValueError
            If it is no such statement, is of another version, misses or adds something, or contradicts
            itself: a ``guarantee`` that is not what was charged, say.
        """
        check_kind(statement, _KIND)
        with readable():
            spent = cls(**_decode_fields(statement))
            # What was left over shows here, and what contradicts the rest.
            check_unchanged(spent.to_dict(), statement)
        return spent

    def to_registry(self, **who_and_why: Any) -> RegistryEntry:
        """Return the run as an entry of the public registry of differential privacy deployments.

        Parameters
        ----------
        **who_and_why : str
            What the software cannot know: ``name``, ``data_curator``, ``intended_use``, ``data_domain``,
            ``justification`` and so on; see `RegistryEntry` for all. What is not given is printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            A dict; its ``str()`` is the YAML text to submit.

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or is one that the run itself states.
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

    def to_html(self) -> str:
        """Return a label of one page: a whole HTML document without scripts and without anything to load.

        Returns
        -------
        page : str
            All texts are escaped. Readable in light and dark, on paper, and by screen readers. It speaks of
            this step alone, and says so: of a pipeline, the label of its `privacy_report` does.
        """
        return label_page([label_of_spent(self.to_dict())])

    def _repr_html_(self) -> str:
        """Return the same label for a notebook."""
        return label_fragment([label_of_spent(self.to_dict())])

    def __str__(self) -> str:
        return describe_spent(self.to_dict())

    def __getstate__(self) -> dict[str, Any]:
        # The process that pickles is the one that ran, unless the object already came from elsewhere.
        return {**vars(self), "package": self.package or PackageRecord.current()}


def _decode_fields(statement: Mapping[str, Any]) -> dict[str, Any]:
    known = {item.name: statement[item.name] for item in fields(PrivacySpent) if item.name not in _CHARGED}
    known |= {name: decode_amount(statement["charged"][name]) for name in _CHARGED}
    for name in ("sensitivity", "noise_scale"):
        known[name] = decode_scale(known[name])
    known["unprotected"] = {name: decode_value(value) for name, value in known["unprotected"].items()}
    if known["leakage"] is not None:
        known["leakage"] = PrivacyGuarantee.from_dict(known["leakage"])
    if known["audit"] is not None:
        known["audit"] = AuditRecord.from_dict(known["audit"])
    known["releases"] = tuple(ReleaseRecord.from_dict(one) for one in known["releases"])
    known["package"] = PackageRecord.from_dict(known["package"])
    return known


def _epsilon(value: Any, private: bool) -> Fraction | float:
    if isinstance(value, float) and value == math.inf:
        if private:
            raise ValueError("epsilon must be finite when the claim is 'dp'.")
        return math.inf
    return check_positive(value, "epsilon")


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an int, got {type(value).__name__}.")
    if operator.index(value) < 1:
        raise ValueError(f"{name} must be at least 1.")
    return operator.index(value)


def _grid_amount(value: Any, name: str) -> int | Fraction | None:
    if value is None:
        return None
    if isinstance(value, Fraction):
        return check_positive(value, name)
    # A float cannot be on the integer grid by accident: refuse it rather than guess what was meant.
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an int, a Fraction or None, got {type(value).__name__}.")
    return int(check_positive(operator.index(value), name))
