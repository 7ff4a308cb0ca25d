# SPDX-License-Identifier: BSD-3-Clause
"""Privacy labels of statements in HTML: no scripts, nothing to load, every text escaped."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape as escape_markup
from typing import NamedTuple

from .._privacy_amounts import show
from . import text as words
from .fields import decode_number, decode_required, escape_controls
from .text import Statement

# Contrast of every pair of colours is at least 4.5 : 1, in light and in dark (WCAG 2.2, AA).
_LIGHT = "--fg:#111;--bg:#fff;--line:#111;--soft:#595959;--good:#0b5d1e;--bad:#a40000"
_DARK = "--fg:#eee;--bg:#161616;--line:#ccc;--soft:#b0b0b0;--good:#7ddb8f;--bad:#ff9a8f"
# Attributes that JupyterLab, VS Code and documentation sites set for a light or a dark theme. Without them
# the browser's preference counts.
_SAYS_LIGHT = ('[data-jp-theme-light="true"]', '[data-theme="light"]', ".vscode-light")
_SAYS_DARK = ('[data-jp-theme-light="false"]', '[data-theme="dark"]', ".vscode-dark")
_THEMES = "".join(
    f"{','.join(f'{host} .skprivate-label' for host in hosts)}{{{colours}}}\n"
    for hosts, colours in ((_SAYS_LIGHT, _LIGHT), (_SAYS_DARK, _DARK))
)
_STYLE = f"""
.skprivate-label{{{_LIGHT}}}
@media screen and (prefers-color-scheme:dark){{.skprivate-label{{{_DARK}}}}}
{_THEMES}"""
_STYLE += """.skprivate-label{color:var(--fg);background:var(--bg);border:2px solid var(--line);
box-sizing:border-box;max-width:42rem;margin:.8em 0;padding:.7em 1em;
font:15px/1.4 system-ui,sans-serif;text-align:left;overflow-wrap:anywhere}
.skprivate-label.sp-small{font-size:12px;max-width:32rem;border-width:1px;padding:.4em .8em}
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
@media screen and (prefers-color-scheme:dark){body{background:#161616}}
@media print{body{margin:0;padding:0;max-width:none}.skprivate-label{max-width:none}}
"""
_EPSILON, _DELTA = "\N{GREEK SMALL LETTER EPSILON}", "\N{GREEK SMALL LETTER DELTA}"
NO_EPSILON = f"no {_EPSILON} holds"
PRIVATE_VERDICT = "Differential privacy (claimed by the software, not certified)"
#: Captions in a diagram for objects without an epsilon.
CAPTION_OF_RISK = f"not differential privacy: {NO_EPSILON}"
CAPTION_OF_HOLDER = "never publish this object"
_NEVER_PUBLISH = "This object holds rows or secrets of its owners. Its values are not shown here."


@dataclass(frozen=True, kw_only=True)
class Label:
    """Content of a label: subject, verdict, one figure, and rows of names and texts.

    With ``section`` the label is a part of a longer page, under that heading.
    """

    subject: str
    private: bool = False
    verdict: str
    figure: str = ""
    rows: Sequence[tuple[str, str]] = ()
    note: str = ""
    scope: str = ""
    section: str = ""
    caption: str = "Statement"
    releases: Sequence[tuple[str, str]] = ()


class Figures(NamedTuple):
    """Released figures of one result, as a page on a study shows them: the most important rows first."""

    rows: Sequence[tuple[str, str, str]]
    note: str
    is_table_one: bool = False


class Labelled(ABC):
    """A statement that can be shown as labels, also in a notebook."""

    @abstractmethod
    def _labels(self) -> list[Label]:
        """Return the labels."""

    def to_html(self) -> str:
        """Return a label of one page: a whole HTML document without scripts and external resources.

        Returns
        -------
        page : str
            All texts are escaped. The page is readable in light and dark, on paper, and by screen readers. A
            label of one step states that it covers that step alone. The page of a `privacy_report` shows the
            whole first, then every step that drew noise. The label of a `DisclosureRisk` states that it is
            not differential privacy.
        """
        return label_page(self._labels())

    def _repr_html_(self) -> str:
        return label_fragment(self._labels())


def label_of_spent(statement: Statement) -> Label:
    """Return the label of one release."""
    (_, verdict), *rows = words.rows_of_spent(statement)
    private = statement["private"]
    return Label(
        subject=statement["mechanism"],
        private=private,
        verdict=verdict[0].upper() + verdict[1:],
        figure=_figure(statement["charged"]) if private else NO_EPSILON,
        # Reasons come first: the reader of such a label needs them.
        rows=sorted(rows, key=lambda row: row[0] != "not private because"),
        scope="".join(f"{name.capitalize()}: {text}." for name, text in words.scope_of_spent(statement)),
        note=f"Stated by {words.describe_package(statement['package'])}.",
        releases=words.rows_of_releases(statement),
    )


def caption_of_spent(statement: Statement) -> str:
    """Return the label of one release in a few words, as a caption in a diagram."""
    if not statement["private"]:
        return f"NOT PRIVATE: {NO_EPSILON}"
    return f"{_figure(statement['charged'])} per {statement['unit']}, {words.SCOPE[0]}"


def caption_of_plan(epsilon: Fraction) -> str:
    """Return the request of a fit in a few words; ``groups`` decides later whether it is per row or group."""
    return f"not fitted, {_EPSILON} = {show(epsilon)} requested per row or group"


def label_of_guarantee(statement: Statement) -> Label:
    """Return the label of one guarantee."""
    head, *lines = words.describe_guarantee(statement).splitlines()
    rows = [(name, text) for name, _, text in (line.strip().partition(": ") for line in lines)]
    epsilon = decode_number(statement["epsilon"])
    return Label(
        subject=statement["subject"],
        private=statement["status"] != "estimate" and epsilon != float("inf"),
        verdict=f"{head.removeprefix('Guarantee: ').capitalize()} (claimed by the software, not certified)",
        figure=f"{show(epsilon)} nats",
        rows=[*rows, ("in words", statement["statement"])],
    )


def label_of_risk(statement: Statement) -> Label:
    """Return the label of a protection that is not differential privacy."""
    metric = statement["metric"]
    bounds = [(f"{metric}, {name}", f"at most {value:.3g} %") for name, value in statement["bound"].items()]
    return Label(
        subject=statement["protection"],
        verdict="Not differential privacy",
        figure=NO_EPSILON,
        rows=[
            ("attack", statement["attack"]),
            *(bounds or [(metric, "no bound is known")]),
            ("assumed", statement["assumption"]),
            *(("not protected", item) for item in statement["unprotected"]),
            *(("LEAK", item) for item in statement["leaks"]),
        ],
    )


def labels_of_report(statement: Statement) -> list[Label]:
    """Return the labels of a whole fitted object and of every step that drew noise."""
    private, steps = statement["private"], statement["steps"]
    none = "see each step" if private else NO_EPSILON
    whole = Label(
        subject="All steps together",
        private=private,
        verdict=PRIVATE_VERDICT if private else "NOT PRIVATE",
        figure=_figure(statement["charged"]) if statement["guarantee"] else none,
        rows=[(words.name_of_step(step), f"{step['status']}: {step['reason']}") for step in steps],
        scope="Of the whole fitted object. The details show how each step counts.",
    )
    return [whole, *(_step_label(step, private) for step in steps if step["spent"] is not None)]


def _step_label(step: Statement, whole_private: bool) -> Label:
    alone = label_of_spent(step["spent"])
    label = replace(alone, subject=f"{words.name_of_step(step)}: {alone.subject}")
    if whole_private or not label.private:
        return label
    # If an uncovered step reads the rows first, noise on its output does not protect them.
    return replace(
        label,
        private=False,
        figure=f"{NO_EPSILON} for the whole",
        verdict=f"NOT PRIVATE with the other steps; {words.SCOPE[0]}: {label.verdict}",
    )


def _figure(charged: Statement) -> str:
    return amounts_figure(*(decode_required(charged[name]) for name in ("epsilon", "delta")))


def amounts_figure(epsilon: Fraction | float, delta: Fraction | float) -> str:
    """Return epsilon, and a delta above 0, as the figure of a label."""
    return f"{_EPSILON} = {show(epsilon)}" + (f", {_DELTA} = {show(delta)}" if delta else "")


def label_page(labels: Sequence[Label], title: str = "Privacy facts") -> str:
    """Return a whole document."""
    return document(label_blocks(labels, title), title)


def label_blocks(labels: Sequence[Label], title: str) -> str:
    """Return labels as they are in a whole document."""
    return "\n".join(_block(label, title) for label in labels)


def document(body: str, title: str, style: str = "") -> str:
    """Return a whole document of this markup, with the style of labels and its own."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{_PAGE_STYLE}{style}</style>\n"
        f"</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def label_fragment(labels: Sequence[Label]) -> str:
    """Return the same labels as a part of another document, with the details folded."""
    blocks = "\n".join(_block(label, "Privacy", folded=True) for label in labels)
    return f"<style>{_STYLE}</style>\n{blocks}"


def unpublishable_fragment(name: str, stated_in: str = "") -> str:
    """Return the notice on an object that must never be published, and where its statement is."""
    elsewhere = f" See {stated_in} for the statement about its released values." if stated_in else ""
    notice = _NEVER_PUBLISH + elsewhere
    return label_fragment([Label(subject=name, verdict="Never publish this object", note=notice)])


def _block(label: Label, title: str, *, folded: bool = False) -> str:
    # A part of another document must not add to its outline.
    heading, small = ("p", " sp-small") if folded else ("h2" if label.section else "h1", "")
    title = label.section or title
    parts = [f'<{heading} class="sp-title">{escape(title)}</{heading}>']
    if label.scope:
        # Above the verdict, and not folded away: a verdict without its scope claims too much.
        parts.append(f"<p>{escape(label.scope)}</p>")
    parts.append(f"<p>{escape(label.subject)}</p>")
    if label.figure:
        parts.append(f'<p class="sp-figure">{escape(label.figure)}</p>')
    kind = "sp-dp" if label.private else "sp-not"
    if label.verdict:
        parts.append(f'<p class="sp-verdict {kind}">{escape(label.verdict)}</p>')
    details = _table(label.rows, label.caption) if label.rows else ""
    if label.releases:
        table = _table(label.releases, "All releases, and their shares of the total")
        details += f"<details><summary>Releases: {len(label.releases)}</summary>{table}</details>"
    if label.note:
        details += f"<p><small>{escape(label.note)}</small></p>"
    fold = folded and label.rows
    parts.append(f"<details><summary>Details</summary>{details}</details>" if fold else details)
    name = escape(f"{title}: {label.subject}")
    opening = f'<section class="skprivate-label{small}" aria-label="{name}">'
    return "\n".join([opening, *parts, "</section>"])


def _table(rows: Sequence[tuple[str, str]], caption: str) -> str:
    lines = [f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in rows]
    return f"<table><caption>{escape(caption)}</caption><tbody>\n" + "\n".join(lines) + "\n</tbody></table>"


def escape(text: str) -> str:
    """Return a text without markup and without control characters."""
    return escape_markup(escape_controls(text))


def aligned(rows: Sequence[Sequence[str]], n_left: int | None = None) -> list[str]:
    """Return the lines of a table: `n_left` columns (None: all) aligned left, then columns aligned right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)][:n_left]
        numbers = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)][len(cells) :]
        lines.append("  ".join(cells + numbers).rstrip())
    return lines


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table with a header line and an optional caption, all texts escaped."""
    names = "".join(f'<th scope="col">{escape_markup(name)}</th>' for name in head)
    cells = ("".join(f"<td>{escape_markup(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    title = f"<caption>{escape_markup(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
