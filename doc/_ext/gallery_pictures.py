# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the gallery: letters that a thumbnail still shows, and a picture in every example.

After the build, an example without a picture is a warning, and so an error of the build.
"""

from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_FIGURES = ("svg", "canvas", "iframe")
# Of sphinx-gallery: what an object of the example drew in HTML.
_DRAWN_BY_AN_OBJECT = "output_html"
_NO_EXAMPLES = ("index", "sg_execution_times")
# A figure of 640 pixels becomes a thumbnail of 400: 16 points become 10.
_LETTERS, _FIGURE = 16, (6.4, 4.48)


class _Article(HTMLParser):
    """Counts the pictures of a page that stand in its text, not around it."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.n_pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "article":
            self.depth += 1
        elif self.depth and (tag in _FIGURES or _DRAWN_BY_AN_OBJECT in (values.get("class") or "").split()):
            self.n_pictures += 1
        elif self.depth and tag == "img":
            # A thumbnail stands for another page.
            self.n_pictures += "_thumb." not in (values.get("src") or "")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "article"


def has_picture(html: str) -> bool:
    """Return whether the text of a page shows an image or a figure in HTML."""
    article = _Article()
    article.feed(html)
    return article.n_pictures > 0


def start_anew(_gallery_conf: dict[str, Any], _path: str) -> None:
    """Leave strict mode, and set the sizes of letters and figures, before every example."""
    from matplotlib import rcParams

    import skprivate

    skprivate.set_config(strict=False)
    rcParams.update({"font.size": _LETTERS, "axes.titlesize": "medium", "figure.figsize": _FIGURE})
    rcParams["figure.constrained_layout.use"] = True


def check(app: "Sphinx", exception: Exception | None) -> None:
    """Warn of examples without a picture."""
    from sphinx.util import logging

    if exception is not None or app.builder.format != "html":
        return
    folder = app.config.sphinx_gallery_conf["gallery_dirs"]
    for docname in sorted(app.env.found_docs):
        path = Path(docname)
        if path.is_relative_to(folder) and path.name not in _NO_EXAMPLES:
            html = Path(app.outdir, app.builder.get_target_uri(docname)).read_text(encoding="utf-8")
            if not has_picture(html):
                logging.getLogger(__name__).warning("%s: an example without a picture", docname)


def setup(app: "Sphinx") -> dict[str, Any]:
    """Check when the build has ended."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
