# SPDX-License-Identifier: BSD-3-Clause
"""One page on a whole study for its signatories: runs, claims, persons, and the meaning of epsilon."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..utils._public_module import reason_against
from ._composition.compose import CompositionPart, compose
from ._ledger import report
from ._ledger.ledger import LedgerAudit, PrivacyLedger
from ._privacy_amounts import show, show_pair
from ._privacy_report import PrivacyReport
from ._statements.fields import check_text, check_texts
from ._statements.html import Label, Labelled, amounts_figure, label_page
from ._statements.spent import LedgerEntry, PrivacySpent
from ._statements.text import show_factor

_ODDS = {
    "replace-one": "between two possible values of the data of one {unit}",
    "add-remove": "that one {unit} is in the data",
    "local": "between two possible values that one {unit} reported on",
    "joint": "between two possible values of the data of one {unit}, from everything that others see",
    "label": "between two possible labels of one {unit}, whose features are not protected",
}
_NOT_COVERED = (
    (
        "other steps of a pipeline",
        "values that a scaler, an imputer or an encoder in front of a model learned from the rows: a charge "
        "and a claim of one step cover that step alone; privacy_report(pipeline) covers all steps",
    ),
    ("choices by eye", "columns, bounds, models and cut-offs that were chosen after reading private rows"),
    ("other releases", "results from the same rows that were published without this ledger"),
    (
        "facts about groups of people",
        "a result about people like a person may reveal something about that person, whether or not that "
        "person's data were used",
    ),
    ("more rows than declared", "persons with rows in several units, or in several groups declared disjoint"),
    ("the rows themselves", "their readers: access rights, copies and logs are not a part of this page"),
    ("the record", "purposes, persons and approvers are statements of the user; nothing checks them"),
)


def study_page(
    ledger: PrivacyLedger | LedgerAudit,
    statements: Mapping[str, Any] | Sequence[Any] = (),
    *,
    title: str = "Privacy record of a study",
    signatures: Sequence[str] = ("Responsible for the study", "Responsible for privacy"),
    path: str | os.PathLike[str] | None = None,
) -> str:
    """Return one page on a whole study, to be read, printed and signed.

    Parameters
    ----------
    ledger : PrivacyLedger or LedgerAudit
        The account of the study.
    statements : mapping of str to statement, or sequence of statements, default=()
        The claims for its results, by public names. A statement is a `PrivacySpent`, `PrivacyReport`,
        `PrivacyGuarantee` or `DisclosureRisk`, or an object with one of them as ``privacy_spent_`` or
        ``privacy_spent``, such as a fitted estimator. For a pipeline pass its `privacy_report`.
    title : str, default="Privacy record of a study"
        A public text.
    signatures : sequence of str, default=("Responsible for the study", "Responsible for privacy")
        Roles of the signatories, one line for each.
    path : str or path-like, default=None
        File to which the page is also written; an existing file is replaced. The ledger's own files are
        refused.

    Returns
    -------
    page : str
        A whole HTML document without scripts and external resources. All texts are escaped.

    Raises
    ------
    TypeError, ValueError
        A parameter has another type, or a text is empty.
    LedgerError
        The ledger's file cannot be used.

    See Also
    --------
    PrivacyLedger.record : Records purpose, person, approver and expiry.
    PrivacyLedger.to_html : The account alone.

    Notes
    -----
    The page explains epsilon for all entries together, by basic composition, with groups of disjoint data as
    declared. It bounds how much a reader learns about one unit. This reader sees all results, knows all other
    units, and considers two hypotheses equally likely before. Numbers are rounded against the claim.

    **Privacy**: the page is a function of the ledger, of the statements and of public texts. It reads no row
    and no result of the study.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skprivate.accounting import PrivacyLedger, PrivacySpent, study_page
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=1, relation="replace-one", noise_scale=4,
    ...     noise_source="os-entropy", deployment="curator", claim="dp",
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(Path(folder, "study.ledger"), epsilon=2)
    ...     with ledger.record(purpose="risk model", person="A. Statistician"):
    ...         ledger.charge(spent, "DPTreeClassifier")
    ...     page = study_page(ledger, {"risk model": spent}, title="Falls on ward 3")
    >>> "from even odds to at most 73.11 %" in page
    True
    """
    if not isinstance(ledger, (PrivacyLedger, LedgerAudit)):
        raise TypeError(f"ledger must be a PrivacyLedger or a LedgerAudit, got {type(ledger).__name__}.")
    check_text(title, "title")
    signatures = check_texts(signatures, "signatures")
    named = _named(statements)
    account = ledger._account()
    labels = [
        _head(account, ledger._path.name),
        _meaning(account),
        _section("Runs", "Every charge, by purpose, label and estimator.", _runs(account.entries)),
        _section("Who saw what", "Statements of the users; nothing checks them.", _people(account.entries)),
        *_claims(named),
        _section(
            "Refused and failed",
            "Neither cost epsilon.",
            [report.describe_failures(account), *report.describe_refusals(account.refusals)],
        ),
        _section(
            "What this does not cover",
            "No epsilon bounds these risks.",
            [*_uncharged(named, account.entries), *_exposed(account), *_NOT_COVERED],
        ),
        _section("Signatures", "Name, date and signature.", [(role, "_" * 40) for role in signatures]),
    ]
    return ledger._written(label_page(labels, title), path)


def _section(
    name: str, subject: str, rows: Sequence[tuple[str, str]], *, private: bool = True, verdict: str = ""
) -> Label:
    return Label(
        section=name,
        subject=subject,
        private=private,
        verdict=verdict,
        rows=rows or [("nothing", "no charge was made")],
        caption=name,
    )


def _named(statements: Mapping[str, Any] | Sequence[Any]) -> list[tuple[str, Any]]:
    """Return statements with their names; an object that holds a statement is replaced by it."""
    if isinstance(statements, Mapping):
        named = list(statements.items())
    elif isinstance(statements, (list, tuple)):
        named = [(f"Result {number}", statement) for number, statement in enumerate(statements, 1)]
    else:
        raise TypeError(f"statements must be a mapping or a sequence, got {type(statements).__name__}.")
    found = []
    for name, holder in named:
        check_text(name, "each name of statements")
        inner = getattr(holder, "privacy_spent_", getattr(holder, "privacy_spent", holder))
        if not isinstance(inner, Labelled):
            raise TypeError(
                f"The statement {name!r} must be a PrivacySpent, PrivacyReport, PrivacyGuarantee or "
                f"DisclosureRisk, or have one as privacy_spent_, got {type(holder).__name__}. For a pipeline "
                "or a search, pass skprivate.privacy_report(estimator)."
            )
        # Only classes that inherit from a private estimator are checked. The user vouches for other objects.
        inherits = hasattr(type(holder), "_declares")
        doubt = reason_against(holder, "PrivateEstimatorMixin") if inherits else None
        if doubt is not None:
            raise TypeError(
                f"The class of the statement {name!r} {doubt}. Pass skprivate.privacy_report(estimator), "
                "which reports that."
            )
        found.append((name, inner))
    return found


def _claims(named: Sequence[tuple[str, Any]]) -> list[Label]:
    """Return the labels of the statements, each under its name."""
    labels = []
    for name, statement in named:
        section = f"Claim: {name}"
        labels += [replace(label, section=section) for label in statement._labels()]
    return labels


def _uncharged(named: Sequence[tuple[str, Any]], entries: Sequence[LedgerEntry]) -> list[tuple[str, str]]:
    """Return the claims without a matching charge."""
    charged = {_kind(entry) for entry in entries}
    rows = []
    for name, statement in named:
        several = statement.covered if isinstance(statement, PrivacyReport) else (statement,)
        for spent in several:
            if isinstance(spent, PrivacySpent) and _kind(spent) not in charged:
                missing = "no charge of this ledger has its mechanism, amounts, relation and unit"
                rows.append((f"claim of {name}", missing))
    return rows


def _kind(run: PrivacySpent | LedgerEntry) -> tuple[Any, ...]:
    return run.mechanism, run.epsilon, run.delta, run.relation, run.unit


def _head(account: report.Account, file: str) -> Label:
    entries = account.entries
    rows = [("ledger", f"{file}, {account.identity.uuid}"), ("charges", str(len(entries)))]
    if entries:
        first, last = (f"{entry.time:%Y-%m-%d %H:%M}" for entry in (entries[0], entries[-1]))
        rows.append(("from, to (UTC)", f"{first}, {last}"))
    rows += [(name.lower(), text) for name, text in report.describe_ceiling(account)]
    rows.append(("hash of all charges", account.state.chain or "-"))
    return Label(
        subject=f"Made on {datetime.now(UTC):%Y-%m-%d} (UTC) from the study's ledger.",
        private=not report.count_exposed(entries),
        verdict=report.verdict_of(entries),
        figure=f"{amounts_figure(*account.spent)} spent",
        rows=rows,
        note="The sum is over all charges, as if all touched the same rows. The hash has no key: it finds "
        "accidents, not adversaries.",
    )


def _meaning(account: report.Account) -> Label:
    """Return the meaning of the epsilon of all entries, for each relation and unit for which it holds."""
    parts = compose(account.entries).parts if account.entries else ()
    rows = [row for part in parts if part.holds and part.delta < 1 for row in _sentences(part)]
    holds = bool(rows) or not account.entries
    if holds and any(entry.data is not None for entry in account.entries):
        total = show_pair(*account.spent)
        declared = "they were declared disjoint, and only the most expensive one counts above"
        rows.append(("if groups of data overlap", f"{declared}; otherwise all of {total} counts"))
    if not holds:
        why = "charges are not private, have different neighbouring relations, or sum to a delta of 1 or more"
        rows = [("no bound", why)]
    return _section(
        "What epsilon means here",
        "For a reader who sees all results, and already knows the data of all others.",
        rows,
        private=holds,
        verdict="" if holds else "No sentence holds for all results together",
    )


def _sentences(part: CompositionPart) -> list[tuple[str, str]]:
    epsilon = float(part.epsilon)
    odds = _ODDS[part.relation].format(unit=part.unit)
    belief = math.ceil(1e4 * (1 - 1e-12) / (1 + math.exp(-epsilon))) / 100
    delta = "0: the bound has no exception"
    if part.delta:
        delta = (
            f"{show(part.delta)}: as if the results could reveal everything with at most this probability, "
            "and otherwise obeyed the bound"
        )
    return [
        ("epsilon", f"{show(part.epsilon)} ({part.relation}, {part.unit})"),
        ("in odds", f"the odds {odds}: multiplied or divided by at most {show_factor(epsilon)}"),
        ("in belief", f"from even odds to at most {belief:.2f} % for either of the two"),
        ("delta", delta),
    ]


def _runs(entries: Sequence[LedgerEntry]) -> list[tuple[str, str]]:
    groups = report.grouped(
        entries, lambda it: (it.purpose or "no purpose", it.label or "no label", it.estimator)
    )
    rows = []
    for (purpose, label, name), group in groups.items():
        exposed = report.count_exposed(group)
        nominal = f"; NOT PRIVATE: {exposed}, nominal amounts" if exposed else ""
        spent = f"{name}: {show_pair(*report.sums_of(group))} ({len(group)} charges){nominal}"
        rows.append((f"{purpose}; {label}", spent))
    return rows


def _people(entries: Sequence[LedgerEntry]) -> list[tuple[str, str]]:
    groups = report.grouped(entries, lambda it: (it.person, it.data, it.approver, it.expiry))
    return [
        (
            person or "person not stated",
            f"data: {data or 'all'}; approved by: {approver or 'not stated'}; until: "
            f"{report.describe_expiry(group)}; "
            f"for: {', '.join(dict.fromkeys(it.purpose or 'no purpose' for it in group))} "
            f"({show_pair(*report.sums_of(group))})",
        )
        for (person, data, approver, _), group in groups.items()
    ]


def _exposed(account: report.Account) -> list[tuple[str, str]]:
    exposed = report.count_exposed(account.entries)
    rows = [("charges that are not private", f"{exposed} of {len(account.entries)}")] if exposed else []
    failed = account.state.failures
    if failed:
        rows.append(("failed fits", f"{failed}; each may reveal something about the rows"))
    return rows
