# SPDX-License-Identifier: BSD-3-Clause
"""The types that users see; ``make types`` checks what of them only a type checker can."""

import ast
import inspect
import typing
from pathlib import Path

import pytest

import skprivate
from skprivate.utils._compat import StrOptions

from .catalogue import public_estimators
from .types import calls

ROOMS = sorted(
    path for path in Path(skprivate.__file__).parent.rglob("__init__.py") if "_HOMES" in path.read_text()
)


def strings_in(annotation):
    """Return the strings of all Literals in an annotation."""
    if typing.get_origin(annotation) is typing.Literal:
        return {value for value in typing.get_args(annotation) if isinstance(value, str)}
    return set().union(*map(strings_in, typing.get_args(annotation)))


def strings_allowed(constraints):
    """Return the strings that constraints of a parameter allow at run time."""
    listed = [constraints] if isinstance(constraints, str) else constraints
    return set().union(*(one.options for one in listed if isinstance(one, StrOptions)))


@pytest.mark.parametrize("estimator", sorted(public_estimators(), key=lambda cls: cls.__name__))
def test_literals_are_the_strings_that_a_fit_allows(estimator):
    parameters = inspect.signature(estimator).parameters
    annotated = {name: strings_in(parameter.annotation) for name, parameter in parameters.items()}
    allowed = {name: strings_allowed(estimator._parameter_constraints[name]) for name in parameters}
    assert annotated == allowed


def test_a_literal_is_among_those_that_were_compared():
    rule = inspect.signature(skprivate.DPTreeClassifier).parameters["rule"]
    assert strings_in(rule.annotation) == {"max-edge", "cart", "random"}


@pytest.mark.parametrize("path", ROOMS, ids=lambda path: path.parent.name)
def test_type_checkers_see_every_lazy_name(path):
    tree = ast.parse(path.read_text())
    blocks = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imported = {
        alias.asname: "." * node.level + (node.module or "")
        for node in blocks[0].body
        for alias in node.names
    }
    homes = next(
        node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "_HOMES"
    )
    assert imported == ast.literal_eval(homes)


def test_the_right_calls_of_the_sample_run(tmp_path):
    assert len(calls.right_calls(tmp_path)) == 6
