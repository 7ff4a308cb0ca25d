# SPDX-License-Identifier: BSD-3-Clause
"""The methods of an estimator in two groups: those that users call, and those that other code calls.

``.. estimator-methods:: skprivate.DPTreeClassifier`` lists the first group with their full documentation. The
second group is a folded list: the hooks that `skprivate.base.PrivateEstimatorMixin` documents, and what
scikit-learn's pipelines, searches and callbacks use.
"""

import inspect
import re
from collections.abc import Iterable
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import import_object
from sphinx.util.docutils import SphinxDirective

from skprivate.base import PrivateEstimatorMixin

_HOOKS = {name for name in dir(PrivateEstimatorMixin) if not name.startswith("_")}
_FOR_SCIKIT_LEARN = re.compile(
    r"(get|set)_(params|metadata_routing|output|callbacks|feature_names_out|\w+_request)"
)
_OTHERS = "For pipelines, searches and authors of estimators"
# Links into scikit-learn's own guide, in docstrings that estimators inherit: their text stays.
_FOREIGN_LINK = re.compile(r":(?:ref|term):`(?:([^`<]+?) ?<[^`]*>|([^`<]*))`")
# The usual way of an estimator; everything else follows by name.
_ORDER = ("fit", "partial_fit", "predict", "decision_function", "transform", "inverse_transform", "score")


def method_groups(estimator: type) -> tuple[list[str], list[str]]:
    """Return the names of what users call or read, and of the other methods."""
    public = [name for name in dir(estimator) if not name.startswith("_") and _is_documented(estimator, name)]
    others = [name for name in public if name in _HOOKS or _FOR_SCIKIT_LEARN.fullmatch(name)]
    return sorted(set(public) - set(others), key=lambda name: _place(estimator, name)), others


def _is_documented(estimator: type, name: str) -> bool:
    # On the class, a descriptor of scikit-learn gives a function and a property gives itself.
    value = getattr(estimator, name)
    return callable(value) or isinstance(value, property)


def _place(estimator: type, name: str) -> tuple[bool, int, str]:
    place = (k for k, stem in enumerate(_ORDER) if name == stem or name.startswith(f"{stem}_"))
    return isinstance(getattr(estimator, name), property), next(place, len(_ORDER)), name


def first_sentence(thing: Any) -> str:
    """Return the first paragraph of a docstring, up to its first full stop."""
    paragraph = without_foreign_links(" ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split()))
    return re.split(r"(?<=[.]) (?=[A-Z])", paragraph)[0]


def without_foreign_links(text: str) -> str:
    """Return a text of scikit-learn with its links to labels and terms as plain text."""
    return _FOREIGN_LINK.sub(lambda found: found[1] or found[2], text)


class EstimatorMethods(SphinxDirective):
    """Two tables, and the documentation of what the first one lists."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the tables, with what users call below the first one."""
        name = self.arguments[0]
        estimator = import_object(name)
        used, others = method_groups(estimator)
        lines = [".. rubric:: Methods", ""]
        lines += _table((f"{name}.{one}", getattr(estimator, one)) for one in used)
        lines += [".. raw:: html", "", f"   <details class='other-methods'><summary>{_OTHERS}</summary>", ""]
        lines += _table((_home(one), getattr(estimator, one)) for one in others)
        lines += [".. raw:: html", "", "   </details>", ""]
        for one in used:
            kind = "property" if isinstance(getattr(estimator, one), property) else "method"
            lines += [f".. auto{kind}:: {name}.{one}", ""]
        container = nodes.container(classes=["estimator-methods"])
        self.state.nested_parse(StringList(lines, name), self.content_offset, container)
        return container.children


def _home(method: str) -> str:
    return f"skprivate.base.PrivateEstimatorMixin.{method}" if method in _HOOKS else method


def _table(rows: Iterable[tuple[str, Any]]) -> list[str]:
    lines = [".. list-table::", "   :widths: auto", ""]
    for name, thing in rows:
        short = name.rpartition(".")[2]
        link = f":py:obj:`{short} <{name}>`" if "." in name else f"``{short}``"
        lines += [f"   * - {link}", f"     - {first_sentence(thing)}"]
    return [*lines, ""]


def _clean(_app: Sphinx, _what: str, _name: str, thing: Any, _options: Any, lines: list[str]) -> None:
    if (getattr(thing, "__module__", None) or "").startswith("sklearn."):
        lines[:] = without_foreign_links("\n".join(lines)).split("\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, and clean what numpydoc has written."""
    app.connect("autodoc-process-docstring", _clean, priority=900)
    app.add_directive("estimator-methods", EstimatorMethods)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
