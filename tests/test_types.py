# SPDX-License-Identifier: BSD-3-Clause
"""The types that users see; ``make types`` checks what of them only a type checker can."""

import importlib
import inspect
import pkgutil
import typing

import pytest

import skprivate
from skprivate.collection._external_counts import _MECHANISMS, _RELATIONS
from skprivate.datasets import make_location_scale, make_posterior_drift
from skprivate.datasets._simulations import _DRIFTS, _ERROR_DISTRIBUTIONS
from skprivate.linear_model._distributions import DISTRIBUTIONS
from skprivate.randomizers import make_randomizer
from skprivate.randomizers._factory import MECHANISMS
from skprivate.rounds._rows import KINDS
from skprivate.utils._compat import StrOptions
from tests.catalogue import public_estimators
from tests.types import calls

NAMES = [one.name for one in pkgutil.iter_modules(skprivate.__path__) if not one.name.startswith("_")]
ROOMS = [skprivate, *(importlib.import_module(f"skprivate.{name}") for name in NAMES)]

# Strings that lists of them hold, which no constraint names.
IN_LISTS = {"observations": set(KINDS)}


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
    constraints = getattr(estimator, "_parameter_constraints", {})
    annotated = {name: strings_in(parameter.annotation) for name, parameter in parameters.items()}
    allowed = {
        name: strings_allowed(constraints.get(name, [])) | IN_LISTS.get(name, set()) for name in parameters
    }
    assert annotated == allowed


@pytest.mark.parametrize(
    ("function", "name", "allowed"),
    [
        (make_randomizer, "mechanism", {"auto", *MECHANISMS}),
        (skprivate.MomentAccumulator, "distribution", DISTRIBUTIONS),
        (make_location_scale, "distribution", _ERROR_DISTRIBUTIONS),
        (make_posterior_drift, "drift", _DRIFTS),
        (skprivate.TreeCurator.from_counts, "mechanism", _MECHANISMS),
        (skprivate.TreeCurator.from_counts, "relation", _RELATIONS),
    ],
)
def test_literals_are_the_strings_that_a_function_knows(function, name, allowed):
    assert strings_in(inspect.signature(function).parameters[name].annotation) == set(allowed)


def test_a_literal_is_among_those_that_were_compared():
    rule = inspect.signature(skprivate.DPTreeClassifier).parameters["rule"]
    assert strings_in(rule.annotation) == {"max-edge", "cart", "random"}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_public_names_are_sorted_and_found(room):
    assert room.__all__ == sorted(room.__all__, key=lambda name: (not name.isupper(), name.islower(), name))
    assert all(hasattr(room, name) for name in dir(room))


# Eighty rows make no good model.
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_the_right_calls_of_the_sample_run(tmp_path):
    assert len(calls.right_calls(tmp_path)) == 6
