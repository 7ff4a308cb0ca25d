# SPDX-License-Identifier: BSD-3-Clause
"""One charge of a ledger, and the row of text that it is stored as."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, Self, get_args

from ..._typing import Relation, Unit
from ...utils._public_module import public_module
from .._privacy_amounts import ReadableAmounts, from_text, to_text
from .fields import check_choice, check_text, check_unchanged, readable
from .spent import PrivacySpent

_AMOUNTS = ("epsilon", "delta")
_OPTIONAL_AMOUNTS = ("rho", "sensitivity", "noise_scale")
_LABEL = 8  # column of a row
RECORD = ("purpose", "person", "approver", "expiry")
_N_OTHERS = 13  # columns before those of the record
#: The purpose, person, approver and expiry of a charge, where they were said.
Record = tuple[str | None, ...]
NO_RECORD: Record = (None, None, None, None)


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerEntry(ReadableAmounts):
    """One charge, as read from a `PrivacyLedger`.

    Attributes
    ----------
    time : datetime
        When it was charged, in UTC.
    estimator : str
        Name of the estimator.
    mechanism : str
        Name of the mechanism.
    epsilon, delta : Fraction
        The amount; the nominal one if the run was not private.
    relation : {"replace-one", "add-remove", "local", "label", "joint"}
        Which data sets counted as neighbours.
    unit : {"row", "group", "player"}
        What a neighbour differed in.
    private : bool
        Whether the run claimed differential privacy.
    label : str or None
        The innermost `PrivacyLedger.label` at the time.
    data : str or None
        The group of data that it touched, as declared by `PrivacyLedger.data`; None: it may touch all.
    rho : Fraction or None
        Parameter of zero-concentrated differential privacy, as in `PrivacySpent`.
    sensitivity, noise_scale : int, Fraction or None
        In units of the integer grid, as in `PrivacySpent`.
    purpose, person, approver, expiry : str or None
        What `PrivacyLedger.record` said at the time: texts of the user, which nothing checks.

    See Also
    --------
    PrivacyLedger.entries : Where entries come from.

    Notes
    -----
    **Privacy**: an entry holds names, a time and amounts, nothing that was computed from rows.

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
            check_text(getattr(self, name), name)
        for name in (*RECORD, "label", "data"):
            if getattr(self, name) is not None:
                check_text(getattr(self, name), name)
        check_choice(self.relation, "relation", get_args(Relation))
        check_choice(self.unit, "unit", get_args(Unit))

    def has_expired(self, today: date) -> bool:
        """Return whether ``expiry`` is an ISO date before a day; any other text never expires.

        Parameters
        ----------
        today : datetime.date
            The day to compare with. On the day of its expiry an entry has not expired yet.

        Returns
        -------
        expired : bool
        """
        try:
            return self.expiry is not None and datetime.fromisoformat(self.expiry.strip()).date() < today
        except ValueError:
            return False

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as `PrivacyLedger.to_json` writes it: plain values, amounts as exact text.

        Returns
        -------
        entry : dict
        """
        amounts = {name: _optional_text(getattr(self, name)) for name in (*_AMOUNTS, *_OPTIONAL_AMOUNTS)}
        return {**vars(self), "time": self.time.isoformat(), **amounts}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Self:
        """Read `to_dict` back.

        Parameters
        ----------
        entry : mapping
            What `to_dict` returned, possibly through JSON.

        Returns
        -------
        entry : LedgerEntry

        Raises
        ------
        ValueError
            If something is missing, left over, or no amount or time.
        """
        with readable():
            found = cls(**_decode_fields(entry))
            check_unchanged(found.to_dict(), entry)
        return found

    def to_row(self) -> tuple[str | int | None, ...]:
        """Return the entry as the columns of the ledger's table, over which its hash is."""
        return tuple({**self.to_dict(), "private": int(self.private)}.values())


def to_row(
    spent: PrivacySpent,
    epsilon: Fraction,
    estimator: str,
    label: str | None,
    data: str | None,
    record: Record = NO_RECORD,
) -> tuple[str | int | None, ...]:
    """Return a run as the columns of the ledger's table, charged now."""
    time = datetime.now(UTC).isoformat()
    amounts = to_text(epsilon), to_text(spent.delta)
    kind = spent.relation, spent.unit, int(spent.private)
    details = (_optional_text(it) for it in (spent.rho, spent.sensitivity, spent.noise_scale))
    return (time, estimator, spent.mechanism, *amounts, *kind, label, data, *details, *record)


def same_charge(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two rows differ in nothing but their times, labels and records."""
    ours, theirs = (it[1:_LABEL] + it[_LABEL + 1 : _N_OTHERS] for it in (row, other))
    return ours == theirs


def from_row(*row: Any) -> LedgerEntry:
    """Return the entry of a row; TypeError or ValueError if it is none."""
    names = (field.name for field in fields(LedgerEntry))
    return LedgerEntry(**_decode_fields(dict(zip(names, row, strict=True))))


def _decode_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    optional = [name for name in _OPTIONAL_AMOUNTS if entry[name] is not None]
    amounts = {name: from_text(entry[name]) for name in (*_AMOUNTS, *optional)}
    time = datetime.fromisoformat(entry["time"])
    return {**entry, **amounts, "time": time, "private": bool(entry["private"])}


def _optional_text(amount: int | Fraction | None) -> str | None:
    return None if amount is None else to_text(Fraction(amount))
