# SPDX-License-Identifier: BSD-3-Clause
"""What one fit spent and what is claimed for it."""

import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from numpy.typing import ArrayLike

from ...utils import check_characters, check_positive, check_probability
from ...utils._public_module import public_module
from .._checks import check_choice, check_text
from .._leakage.run import leakage_of_run
from .guarantee import PrivacyGuarantee
from .provenance import AuditRecord, PackageRecord
from .statement import SpentStatements
from .text import describe

Relation = Literal["replace-one", "add-remove", "local", "label"]
Unit = Literal["row", "group", "player"]
NoiseSource = Literal["os-entropy", "seeded"]
Deployment = Literal["curator", "simulated", "collected"]
Claim = Literal["dp", "not-private"]

_CHOICES = {
    "relation": get_args(Relation),
    "unit": get_args(Unit),
    "noise_source": get_args(NoiseSource),
    "deployment": get_args(Deployment),
    "claim": get_args(Claim),
}
_PLAIN = (str, bytes, int, float, Fraction, date, timedelta, type(None))


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class PrivacySpent(SpentStatements):
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
            "public_inputs": _texts(self.public_inputs, "public_inputs"),
            "unprotected": _freeze_mapping(self.unprotected, "unprotected"),
            "reasons": _texts(self.reasons, "reasons"),
        }
        for name, value in resolved.items():
            object.__setattr__(self, name, value)
        self._check_consistency()

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

    def given_prior(self, prior: ArrayLike | PrivacyGuarantee) -> Self:
        """Return a copy that shows what the run leaks to an adversary with this prior.

        Parameters
        ----------
        prior : array-like of shape (n_values,) or PrivacyGuarantee
            Probabilities of the possible values of one unit (with relation "label", of its labels); or what
            `LocalRandomizer.leakage` returned, which is taken as it is.

        Returns
        -------
        spent : PrivacySpent
            Its `leakage` is a bound for every mechanism of this epsilon: `pml_from_ldp` of it, twice for
            relation "add-remove", and the smallest probability. If delta is above 0, or the run is not
            private, only `max_information` of the prior is left.

        Raises
        ------
        TypeError, ValueError
            The prior does not sum to 1, or a guarantee is given for a run that is not private, or that is not
            about pointwise maximal leakage.

        Notes
        -----
        With relation "local" epsilon bounds the report's channel; but players of a game answer each other:
        what one broadcasts tells of others, and so, unless players are independent under the prior, of what
        the prior knows together with them. With the other relations it bounds P(y | x, rest)
        for one unit's value x and the rest of the data. If units are independent under the prior, P(y | x) is
        the mean of that over one law of the rest, the same for every x, so its ratios obey the same bound.
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
        return replace(self, leakage=leakage_of_run(self, prior))

    def __str__(self) -> str:
        lines = [f"{name}: {text}" for name, text in describe(self)]
        return "\n  ".join([f"Claim{lines[0].removeprefix('claim')}", *lines[1:]])


@public_module("skprivate.accounting")
class FrozenMapping(Mapping[str, Any]):
    """A read-only, hashable mapping that stays one through pickle and copy, as MappingProxyType does not."""

    __slots__ = ("_items",)
    _items: Mapping[str, Any]

    def __init__(self, items: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_items", MappingProxyType(dict(items)))

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("This mapping is read-only.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("This mapping is read-only.")

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(dict(self._items))

    def __reduce__(self) -> tuple[type["FrozenMapping"], tuple[dict[str, Any]]]:
        return FrozenMapping, (dict(self._items),)


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


def _texts(values: Any, name: str) -> tuple[str, ...]:
    # A str is a sequence of str: ("seeded") for ("seeded",) would become six reasons.
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"{name} must be a tuple of str, got {type(values).__name__}.")
    for value in values:
        check_text(value, f"each of {name}")
    return tuple(values)


def _freeze_mapping(items: Any, name: str) -> FrozenMapping:
    if not isinstance(items, Mapping):
        raise TypeError(f"{name} must be a mapping, got {type(items).__name__}.")
    for key in items:
        check_text(key, f"each key of {name}")
    return FrozenMapping({str(key): _freeze(value, name) for key, value in items.items()})


def _freeze(value: Any, name: str) -> Any:
    if hasattr(value, "tolist"):  # NumPy arrays and scalars, pandas columns, without importing either
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(item, name) for item in value)
    if isinstance(value, Mapping):
        return _freeze_mapping(value, name)
    if isinstance(value, str):
        check_characters(value, f"a text in {name}")
    if not isinstance(value, _PLAIN):
        raise TypeError(f"{name} holds a {type(value).__name__}; give text, numbers, sequences or mappings.")
    return value
