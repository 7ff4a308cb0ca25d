# SPDX-License-Identifier: BSD-3-Clause
"""Formulas as MathML, which browsers draw themselves: no script, no font and no network is needed.

Docutils brings the converter. What it does not know is a warning, and so an error of the build.
"""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer: ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(to_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    # Wide ones scroll by themselves; the page does not.
    translator.body.append(f'<div class="mathml" tabindex="0">{to_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def to_mathml(node: nodes.Element, *, as_block: bool) -> str:
    """Return the formula of a node as MathML."""
    tex = " ".join(node.astext().split())
    try:
        mathml = tex2mathml(tex, as_block=as_block)
    except MathError as error:
        _LOGGER.warning("formula cannot be converted: %s: %s", tex, error, location=node)
        return f"<code>{nodes.Text(tex).astext()}</code>"
    # Some room after log and max; and bars are fences here, not relations with space around them.
    mathml = str(mathml).replace("<mo>&ApplyFunction;</mo>", '<mo lspace="0" rspace="0.17em">\u2061</mo>')
    return re.sub(r"<mo[^>]*>\|</mo>", '<mo stretchy="false" lspace="0" rspace="0">|</mo>', mathml)
