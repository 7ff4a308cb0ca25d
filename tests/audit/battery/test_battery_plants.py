# SPDX-License-Identifier: BSD-3-Clause
"""The planted bugs of the benchmarks are still in the way of a fit: the battery is measured by them."""

import os
import sys
import tempfile
from inspect import unwrap
from types import CodeType, FunctionType
from unittest import mock

import numpy as np
import pytest

from benchmarks.planted import CONTROLS, PLANTS, in_the_suite

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SUITE = [record for record in PLANTS if record.factory.func.__module__ == in_the_suite.__name__]
#: All that leave nothing behind in this process: a thread would stay until its end.
FITTED = [record for record in PLANTS + CONTROLS if record.name != "ThreadNameMajority"]


def own_functions(cls):
    # scikit-learn wraps `transform`.
    return {name: unwrap(value) for name, value in vars(cls).items() if isinstance(value, FunctionType)}


@pytest.mark.parametrize("record", SUITE, ids=lambda record: record.name)
def test_a_bug_overrides_what_its_ancestors_define(record):
    cls = record.factory.func
    ours = [base for base in cls.__mro__[1:] if base.__module__.startswith("skprivate.")]
    functions = own_functions(cls)
    assert functions
    assert not [name for name in functions if not any(name in vars(base) for base in ours)]


@pytest.mark.parametrize("record", SUITE, ids=lambda record: record.name)
def test_a_fit_enters_every_function_of_a_bug(record):
    """Those within a method too, which stand in for functions of a module."""
    X, y = record.make_data(np.random.default_rng(0))
    entered = set()
    sys.setprofile(lambda frame, event, _: entered.add(frame.f_code))
    try:
        model = record.factory().fit(X, y)
        (model.predict if hasattr(model, "predict") else model.transform)(X)
    finally:
        sys.setprofile(None)
    for function in own_functions(type(model)).values():
        inner = [constant for constant in function.__code__.co_consts if isinstance(constant, CodeType)]
        assert {function.__code__, *inner} <= entered, function.__qualname__


@pytest.mark.parametrize("record", FITTED, ids=lambda record: record.name)
def test_what_is_planted_fits_its_rows(record, monkeypatch, tmp_path):
    """A bug that ends in an error would be found for that."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y = record.make_data(np.random.default_rng(0))
    with mock.patch.dict(os.environ):
        model = record.factory()
        assert model.fit(X, y) is model
