# SPDX-License-Identifier: BSD-3-Clause
"""Statements that machines read: what was spent, and guarantees, as plain JSON values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from fractions import Fraction
from importlib import resources
from typing import TYPE_CHECKING, Any, Self, cast

from ...utils._json_documents import UNREADABLE, check_nesting
from .._amounts import show
from .html import label_fragment, label_of_guarantee, label_of_spent, label_page
from .plain_values import decode_amount, decode_scale, decode_value, encode_amount, encode_value
from .provenance import AuditRecord, PackageRecord
from .registry import RegistryEntry, registry_entry, registry_entry_of_guarantee

if TYPE_CHECKING:
    from .spent import PrivacySpent

#: Raised when a reader of older statements would misread newer ones.
VERSION = 1
_SCHEMA = "privacy_spent.schema.json"


def statement_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what the ``to_dict`` methods of this package write.

    Returns
    -------
    schema : dict
        It describes statements of `PrivacySpent`, of `PrivacyGuarantee` and of `privacy_report`.

    Notes
    -----
    **Privacy**: a constant. That a statement is valid says that it is well-formed, not that it is true.

    Examples
    --------
    >>> from skprivate.accounting import statement_schema
    >>> statement_schema()["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    text = resources.files(__package__).joinpath(_SCHEMA).read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


class SpentStatements:
    """The statements of a `PrivacySpent`."""

    def to_dict(self: Any) -> dict[str, Any]:
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
        charged = {name: encode_amount(getattr(self, name)) for name in ("epsilon", "delta", "rho")}
        return {
            "schema": "skprivate.privacy_spent",
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
            "audit": None if self.audit is None else _encode_audit(self.audit),
            "package": asdict(self.package or PackageRecord.current()),
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
        check_kind(statement, "skprivate.privacy_spent")
        with readable():
            spent = _read_spent(cls, statement)
            check_unchanged(spent.to_dict(), statement)
        return cast(Self, spent)

    def to_registry(self: Any, **who_and_why: Any) -> RegistryEntry:
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
        return registry_entry([self], list(self.reasons), who_and_why)

    def to_html(self: Any) -> str:
        """Return a label of one page: a whole HTML document without scripts and without anything to load.

        Returns
        -------
        page : str
            All texts are escaped. Readable in light and dark, on paper, and by screen readers. It speaks of
            this step alone, and says so: of a pipeline, the label of its `privacy_report` does.
        """
        return label_page([label_of_spent(self)])

    def _repr_html_(self: Any) -> str:
        """Return the same label for a notebook."""
        return label_fragment([label_of_spent(self)])

    def with_audit(
        self: Any, lower_bound: float | Fraction, confidence: float | Fraction, method: str
    ) -> Any:
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
        audit = AuditRecord(
            lower_bound=cast(Fraction, lower_bound), confidence=cast(Fraction, confidence), method=method
        )
        if audit.lower_bound <= self.epsilon:
            return replace(self, audit=audit)
        reason = f"the claim of epsilon = {show(self.epsilon)} is contradicted: {audit}"
        return replace(self, audit=audit, claim="not-private", reasons=(*self.reasons, reason))

    def __getstate__(self: Any) -> dict[str, Any]:
        # The process that pickles is the one that ran, unless the object already came from elsewhere.
        return {**vars(self), "package": self.package or PackageRecord.current()}


class GuaranteeStatements:
    """The statements of a `PrivacyGuarantee`."""

    def to_dict(self: Any) -> dict[str, Any]:
        """Return the statement that machines read, of plain values that `json` writes.

        Returns
        -------
        statement : dict
            As `statement_schema` describes it.
        """
        amounts = ("epsilon", "confidence", "lower", "allowance")
        return {
            "schema": "skprivate.privacy_guarantee",
            "version": VERSION,
            **{name: encode_amount(getattr(self, name)) for name in amounts},
            **{name: getattr(self, name) for name in ("status", "criterion", "subject", "prior", "method")},
            "movable": self.movable,
            "statement": self.statement(),
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
        guarantee : PrivacyGuarantee

        Raises
        ------
        ValueError
            If it is no such statement, is of another version, has too much or too little, or contradicts
            itself.
        """
        check_kind(statement, "skprivate.privacy_guarantee")
        with readable():
            known = {item.name: statement[item.name] for item in fields(cast(Any, cls))}
            for name in ("epsilon", "confidence", "lower", "allowance"):
                amount = decode_amount(known[name])
                known[name] = None if amount is None else float(amount)
            guarantee = cls(**known)
            check_unchanged(cast(Any, guarantee).to_dict(), statement)
        return guarantee

    def to_registry(self: Any, **who_and_why: Any) -> RegistryEntry:
        """Return the guarantee as an entry of the public registry of differential privacy deployments.

        Parameters
        ----------
        **who_and_why : str
            What the software cannot know; see `RegistryEntry`. What is not given is printed as TODO.

        Returns
        -------
        entry : RegistryEntry
            Pointwise maximal leakage is "Custom"; an estimate, or no bound, is "Not differentially private".

        Raises
        ------
        TypeError
            A keyword is not a field of the registry, or is one that the guarantee itself states.
        ValueError
            A text is empty.
        """
        return registry_entry_of_guarantee(self, who_and_why)

    def to_html(self: Any) -> str:
        """Return a label of one page: a whole HTML document without scripts and without anything to load.

        Returns
        -------
        page : str
            All texts are escaped.
        """
        return label_page([label_of_guarantee(self)])


def check_kind(statement: Any, kind: str) -> None:
    """Refuse what is no statement of this kind and version."""
    if not isinstance(statement, Mapping):
        raise TypeError(f"statement must be a mapping, got {type(statement).__name__}.")
    with readable():
        check_nesting(statement)
    if statement.get("schema") != kind:
        raise ValueError(f"The statement's schema must be {kind!r}, got {_shown(statement.get('schema'))}.")
    if statement.get("version") != VERSION:
        raise ValueError(
            f"The statement is of version {_shown(statement.get('version'))}; this package reads version "
            f"{VERSION}."
        )


def _shown(value: Any) -> str:
    short = isinstance(value, str | int | float | None) and len(text := f"{value!r:.41}") <= 40
    return text if short else f"something of type {type(value).__name__}"


@contextmanager
def readable() -> Iterator[None]:
    """Turn whatever a statement's content makes fail into a ValueError that says so."""
    try:
        yield
    except UNREADABLE as error:
        # A check of a field says what is wrong in a sentence, other errors say it in a few words.
        sentence = type(error) is ValueError and str(error).endswith(".")
        problem = str(error) if sentence else f"The statement cannot be read: {told(error)}."
        cause = error
    else:
        return
    raise ValueError(problem) from cause


def check_unchanged(again: Mapping[str, Any], statement: Mapping[str, Any]) -> None:
    """Refuse a statement of which something is left over, or contradicts the rest."""
    nothing = object()
    names = again.keys() | statement.keys()
    wrong = sorted(str(name) for name in names if again.get(name, nothing) != statement.get(name, nothing))
    if wrong:
        raise ValueError(
            f"The statement contradicts itself, or holds what no statement has, in: {', '.join(wrong)}."
        )


def _read_spent(cls: Any, statement: Mapping[str, Any]) -> PrivacySpent:
    from .guarantee import PrivacyGuarantee

    # What is left over is found when the statement is compared with what is written of the object.
    derived = {"epsilon", "delta", "rho"}
    known = {item.name: statement[item.name] for item in fields(cls) if item.name not in derived}
    known |= {name: decode_amount(statement["charged"][name]) for name in derived}
    for name in ("sensitivity", "noise_scale"):
        known[name] = decode_scale(known[name])
    known["unprotected"] = {name: decode_value(value) for name, value in known["unprotected"].items()}
    if known["leakage"] is not None:
        known["leakage"] = PrivacyGuarantee.from_dict(known["leakage"])
    if known["audit"] is not None:
        known["audit"] = _decode_audit(known["audit"])
    known["package"] = PackageRecord(**known["package"])
    return cast("PrivacySpent", cls(**known))


def told(error: Exception) -> str:
    """Say what an error was about, in the words of a statement's reader."""
    missing = isinstance(error, KeyError)
    return f"it has no {error}" if missing else str(error).rstrip(".")


def _encode_audit(audit: AuditRecord) -> dict[str, Any]:
    amounts = {name: encode_amount(getattr(audit, name)) for name in ("lower_bound", "confidence")}
    return {**amounts, "method": audit.method}


def _decode_audit(audit: Mapping[str, Any]) -> AuditRecord:
    bound, confidence = (cast(Fraction, decode_amount(audit[name])) for name in ("lower_bound", "confidence"))
    return AuditRecord(lower_bound=bound, confidence=confidence, method=audit["method"])
