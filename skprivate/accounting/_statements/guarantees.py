# SPDX-License-Identifier: BSD-3-Clause
"""Guarantees of leakage, disclosure risks, results of audits, and the record of the package."""

import functools
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn, Self, get_args

from ..._typing import Criterion, Status
from ..._version import __version__
from ...utils import check_positive, check_probability
from ...utils._public_module import public_module
from . import fields as codec
from . import text as words
from .html import Label, Labelled, label_of_guarantee, label_of_risk
from .registry import RegistryEntry, registry_entry_of_guarantee, registry_entry_of_risk

_SOURCES = {".py", ".pyx", ".pxd"}
_KERNELS = {".so", ".pyd"}


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """A lower bound on epsilon that an audit found, with the confidence at which it holds.

    Parameters
    ----------
    lower_bound : float or Fraction
        Lower bound on the run's epsilon at its delta, at least 0.
    confidence : float or Fraction
        In (0, 1): the probability, over the audit's draws, that the bound is right.
    method : str
        How the bound was found: attack, number of trials, fixed quantities.

    Raises
    ------
    TypeError, ValueError
        A field has another type or is out of its range.

    See Also
    --------
    PrivacySpent.with_audit : Attaches the record to a statement.

    Notes
    -----
    **Privacy**: an audit bounds the privacy loss from below. It never proves that the loss is at most the
    claimed epsilon. It covers the audited mechanism and inputs, not this particular run.

    Examples
    --------
    >>> from skprivate.accounting import AuditRecord
    >>> print(AuditRecord(lower_bound=0.75, confidence=0.999, method="fixed event, 10000 trials per side"))
    audited at >= 0.75 (confidence 0.999; fixed event, 10000 trials per side)
    """

    lower_bound: Fraction
    confidence: Fraction
    method: str

    def __post_init__(self) -> None:
        bound = self.lower_bound
        if isinstance(bound, bool) or bound != 0:
            bound = check_positive(bound, "lower_bound")
        confidence = check_probability(self.confidence, "confidence")
        vars(self).update(lower_bound=Fraction(bound), confidence=confidence)
        if not self.confidence:
            raise ValueError("confidence must be above 0 and below 1.")
        codec.check_text(self.method, "method")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values that `json` writes."""
        amounts = {name: codec.encode_amount(getattr(self, name)) for name in ("lower_bound", "confidence")}
        return {**amounts, "method": self.method}

    @classmethod
    def from_dict(cls, audit: Mapping[str, Any]) -> Self:
        """Return the record that `to_dict` wrote."""
        amounts: Any = {name: codec.decode_amount(audit[name]) for name in ("lower_bound", "confidence")}
        return cls(**amounts, method=audit["method"])

    def __str__(self) -> str:
        return words.describe_audit(self.to_dict())


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class PackageRecord:
    """Name, version and fingerprints of the package that made a statement.

    Two people with the same fingerprint of the sources have the same Python and Cython files on disk. The
    fingerprint of the kernels differs between machines and compilers. Both describe the files at their first
    use in a process. They are not a signature: a person who changes a statement can change them too. They do
    not cover Python, NumPy, SciPy, scikit-learn or the operating system.

    Parameters
    ----------
    name, version : str
        Name and version of the package.
    sha256_sources : str
        SHA-256, hexadecimal, over name and content of every .py, .pyx and .pxd file of the package, in the
        order of their names.
    sha256_kernels : str
        The same over the compiled extension modules.

    Raises
    ------
    TypeError, ValueError
        A field is not a text, or is empty.

    Notes
    -----
    **Privacy**: a function of the package's files alone.

    Examples
    --------
    >>> from skprivate.accounting import PackageRecord
    >>> package = PackageRecord.current()
    >>> package.name, len(package.sha256_sources)
    ('skprivate', 64)
    """

    name: str
    version: str
    sha256_sources: str
    sha256_kernels: str = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("name", "version", "sha256_sources", "sha256_kernels"):
            codec.check_text(getattr(self, name), name)

    @staticmethod
    @functools.cache
    def current() -> "PackageRecord":
        """Return the record of the running package; the files are read once per process.

        Returns
        -------
        package : PackageRecord
        """
        top = Path(__file__).parents[2]
        return PackageRecord(
            name=top.name,
            version=__version__,
            sha256_sources=fingerprint(top, _SOURCES),
            sha256_kernels=fingerprint(top, _KERNELS),
        )

    def to_dict(self) -> dict[str, str]:
        """Return the fields as plain values that `json` writes."""
        return asdict(self)

    @classmethod
    def from_dict(cls, package: Mapping[str, str]) -> Self:
        """Return the record that `to_dict` wrote."""
        return cls(**package)

    def __str__(self) -> str:
        return words.describe_package(self.to_dict())


def fingerprint(top: Path, suffixes: Iterable[str]) -> str:
    """Return the SHA-256 over the names and contents of the files with these suffixes below a folder."""
    found = {path.relative_to(top).as_posix(): path for path in top.rglob("*") if path.suffix in suffixes}
    total = hashlib.sha256()
    for name in sorted(found):
        # Each part is a digest of fixed length, so that no two sets of files give the same text.
        for part in (name.encode(), found[name].read_bytes()):
            total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


# A privacy guarantee with its status: proven exact, a proven bound, or an estimate with its confidence.

_KIND = "skprivate.privacy_guarantee"
# Floats that a statement holds as amounts.
_AMOUNTS = ("epsilon", "confidence", "lower", "allowance")
_NO_SUM = (
    "leakages about one secret do not add up under a fixed prior: compute the leakage of the joint channel "
    "(joint_channel), or pml_from_ldp of the sum of the releases' local epsilons."
)


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class PrivacyGuarantee(Labelled):
    """A bound on the leakage of a release, and its status.

    Parameters
    ----------
    epsilon : float
        The bound in nats, at least 0; infinite if there is no bound.
    status : {"exact", "upper_bound", "estimate"}
        "exact": the bound is attained. "upper_bound": it is proven. "estimate": it is right with a
        confidence.
    criterion : {"pml", "corollary1", "dp"}
        Pointwise maximal leakage (almost surely), its simpler bound, or differential privacy.
    subject : str
        Name of the release, such as "your report".
    prior : str, default=""
        The prior in words; empty for differential privacy, which has none.
    confidence : float or None, default=None
        Confidence of an estimate, in (0, 1).
    lower : float or None, default=None
        A certified lower bound on the same leakage.
    allowance : float, default=0.0
        Part of `epsilon` for the grid of the noise and for rounding.
    method : str, default=""
        How the bound was computed.
    movable : bool, default=True
        Whether the distribution of the outcome given the secret is the same under all priors. It is not for
        one player among others, because the prior decides what the player's secret reveals about theirs.
    report_epsilon : Fraction or None, default=None
        Local epsilon of the one report of the guarantee, if known. `PrivacySpent.given_prior` accepts the
        guarantee for no other run. It is not a part of the statement, so `from_dict` does not restore it.

    Raises
    ------
    TypeError, ValueError
        A field has another type or is out of its range, an estimate has no confidence, or leakage no prior.

    Notes
    -----
    **Privacy**: a function of public things and of the prior, never of the secrets themselves.

    Examples
    --------
    >>> from skprivate.accounting import PrivacyGuarantee
    >>> guarantee = PrivacyGuarantee(
    ...     epsilon=0.584, status="exact", criterion="pml", subject="your report",
    ...     prior="two values with probabilities 0.7 and 0.3",
    ... )
    >>> print(guarantee.statement())
    For an adversary whose prior is two values with probabilities 0.7 and 0.3, your report raises the best
    success probability of any guess about your value by at most the factor 1.80.
    >>> guarantee + guarantee
    Traceback (most recent call last):
    TypeError: leakages about one secret do not add up under a fixed prior: ...
    """

    epsilon: float
    status: Status
    criterion: Criterion
    subject: str
    prior: str = ""
    confidence: float | None = None
    lower: float | None = None
    allowance: float = 0.0
    method: str = ""
    movable: bool = True
    report_epsilon: Fraction | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        codec.check_choice(self.status, "status", get_args(Status))
        codec.check_choice(self.criterion, "criterion", get_args(Criterion))
        codec.check_text(self.subject, "subject")
        for name in ("prior", "method"):
            if getattr(self, name) != "":
                codec.check_text(getattr(self, name), name)
        # NumPy's scalars would change the printed form and the pickle.
        for name in ("epsilon", "allowance"):
            object.__setattr__(self, name, _number(getattr(self, name), name))
        for name in ("confidence", "lower"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _number(getattr(self, name), name))
        if self.report_epsilon is not None:
            object.__setattr__(self, "report_epsilon", check_positive(self.report_epsilon, "report_epsilon"))
        self._check_ranges()

    def _check_ranges(self) -> None:
        if not self.epsilon >= 0 or not 0 <= self.allowance <= self.epsilon:
            raise ValueError("epsilon must be at least 0, and allowance between 0 and epsilon.")
        if self.lower is not None and not 0 <= self.lower <= self.epsilon + words.ROUNDING * max(
            1, self.epsilon
        ):
            raise ValueError("lower must be between 0 and epsilon.")
        if (self.status == "estimate") != (self.confidence is not None):
            raise ValueError("an estimate needs a confidence, and nothing else has one.")
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise ValueError("confidence must be above 0 and below 1.")
        if (self.criterion == "dp") != (not self.prior.strip()):
            raise ValueError("prior must be given for leakage, which depends on it, but not for 'dp'.")

    def __float__(self) -> float:
        return self.epsilon

    def __add__(self, other: Any) -> NoReturn:
        raise TypeError(_NO_SUM)

    __radd__ = __add__

    def __str__(self) -> str:
        return words.describe_guarantee(self.to_dict())

    def statement(self) -> str:
        """Return the sentence for the holder of the secret.

        Returns
        -------
        sentence : str
            The factor is rounded up to three digits. The sentence of an estimate names its confidence. If the
            guarantee is infinite, the sentence states that no bound holds.
        """
        return words.sentence_of_guarantee(self._encoded())

    def under_prior(self, rho: float | Fraction, *, confidence: float | Fraction | None = None) -> Self:
        """Return the guarantee under another prior P' with dP'/dP >= rho and no larger support than P.

        Parameters
        ----------
        rho : float or Fraction
            In (0, 1].
        confidence : float, Fraction or None, default=None
            In (0, 1), if rho is right only with this confidence (see `prior_ratio`). Then the guarantee is an
            estimate. The errors of two estimates add up.

        Returns
        -------
        guarantee : PrivacyGuarantee
            A guarantee with ``log(1 / rho)`` added. No output's probability falls by more than the factor
            rho, and the largest conditional probability is over no more inputs.

        Raises
        ------
        ValueError
            rho or the confidence is out of its range, or the resulting confidence is not above 0. The
            criterion is not "pml" (differential privacy holds under every prior). `movable` is False: under
            another prior players may depend on each other, and no rho bounds that.

        Notes
        -----
        Proof: :doc:`/proofs/leakage`.
        """
        if self.criterion != "pml":
            raise ValueError("only criterion 'pml' has other priors; 'dp' holds under every prior.")
        if not self.movable:
            raise ValueError(
                "leakage about one player does not carry over to another prior, under which others may "
                "reveal it. Use the guarantee about all players, or compute it under that prior."
            )
        ratio = check_positive(rho, "rho")
        if ratio > 1 or not float(ratio):
            raise ValueError("rho must be above 0, as a float too, and at most 1.")
        level = self.confidence
        if confidence is not None:
            given = float(check_probability(confidence, "confidence"))
            level = given if level is None else given + level - 1
        return replace(
            self,
            epsilon=self.epsilon - math.log(ratio),
            status="upper_bound" if level is None else "estimate",
            confidence=level,
            lower=None,
            prior=f"at least {words.round_up(float(ratio))} times this one, within its support: {self.prior}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the machine-readable statement, with plain values that `json` writes.

        Returns
        -------
        statement : dict
            In the form of `statement_schema`.
        """
        return {**self._encoded(), "statement": self.statement()}

    def _encoded(self) -> dict[str, Any]:
        texts = ("status", "criterion", "subject", "prior", "method")
        return {
            "schema": _KIND,
            "version": codec.VERSION,
            **{name: codec.encode_amount(getattr(self, name)) for name in _AMOUNTS},
            **{name: getattr(self, name) for name in texts},
            "movable": self.movable,
        }

    @classmethod
    def from_dict(cls, statement: Mapping[str, Any]) -> Self:
        """Return the guarantee that `to_dict` wrote.

        Parameters
        ----------
        statement : mapping
            Output of `to_dict`, possibly through JSON.

        Returns
        -------
        guarantee : PrivacyGuarantee

        Raises
        ------
        ValueError
            It is not such a statement, is of another version, has missing or unknown parts, or contradicts
            itself.
        """
        codec.check_kind(statement, _KIND)
        with codec.readable():
            known = {item.name: statement[item.name] for item in fields(cls) if item.compare}
            for name in _AMOUNTS:
                amount = codec.decode_amount(known[name])
                known[name] = None if amount is None else float(amount)
            guarantee = cls(**known)
            codec.check_unchanged(guarantee.to_dict(), statement)
        return guarantee

    def to_registry(self, **who_and_why: Any) -> RegistryEntry:
        """Return the guarantee as an entry of the public registry of differential privacy deployments.

        Parameters
        ----------
        **who_and_why : str
            Fields that the software cannot know; see `RegistryEntry`. Missing fields are printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            The flavour of pointwise maximal leakage is "Custom". An estimate, or no bound, is "Not
            differentially private".

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or the guarantee itself states it.
        ValueError
            A text is empty.
        """
        return registry_entry_of_guarantee(self.to_dict(), PackageRecord.current().to_dict(), who_and_why)

    def _labels(self) -> list[Label]:
        return [label_of_guarantee(self.to_dict())]


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}.")
    return float(value)


