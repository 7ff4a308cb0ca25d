# SPDX-License-Identifier: BSD-3-Clause
"""One charge of a ledger, and the row of text that it is stored as."""

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from ...utils._public_module import public_module
from .._amounts import from_text, to_text
from .spent import PrivacySpent, Relation, Unit


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
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
    relation : {"replace-one", "add-remove", "local", "label"}
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


def to_row(
    spent: PrivacySpent, epsilon: Fraction, estimator: str, label: str | None, data: str | None
) -> tuple[str | int | None, ...]:
    """Return a run as the columns of the ledger's table, charged now."""
    time = datetime.now(UTC).isoformat()
    amounts = to_text(epsilon), to_text(spent.delta)
    kind = spent.relation, spent.unit, int(spent.private)
    details = (_optional_text(it) for it in (spent.rho, spent.sensitivity, spent.noise_scale))
    return (time, estimator, spent.mechanism, *amounts, *kind, label, data, *details)


def from_row(
    time: str,
    estimator: str,
    mechanism: str,
    epsilon: str,
    delta: str,
    relation: Relation,
    unit: Unit,
    private: int,
    label: str | None,
    data: str | None,
    rho: str | None,
    sensitivity: str | None,
    noise_scale: str | None,
) -> LedgerEntry:
    """Return the entry of a row; TypeError or ValueError if it is none."""
    return LedgerEntry(
        time=datetime.fromisoformat(time),
        estimator=estimator,
        mechanism=mechanism,
        epsilon=from_text(epsilon),
        delta=from_text(delta),
        relation=relation,
        unit=unit,
        private=bool(private),
        label=label,
        data=data,
        rho=_optional_amount(rho),
        sensitivity=_optional_amount(sensitivity),
        noise_scale=_optional_amount(noise_scale),
    )


def _optional_text(amount: int | Fraction | None) -> str | None:
    return None if amount is None else to_text(Fraction(amount))


def _optional_amount(text: Any) -> Fraction | None:
    return None if text is None else from_text(text)
