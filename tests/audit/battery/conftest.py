# SPDX-License-Identifier: BSD-3-Clause
"""A small process for the battery: some checks look at every living object, and pytest has many of them."""

import importlib
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from joblib.externals.loky import get_reusable_executor

from skprivate.audit import _search as search
from skprivate.audit import check_private_estimator
from skprivate.audit._battery import noise_statistics
from skprivate.exceptions import DisclosureWarning, PrivacyLeakWarning, UtilityWarning
from tests.audit.search_seconds import SEARCH_SECONDS, SHORT, FewLooks


def start_lean_process():
    warnings.simplefilter("error")
    for kind in (DisclosureWarning, PrivacyLeakWarning, UtilityWarning):
        warnings.simplefilter("ignore", kind)
    warnings.filterwarnings("ignore", "A prediction rests on few")
    for seconds in SEARCH_SECONDS:
        seconds.update(dict.fromkeys(seconds, SHORT))
    search.Deadline = noise_statistics.Deadline = FewLooks


def end_workers():
    """End joblib's own workers, for which the process would wait for minutes."""
    get_reusable_executor().shutdown(wait=True)


def run_planted(module, table, bug):
    """Return what the check that a table names beside a planted bug finds."""
    planted, name = getattr(importlib.import_module(module), table)[bug]
    return {**check_private_estimator(planted, only=[name], on_fail=None)[0], "estimator": None}


@pytest.fixture(scope="package")
def lean_process():
    with ProcessPoolExecutor(1, get_context("spawn"), start_lean_process) as pool:
        yield lambda function, *args, **options: pool.submit(function, *args, **options).result()
        pool.submit(end_workers).result()


@pytest.fixture
def assert_caught(lean_process):
    """Return the function that asserts that a bug of a table is found by the check that it names."""

    def check(module, table, bug):
        name = getattr(importlib.import_module(module), table)[bug][1]
        result = lean_process(run_planted, module, table, bug)
        print(result["reason"])
        assert (result["check_name"], result["status"]) == (name, "failed")
        assert "Error:" not in result["reason"], "found by accident: a check that breaks off names nothing"

    return check
