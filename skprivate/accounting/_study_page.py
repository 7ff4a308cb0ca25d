# SPDX-License-Identifier: BSD-3-Clause
"""One page on a whole study, for those who sign it: figures, what epsilon means, budget; details behind."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..utils._public_module import reason_against
from ._composition.compose import CompositionPart, compose
from ._ledger import report
from ._ledger.ledger import LedgerAudit, PrivacyLedger
from ._privacy_amounts import show, show_pair
from ._statements.fields import check_text, check_texts
from ._statements.html import Figures, Label, Labelled, document, escape, label_blocks
from ._statements.spent import LedgerEntry, PrivacySpent
from ._statements.text import RELATIONS, UNITS, show_factor

# Texts of cells; None is a line to fill in.
Rows = Sequence[tuple[str | None, ...]]
Named = Sequence[tuple[str, Any, Figures | None]]

# Most rows of figures and characters of texts on the first page. With them, a study with two evaluations, a
# description and three signatures fits on one sheet of A4. See the test that prints it.
_MOST_RESULTS, _MOST_OF_TABLE, _MOST_CHARACTERS, _MOST_OF_NAME = 6, 8, 70, 30
_TAGS = ('th scope="row"', "td", "td", "td")
_STYLE = """
@page{size:A4;margin:9mm 14mm}
.sp-front{color:#111;background:#fff;font:8.6pt/1.25 system-ui,sans-serif;overflow-wrap:anywhere}
.sp-front h1{font-size:15pt;margin:0 0 1mm} .sp-front small{color:#444;font-size:7.4pt}
.sp-pair{display:grid;grid-template-columns:1fr 1fr;column-gap:7mm}
.sp-front table{border-collapse:collapse;width:100%;margin:1.5mm 0 .5mm}
.sp-front caption{text-align:left;font-weight:700;font-size:9.8pt;border-bottom:1pt solid #111}
.sp-front :is(th,td){text-align:left;vertical-align:top;padding:.3mm 2mm .3mm 0;border-bottom:.3pt solid #bbb}
.sp-front th{font-weight:600;width:20%} .sp-front th:last-child{width:auto} .sp-sign th{width:30%}
.sp-pair th{width:34%} .sp-pair .sp-figures th{width:48%} .sp-figures td:not(:last-child){white-space:nowrap}
.sp-front .sp-line{border-bottom:.8pt solid #111;height:6mm} .sp-more>summary{cursor:pointer;margin:1em 0}
@media screen{body{max-width:190mm}.sp-front{padding:8mm;border:1px solid #bbb}}
@media print{.sp-more>summary{display:none}.sp-more>section:first-of-type{break-before:page}}
"""
_ODDS = {
    "replace-one": "between two possible values of the data of one {unit}",
    "add-remove": "that one {unit} is in the data",
    "local": "between two possible values that one {unit} reported on",
    "joint": "between two possible values of the data of one {unit}, from everything that others see",
    "label": "between two possible labels of one {unit}, whose features are not protected",
}
# Probabilities before the results: their names, and the odds against them.
_PRIORS = (("even odds", 1), ("1 %", 99))
_NOT_COVERED = (
    (
        "steps of a pipeline",
        "a scaler, an imputer or an encoder beside a model: see its privacy_report",
    ),
    ("choices by eye", "columns, bounds, models or cut-offs chosen after somebody saw private rows"),
    ("other releases", "what was published from the same rows without this ledger"),
    ("general results", "facts about people like you, with or without your data in the result"),
    ("several units", "a person with rows in several units, or in groups of data declared disjoint"),
    ("access", "who may read the rows, copies of them, and logs"),
    ("the record", "purposes, persons and approvers are what the user said; nothing checks them"),
)


def study_page(
    ledger: PrivacyLedger | LedgerAudit,
    statements: Mapping[str, Any] | Sequence[Any] = (),
    *,
    title: str = "Privacy record of a study",
    question: str = "",
    signatures: Sequence[str] = ("Responsible for the study", "Responsible for privacy"),
    path: str | os.PathLike[str] | None = None,
) -> str:
    """Return one A4 page on a whole study, to be read, printed and signed, with the details folded behind it.

    Parameters
    ----------
    ledger : PrivacyLedger or LedgerAudit
        The account of the study.
    statements : mapping of str to statement, or sequence of statements, default=()
        The results and what is claimed for them, by public names: `PrivacySpent`, `PrivacyReport`,
        `PrivacyGuarantee`, `DisclosureRisk`, or an object with one of them as ``privacy_spent_`` or
        ``privacy_spent``, such as a fitted estimator. For a pipeline pass its `privacy_report`. Figures of a
        `PrivateEvaluation`, of a `TableDescription` and of a life model are shown.
    title : str, default="Privacy record of a study"
        A public text.
    question : str, default=""
        The question of the study, a public text. By default, the page has a line to fill in.
    signatures : sequence of str, default=("Responsible for the study", "Responsible for privacy")
        The roles of those who sign. Each has a line for name, date and signature.
    path : str or path-like, default=None
        File to which the page is also written; an existing file is replaced. The ledger's own files are
        refused.

    Returns
    -------
    page : str
        A whole HTML document, without scripts or anything to load. All texts are escaped. It prints as one
        page if the details are folded, as they are at first. Unfolded details print on further pages.

    Raises
    ------
    TypeError, ValueError
        A parameter has another type, or a text is empty.
    LedgerError
        The ledger's file cannot be used.

    See Also
    --------
    PrivacyLedger.record : Records the purpose, the person and the approval of charges.
    PrivacyLedger.to_html : The account alone.

    Notes
    -----
    The first page shows who did what and when, the budget, and at most 6 rows of results and 8 of Table One.
    It states the meaning of the epsilon of all results and what epsilon does not cover, and has lines to
    sign. Long texts are cut there. The details hold every charge, every figure and every claim. If the ledger
    records nothing about a row, it is a line to fill in.

    The meaning of epsilon is stated for all entries together, by basic composition, with groups of disjoint
    data as declared. It bounds how much somebody learns about one unit who sees all results and knows all
    other units. It is shown for two probabilities before the results: even odds and 1 %. Numbers are rounded
    against the claim.

    **Privacy**: the page is a function of the ledger, of the statements, of released figures and of public
    texts. No row is read. The figures of a result that is not private are not shown.

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
    for text, name in ((title, "title"), ("-" if question == "" else question, "question")):
        check_text(text, name)
    signatures = check_texts(signatures, "signatures")
    named, account = _named(statements), ledger._account()
    results = [(name, found) for name, _, found in named if found and not found.is_table_one]
    tables = [(name, found) for name, _, found in named if found and found.is_table_one]
    made = f"Made on {datetime.now(UTC):%Y-%m-%d} (UTC) from {ledger._path.name}, {account.identity.uuid}."
    front = [
        f"<h1>{escape(_clip(title))}</h1>",
        _table("Question", [(_clip(question, 2 * _MOST_CHARACTERS) or None,)]),
        '<div class="sp-pair">',
        _table("The study", _study(account.entries)),
        _table("Budget", _budget(account)),
        _table("Results", *_short(results, _MOST_RESULTS), kind="sp-figures"),
        _table("Table One", *_short(tables, _MOST_OF_TABLE), kind="sp-figures"),
        "</div>",
        _table("What the results can reveal", *_meaning(account)),
        _table("Not covered by epsilon", [*_uncovered(named, account), *_NOT_COVERED]),
        _table(
            "Signatures",
            [("", "name", "date", "signature"), *((_clip(it), None, None, None) for it in signatures)],
            kind="sp-sign",
        ),
        f"<small>{escape(f'{made} Hash of all charges: {account.state.chain}')}</small>",
    ]
    labels = [
        replace(report.label_of_ledger(made, account), section="Every charge", caption="Charges"),
        *(
            Label(
                section=f"Figures: {name}",
                subject=found.note,
                verdict="",
                rows=[(what, ", ".join(filter(None, cells))) for what, *cells in found.rows],
            )
            for name, found in (*tables, *results)
        ),
        *(
            replace(label, section=f"What is claimed: {name}")
            for name, statement, _ in named
            for label in statement._labels()
        ),
    ]
    body = (
        f'<div class="sp-front">{"".join(front)}</div>\n<details class="sp-more">'
        "<summary>Details: every charge, figure and claim. Unfold them to print them too.</summary>\n"
        f"{label_blocks(labels, title)}\n</details>"
    )
    return ledger._written(document(body, title, _STYLE), path)


def _named(statements: Mapping[str, Any] | Sequence[Any]) -> Named:
    """Return statements with their names, and the released figures of what holds a private one."""
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
        figures = getattr(type(holder), "_study_figures", None)
        # Nothing protects the figures of what is not private.
        found.append((name, inner, figures(holder) if figures and getattr(inner, "private", False) else None))
    return found


def _table(caption: str, rows: Rows, note: str = "", kind: str = "") -> str:
    lines = "".join(f"<tr>{''.join(map(_cell, row, _TAGS))}</tr>\n" for row in rows)
    return (
        f'<div class="{kind}"><table><caption>{escape(caption)}</caption><tbody>\n{lines}</tbody></table>'
        f"<small>{escape(note)}</small></div>\n"
    )


def _cell(text: str | None, tag: str) -> str:
    line = ' class="sp-line"' if text is None else ""
    return f"<{tag}{line}>{escape(text or '')}</{tag.split()[0]}>"


def _clip(text: str, most: int = _MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."


def _said(texts: Iterable[str | None]) -> str | None:
    """Return texts of a user, each once."""
    return _clip(", ".join(dict.fromkeys(filter(None, texts))), 2 * _MOST_CHARACTERS) or None


def _study(entries: Sequence[LedgerEntry]) -> Rows:
    days = [f"{entry.time:%Y-%m-%d}" for entry in entries]
    return [
        ("purposes", _said(entry.purpose for entry in entries)),
        ("carried out by", _said(entry.person for entry in entries)),
        ("approved by", _said(entry.approver for entry in entries)),
        ("approved until", _said(report.describe_expiry([it]) for it in entries if it.expiry)),
        ("charged (UTC)", " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "nothing yet"),
    ]


def _budget(account: report.Account) -> Rows:
    failed, (refused, *_) = report.describe_failures(account), report.describe_refusals(account.refusals)
    return [
        ("charges", str(len(account.entries))),
        ("spent", show_pair(*account.spent)),
        *((name.lower(), text) for name, text in report.describe_ceiling(account)),
        *((name.split()[0].lower(), _clip(text)) for name, text in (failed, refused)),
    ]


def _short(found: Sequence[tuple[str, Figures]], most: int) -> tuple[Rows, str]:
    """Return the first rows of each of some figures, and a note."""
    each = max(1, most // max(1, len(found)))
    rows: list[tuple[str, ...]] = []
    for name, figures in found[:most]:
        several = f"{_clip(name, _MOST_OF_NAME // 2)}: " if len(found) > 1 else ""
        for what, *values in figures.rows[:each]:
            rows.append((several + _clip(what, _MOST_OF_NAME), *values))
    note = _clip(" ".join(dict.fromkeys(figures.note for _, figures in found)), 2 * _MOST_CHARACTERS)
    if more := sum(len(figures.rows) for _, figures in found) - len(rows):
        note += f" {more} more rows: see the details."
    return rows or [("none", "no private figures were passed")], note


def _meaning(account: report.Account) -> tuple[Rows, str]:
    """Return what the epsilon of all entries says, for each relation and unit that it holds for."""
    parts = compose(account.entries).parts if account.entries else ()
    rows = [row for part in parts if part.holds and part.delta < 1 for row in _sentences(part)]
    claim = report.verdict_of(account.entries)
    if account.entries and not rows:
        why = (
            "charges are not private, speak of different kinds of neighbours, or sum to a delta of 1 and more"
        )
        claim, rows = f"No sentence holds for all results together. {claim}", [("no bound", why)]
    elif any(entry.data is not None for entry in account.entries):
        overlap = (
            f"then all of {show_pair(*account.spent)} counts; above, the group with the largest cost counts"
        )
        rows.append(("if groups overlap", overlap))
    note = "For whoever sees every result and already knows the data of all others. Bounds are rounded up."
    return [("claim", claim), *rows], note * bool(rows)


def _sentences(part: CompositionPart) -> Rows:
    epsilon, unit = float(part.epsilon), part.unit
    odds = _ODDS[part.relation].format(unit=unit)
    delta = "0: the bound has no exception"
    if part.delta:
        delta = (
            f"{show(part.delta)}: as if the results could reveal everything with at most this probability, "
            "and otherwise obeyed the bound"
        )
    return [
        ("epsilon", f"{show(part.epsilon)} ({part.relation}, {unit})"),
        ("in odds", f"the odds {odds}: multiplied or divided by at most {show_factor(epsilon)}"),
        ("in belief", f"{', '.join(_belief(epsilon, *prior) for prior in _PRIORS)}: for either of the two"),
        ("delta", delta),
        ("unit", UNITS[unit].replace("`", "")),
        ("relation", RELATIONS[part.relation]),
    ]


def _belief(epsilon: float, name: str, others: int) -> str:
    """Return the largest probability after the results, rounded up, of what had odds of 1 to `others`."""
    after = math.ceil(1e4 * (1 - 1e-12) / (1 + others * math.exp(-epsilon))) / 100
    return f"from {name} to at most {after:.2f} %"


def _uncovered(named: Named, account: report.Account) -> Rows:
    """Return what no epsilon bounds in this study, of what its statements and its ledger say."""
    exposed, failed = report.count_exposed(account.entries), account.state.failures
    charged = {_kind(entry) for entry in account.entries}
    runs = [
        (name, spent)
        for name, statement, _ in named
        for spent in getattr(statement, "covered", (statement,))
        if isinstance(spent, PrivacySpent)
    ]
    rows_of_one = max((spent.max_rows_per_unit for _, spent in runs if spent.unit == "group"), default=0)
    found = {
        "charges not private": f"{exposed} of {len(account.entries)}" if exposed else "",
        "failed fits": f"{failed}: a failure may reveal something about the rows" if failed else "",
        "not charged": _said(name for name, spent in runs if _kind(spent) not in charged),
        "not private": _said(name for name, it, _ in named if not getattr(it, "private", True)),
        "not protected": _said(
            f"number of {one.removeprefix('n_')}" if one.endswith(("rows", "groups")) else one
            for _, spent in runs
            for one in (*spent.public_inputs, *spent.unprotected)
        ),
        "rows beyond the cap": rows_of_one and f"at most {rows_of_one} rows of one group are used",
    }
    return [(name, text) for name, text in found.items() if text]


def _kind(run: PrivacySpent | LedgerEntry) -> tuple[Any, ...]:
    return run.mechanism, run.epsilon, run.delta, run.relation, run.unit, run.private
