# SPDX-License-Identifier: BSD-3-Clause
"""The docstrings of the regressors, whose shared sections are written once."""

import inspect
import re

import pytest

from skprivate import (
    DPLogisticLLSRegressor,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
)
from skprivate.linear_model._regressors import share_docstring

PRESETS = [DPSEVRegressor, DPLogisticLLSRegressor, DPNormalLLSRegressor]
REGRESSORS = [DPLogLocationScaleRegressor, *PRESETS]


def section(kind, name):
    """The lines of a section of a docstring, up to the next title."""
    text = inspect.getdoc(kind)
    return re.search(rf"^{name}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.M | re.S).group(1)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_every_parameter_is_described_once_in_the_order_of_the_signature(kind):
    described = re.findall(r"^(\w+) : ", section(kind, "Parameters"), re.M)
    assert described == list(inspect.signature(kind).parameters)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_described_defaults_are_those_of_the_signature(kind):
    described = dict(re.findall(r"^(\w+) : .*default=(.+)$", section(kind, "Parameters"), re.M))
    for name, parameter in inspect.signature(kind).parameters.items():
        assert described[name].replace('"', "") == str(parameter.default), name


@pytest.mark.parametrize("kind", REGRESSORS)
def test_every_section_is_there(kind):
    text = inspect.getdoc(kind)
    assert "$" not in text
    titles = re.findall(r"^(\S.*)\n-{3,}$", text, re.M)
    assert titles == ["Parameters", "Attributes", "See Also", "Notes", "References", "Examples"]
    assert section(kind, "Notes").startswith("**Privacy.**")
    # Indented text in a section would render as a quotation.
    assert not re.search(r"^ +(Parameters|epsilon : |\*\*Privacy)", text, re.M)


def test_a_section_that_there_is_not_is_an_error():
    class Regressor:
        """A regressor.

        $paramters
        """

    with pytest.raises(KeyError, match="paramters"):
        share_docstring(Regressor)


def test_a_class_without_docstring_stays_without():
    # As every class under `python -OO`.
    bare = type("Regressor", (), {"__doc__": None})
    assert share_docstring(bare) is bare
    assert bare.__doc__ is None
