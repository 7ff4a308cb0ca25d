# SPDX-License-Identifier: BSD-3-Clause
"""Privacy labels in HTML: no scripts, nothing to load, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from .._amounts import show
from .provenance import PackageRecord
from .text import describe

if TYPE_CHECKING:
    from .disclosure_risk import DisclosureRisk
    from .guarantee import PrivacyGuarantee
    from .spent import PrivacySpent

# Contrast of every pair of colours is at least 4.5 : 1, in light and in dark (WCAG 2.2, AA).
_STYLE = """
.skprivate-label{--fg:#111;--bg:#fff;--line:#111;--soft:#595959;--good:#0b5d1e;--bad:#a40000;
color:var(--fg);background:var(--bg);border:2px solid var(--line);box-sizing:border-box;max-width:42rem;
margin:.8em 0;padding:.7em 1em;font:15px/1.4 system-ui,sans-serif;text-align:left;overflow-wrap:anywhere}
.skprivate-label.sp-small{font-size:12px;max-width:32rem;border-width:1px;padding:.4em .8em}
@media (prefers-color-scheme:dark){.skprivate-label{--fg:#eee;--bg:#161616;--line:#ccc;--soft:#b0b0b0;
--good:#7ddb8f;--bad:#ff9a8f}}
.skprivate-label p{margin:.2em 0}
.skprivate-label .sp-title{margin:0;color:inherit;font-weight:800;font-size:1.5em;
border-bottom:6px solid var(--line)}
.skprivate-label .sp-verdict{font-weight:700}
.skprivate-label .sp-dp{color:var(--good)}
.skprivate-label .sp-not{color:var(--bad)}
.skprivate-label .sp-figure{font-weight:800;font-size:1.7em}
.skprivate-label table{border-collapse:collapse;width:100%;margin:.4em 0;font-size:1em;color:inherit;
background:none;table-layout:fixed}
.skprivate-label caption{text-align:left;font-weight:700;border-top:3px solid var(--line);padding:.3em 0;
color:inherit}
.skprivate-label th,.skprivate-label td{border-top:1px solid var(--line);padding:.25em .3em;text-align:left;
vertical-align:top;background:none;color:inherit;white-space:normal;max-width:none}
.skprivate-label th{width:38%;font-weight:600;overflow-wrap:break-word}
.skprivate-label small{color:var(--soft);font-size:.85em}
.skprivate-label summary{cursor:pointer;font-weight:600}
"""
_PAGE_STYLE = """
body{margin:1em auto;max-width:44rem;padding:0 1em;background:#fff}
@media (prefers-color-scheme:dark){body{background:#161616}}
@media print{body{margin:0}.skprivate-label{max-width:none}}
"""
_OF_THIS_STEP = (
    "Of this step alone, given its input. What holds for a pipeline, skprivate.privacy_report(pipeline) says."
)
NO_EPSILON = "no \N{GREEK SMALL LETTER EPSILON} holds"
_NEVER_PUBLISH = "This object holds rows or secrets of those who made it. Its values are not shown here."


@dataclass(frozen=True, kw_only=True)
class Label:
    """What a label shows: verdict, what it speaks of, one figure, and rows of names and texts."""

    subject: str
    private: bool
    verdict: str
    figure: str
    rows: Sequence[tuple[str, str]]
    note: str = ""
    scope: str = ""


def figure_of(epsilon: Fraction | float, delta: Fraction) -> str:
    """Return the one figure of a private release."""
    figure = f"\N{GREEK SMALL LETTER EPSILON} = {show(epsilon)}"
    return figure + (f", \N{GREEK SMALL LETTER DELTA} = {show(delta)}" if delta else "")


def label_of_spent(spent: PrivacySpent) -> Label:
    """Return the label of one release."""
    (_, verdict), *rows = describe(spent)
    return Label(
        subject=spent.mechanism,
        private=spent.private,
        verdict=verdict[0].upper() + verdict[1:],
        figure=figure_of(spent.epsilon, spent.delta) if spent.private else NO_EPSILON,
        # Reasons first: they are what a reader of such a label needs.
        rows=sorted(rows, key=lambda row: row[0] != "not private because"),
        scope=_OF_THIS_STEP,
        note=f"Stated by {spent.package or PackageRecord.current()}.",
    )


def label_of_guarantee(guarantee: PrivacyGuarantee) -> Label:
    """Return the label of one guarantee."""
    head, *lines = str(guarantee).splitlines()
    rows = [(name, text) for name, _, text in (line.strip().partition(": ") for line in lines)]
    return Label(
        subject=guarantee.subject,
        private=guarantee.status != "estimate" and guarantee.epsilon != float("inf"),
        verdict=f"{head.removeprefix('Guarantee: ').capitalize()} (claimed by the software, not certified)",
        figure=f"{show(guarantee.epsilon)} nats",
        rows=[*rows, ("in words", guarantee.statement())],
    )


def label_of_risk(risk: DisclosureRisk) -> Label:
    """Return the label of a protection that is not differential privacy."""
    bounds = [(f"{risk.metric}, {name}", f"at most {value:.3g} %") for name, value in risk.bound.items()]
    return Label(
        subject=risk.protection,
        private=False,
        verdict="Not differential privacy",
        figure=NO_EPSILON,
        rows=[
            ("attack", risk.attack),
            *(bounds or [(risk.metric, "no bound is known")]),
            ("assumed", risk.assumption),
            *(("not protected", item) for item in risk.unprotected),
            *(("LEAK", item) for item in risk.leaks),
        ],
    )


def label_page(labels: Sequence[Label], title: str = "Privacy facts") -> str:
    """Return a whole document."""
    blocks = "\n".join(_block(label, title) for label in labels)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{_PAGE_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{blocks}\n</main>\n</body>\n</html>\n"
    )


def label_fragment(labels: Sequence[Label]) -> str:
    """Return the same labels as a part of another document, with the details folded."""
    blocks = "\n".join(_block(label, "Privacy", folded=True) for label in labels)
    return f"<style>{_STYLE}</style>\n{blocks}"


def unpublishable_fragment(name: str, stated_in: str = "") -> str:
    """Return the notice on an object that must never be published, and where its statement is."""
    elsewhere = f" What leaves it is stated in {stated_in}." if stated_in else ""
    notice = Label(
        subject=name,
        private=False,
        verdict="Never publish this object",
        figure="",
        rows=(),
        note=_NEVER_PUBLISH + elsewhere,
    )
    return label_fragment([notice])


def _block(label: Label, title: str, *, folded: bool = False) -> str:
    # A part of another document must not add to its outline.
    heading, small = ("p", " sp-small") if folded else ("h1", "")
    parts = [f'<{heading} class="sp-title">{escape(title)}</{heading}>', f"<p>{escape(label.subject)}</p>"]
    if label.figure:
        parts.append(f'<p class="sp-figure">{escape(label.figure)}</p>')
    kind = "sp-dp" if label.private else "sp-not"
    parts.append(f'<p class="sp-verdict {kind}">{escape(label.verdict)}</p>')
    if label.scope:
        # Beside the verdict, and not folded away: the one without the other says too much.
        parts.append(f"<p>{escape(label.scope)}</p>")
    details = _table(label.rows) if label.rows else ""
    if label.note:
        details += f"<p><small>{escape(label.note)}</small></p>"
    fold = folded and label.rows
    parts.append(f"<details><summary>Details</summary>{details}</details>" if fold else details)
    name = escape(f"{title}: {label.subject}", quote=True)
    opening = f'<section class="skprivate-label{small}" aria-label="{name}">'
    return "\n".join([opening, *parts, "</section>"])


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = [f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in rows]
    return "<table><caption>What is stated</caption><tbody>\n" + "\n".join(lines) + "\n</tbody></table>"
