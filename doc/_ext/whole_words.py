# SPDX-License-Identifier: BSD-3-Clause
"""Cells of tables keep words and numbers with a hyphen in one line, such as ``3.3e-03``.

A browser may break a line after every hyphen, whatever the style sheet says of words.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_HYPHENATED = re.compile(r"(\S*-\S+)")
_KEEP = (nodes.literal, nodes.math, nodes.literal_block)


def keep_whole(_app: Sphinx, doctree: nodes.document, _docname: str) -> None:
    """Wrap every such word of a cell in a ``span`` of its own."""
    for text in [text for entry in doctree.findall(nodes.entry) for text in entry.findall(nodes.Text)]:
        parts = _HYPHENATED.split(text)
        if len(parts) > 1 and not isinstance(text.parent, _KEEP):
            text.parent.replace(text, list(map(_node, parts)))


def _node(part: str) -> nodes.Node:
    return nodes.inline("", part, classes=["whole-word"]) if _HYPHENATED.fullmatch(part) else nodes.Text(part)


def setup(app: Sphinx) -> dict[str, Any]:
    """Run when a page is resolved, just before it is written."""
    app.connect("doctree-resolved", keep_whole)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
