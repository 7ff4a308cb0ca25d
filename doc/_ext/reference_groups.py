# SPDX-License-Identifier: BSD-3-Clause
"""The index of the API reference: title, first paragraph and names of each group, from the group's page.

So the index cannot differ from the pages. ``.. reference-groups::`` takes the pages, one a line.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from reference_names import documented_names
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class ReferenceGroups(SphinxDirective):
    """One card per page: its title, who needs it, and its names."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the cards, in the order of the pages."""
        return [
            nodes.container("", *map(self._card, filter(None, self.content)), classes=["reference-groups"])
        ]

    def _card(self, page: str) -> nodes.container:
        path = Path(self.env.srcdir) / f"{page}.rst"
        self.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8")
        _title, who_needs_it, *_ = text.split("\n\n")
        links = (f":py:obj:`{name.rpartition('.')[2]} <{name}>`" for name in documented_names(text))
        lines = [f":doc:`/{page}`", "", *who_needs_it.splitlines(), "", ", ".join(links)]
        card = nodes.container(classes=["reference-group"])
        self.state.nested_parse(StringList(lines, str(path)), self.content_offset, card)
        return card


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("reference-groups", ReferenceGroups)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