# Disclosure risk of a protection that is not differential privacy: one attack, one metric, one bound.

_TEXTS = ("protection", "attack", "metric", "assumption")
_LISTS = ("unprotected", "leaks")


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class DisclosureRisk(Labelled):
    """The claim of a protection against one attack; it is not differential privacy.

    It has no epsilon. Such a protection has no bound against any other attack, nor against an attacker who
    knows more than assumed.

    Parameters
    ----------
    protection : str
        The protection, with its parameters.
    attack : str
        The attacker, its action and its knowledge.
    metric : str
        The metric, in percent.
    bound : mapping of str to float
        Greatest expected value of the metric in percent, per column or party.
    assumption : str
        Condition under which the bound holds.
    unprotected : tuple of str, default=()
        Quantities that the attacker sees in spite of the protection.
    leaks : tuple of str, default=()
        Values that were read from rows although they should have been declared.

    Raises
    ------
    ValueError
        A bound is not in [0, 100], or a text holds control characters.

    Examples
    --------
    >>> from skprivate.accounting import DisclosureRisk
    >>> print(DisclosureRisk(
    ...     protection="TQMA of depth 4", attack="linkage within 0.001 by age",
    ...     metric="correct orientation", bound={"age": 6.4}, assumption="ages are uniform"))
    TQMA of depth 4 (not differential privacy)
    - attack: linkage within 0.001 by age
    - correct orientation at most: age 6.4 %
    - assumed: ages are uniform
    """

    protection: str
    attack: str
    metric: str
    bound: Mapping[str, float]
    assumption: str
    unprotected: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in _TEXTS:
            if getattr(self, name) != "":
                codec.check_text(getattr(self, name), name)
        if not all(0 <= value <= 100 for value in self.bound.values()):
            raise ValueError("a bound is a percentage, in [0, 100].")
        object.__setattr__(self, "bound", codec.FrozenMapping(self.bound))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values that `json` writes; `statement_schema` does not describe them.

        Returns
        -------
        risk : dict
        """
        return {
            **{name: getattr(self, name) for name in _TEXTS},
            "bound": {name: float(value) for name, value in self.bound.items()},
            **{name: list(getattr(self, name)) for name in _LISTS},
        }

    @classmethod
    def from_dict(cls, risk: Mapping[str, Any]) -> Self:
        """Return the risk that `to_dict` wrote.

        Parameters
        ----------
        risk : mapping
            Output of `to_dict`, possibly through JSON.

        Returns
        -------
        risk : DisclosureRisk

        Raises
        ------
        ValueError
            Something is missing, unknown or out of its range.
        """
        with codec.readable():
            found = cls(**{**risk, **{name: tuple(risk[name]) for name in _LISTS}})
            codec.check_unchanged(found.to_dict(), risk)
        return found

    def _labels(self) -> list[Label]:
        return [label_of_risk(self.to_dict())]

    def to_registry(self, **who_and_why: Any) -> RegistryEntry:
        """Return a registry entry with the flavour "Not differentially private".

        Parameters
        ----------
        **who_and_why : str
            Fields that the software cannot know; see `RegistryEntry`. Missing fields are printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            An entry of the registry of differential privacy deployments, without any epsilon. Its description
            of the parameters has the attack, the metric and the bound.

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or the risk itself states it.
        ValueError
            A text is empty.
        """
        return registry_entry_of_risk(self.to_dict(), PackageRecord.current().to_dict(), who_and_why)

    def __str__(self) -> str:
        return words.describe_risk(self.to_dict())
