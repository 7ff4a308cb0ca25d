# SPDX-License-Identifier: BSD-3-Clause
"""Statements as blocks of a model card's section on privacy, in Markdown; every text is escaped."""

import re

from .._checks import escape_controls
from .text import Statement, describe_package, describe_step, rows_of_releases, rows_of_spent, scope_of_spent

# What Markdown or HTML would read as markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")


def blocks_of_spent(statement: Statement) -> list[str]:
    """Return the blocks of one release: the claim, a table, and the package."""
    (_, claim), *rows = rows_of_spent(statement)
    package = describe_package(statement["package"])
    return [
        f"**{_escape(claim)}**",
        _table([*scope_of_spent(statement), *rows, *rows_of_releases(statement)]),
        f"Stated by {_escape(package)}.",
    ]


def blocks_of_report(statement: Statement, headline: str) -> list[str]:
    """Return the blocks of a whole fitted object: its headline, its steps, and every release."""
    steps = [f"- {_escape(describe_step(step))}" for step in statement["steps"]]
    alone = "" if statement["private"] else " Of this step alone; the whole is NOT PRIVATE:"
    blocks = [f"**{_escape(headline)}**", "\n".join(steps)]
    for step in statement["steps"]:
        if step["spent"] is not None:
            title = f"Step {_escape(step['path'])}, {_escape(step['estimator'])}:{alone}"
            blocks += [title, *blocks_of_spent(step["spent"])]
    return blocks


def blocks_of_text(text: str) -> list[str]:
    """Return the blocks of a statement that is told in lines: the first, and a list of the others."""
    head, *lines = text.splitlines()
    items = [f"- {_escape(line.strip().removeprefix('- '))}" for line in lines]
    return [f"**{_escape(head)}**", "\n".join(items)]


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [f"| {_escape(name)} | {_escape(text)} |" for name, text in rows]
    return "\n".join(["| stated | value |", "|---|---|", *lines])


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\1", escape_controls(text))
