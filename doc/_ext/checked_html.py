# SPDX-License-Identifier: BSD-3-Clause
"""After the build: every page draws without a network, and every link within the site leads somewhere.

Findings are warnings, and so errors of the build. Links that leave the site are only listed, in
``external_links.txt``, since they cannot be followed without a network.
"""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)
# What a browser fetches to draw a page; the address stands in this attribute.
_DRAWN = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}


class _Page(HTMLParser):
    """Anchors, links and fetched files of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.drawn: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag in _DRAWN and _DRAWN[tag] in values:
            self.drawn.add(values[_DRAWN[tag]])
        if tag == "a" and "href" in values:
            self.links.add(values["href"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Check when the build has ended."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def check(app: Sphinx, exception: Exception | None) -> None:
    """Warn of what is missing or comes from elsewhere."""
    if exception is not None or app.builder.format != "html":
        return
    top = Path(app.outdir)
    # The theme's folder holds templates, which are no pages.
    paths = sorted(path for path in top.rglob("*.html") if "_static" not in path.parts)
    pages = {path: _Page(path) for path in paths}
    external: set[str] = set()
    for page in pages.values():
        name = page.path.relative_to(top)
        for address in sorted(page.drawn | page.links):
            if urlsplit(address).netloc:
                external.add(address)
                if address in page.drawn:
                    _LOGGER.warning("%s: drawn with a file of the network: %s", name, address)
            elif not urlsplit(address).scheme and not _leads_somewhere(page, address, pages):
                _LOGGER.warning("%s: a link leads nowhere: %s", name, address)
    (top / "external_links.txt").write_text("\n".join(sorted(external)) + "\n", encoding="utf-8")


def _leads_somewhere(page: _Page, address: str, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(address)
    target = page.path if not parts.path else (page.path.parent / unquote(parts.path)).resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors
