# SPDX-License-Identifier: BSD-3-Clause
"""The docstrings of the regressors, whose shared sections are written once, and the presets' parameters."""

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
EVERY_REGRESSOR = pytest.mark.parametrize("kind", [DPLogLocationScaleRegressor, *PRESETS])


def section(kind, name):
    """The lines of a section of a docstring, up to the next title."""
    text = inspect.getdoc(kind)
    return re.search(rf"^{name}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.M | re.S).group(1)


@EVERY_REGRESSOR
def test_parameters_and_defaults_are_described_in_the_order_of_the_signature(kind):
    described = re.findall(r"^(\w+) : (?:.*default=(.+))?", section(kind, "Parameters"), re.M)
    signature = inspect.signature(kind).parameters
    assert [name for name, _ in described] == list(signature)
    for name, default in described:
        assert default.replace('"', "") == str(signature[name].default), name


@EVERY_REGRESSOR
def test_every_section_is_there(kind):
    text = inspect.getdoc(kind)
    assert "$" not in text
    titles = re.findall(r"^(\S.*)\n-{3,}$", text, re.M)
    assert titles == ["Parameters", "Attributes", "See Also", "Notes", "References", "Examples"]
    assert section(kind, "Notes").startswith("**Privacy.**")
    # Indented text in a section would render as a quotation.
    assert not re.search(r"^ +(Parameters|epsilon : |\*\*Privacy)", text, re.M)


@pytest.mark.parametrize("kind", PRESETS)
def test_presets_take_what_the_regressor_does_but_the_distribution(kind):
    whole = inspect.signature(DPLogLocationScaleRegressor).parameters.values()
    signature = [parameter for parameter in whole if parameter.name != "distribution"]
    assert list(inspect.signature(kind).parameters.values()) == signature


def test_a_section_that_there_is_not_is_an_error_and_no_docstring_stays_none():
    class Regressor:
        """A regressor.

        $paramters
        """

    with pytest.raises(KeyError, match="paramters"):
        share_docstring(Regressor)
    # As every class under `python -OO`.
    bare = type("Regressor", (), {"__doc__": None})
    assert share_docstring(bare) is bare
    assert bare.__doc__ is None
