# SPDX-License-Identifier: BSD-3-Clause
"""Every public class that reads rows, found by a walk over the package, takes rows that hold anything."""

import contextlib
import datetime
import importlib
import pkgutil
import warnings
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skprivate
from skprivate import (
    BoundsScaler,
    BSTDAggregator,
    DomainEncoder,
    DPTreeClassifier,
    MomentAccumulator,
    PrivacyLedger,
    PrivateGridSearch,
    TQMATransformer,
    config_context,
)
from skprivate.audit._cases import columns_of
from skprivate.exceptions import BudgetExceededError, DisclosureWarning, UtilityWarning
from skprivate.preprocessing import BoundsAccumulator, SilentUfunc
from skprivate.tree import LeafCountAccumulator
from tests.catalogue import DOMAIN, INSTANCES, ONE_OF_EACH, SHALLOW, Instance, arguments
from tests.marks import slow_unless
from tests.test_hostile_rows import HOSTILE

#: What makes a class a reader of rows.
READS = {"fit", "partial_fit", "transform", "predict", "update"}
NOT_DP = "its rows are a site's: a report calls it not private, whatever it was fitted on"
#: Public classes that take no hostile rows here, and why.
REASONS = {
    "AuditCase": "a bound method of the battery, on rows of its own",
    "CollaborativeClassifier": NOT_DP,
    "CollaborativeLARRegressor": NOT_DP,
    "CollaborativeRegressor": NOT_DP,
    "LocalAverageRegressor": NOT_DP,
    "MaskedSites": "its rows are at sites, each of which reads its own",
    "MediatedNashSolver": "its input is a game",
    "PrivateNashSolver": "its input is a game",
    "PublicEstimator": "what it does is done by the estimator inside, which is its owner's",
    "RegistryEntry": "a document, and no rows",
    "SecureSumAggregator": "it takes answers of sites; it does not transform, so that no model is behind it",
    "SplitCurator": "its input are reports, which devices made private",
    "TreeCurator": "its input are reports, which devices made private",
}
#: Features are public under the relation "label": only targets may hold anything.
OPEN_FEATURES = ("label", "tree, labels", "tree of numbers, targets", "search, persons, label")
TREE = DPTreeClassifier(**SHALLOW)
STEPS = {
    "tqma": TQMATransformer(bounds=(-1, 1)),
    "scaler": BoundsScaler((-1, 1)),
    "encoder": DomainEncoder(),
    "encoder, domain": DomainEncoder(DOMAIN),
    "encoder, errors": DomainEncoder(DOMAIN, missing="error"),
    "function": FunctionTransformer(SilentUfunc(np.absolute)),
    "swapping": BSTDAggregator(),
}
CHAINS = {name: make_pipeline(step, clone(TREE)) for name, step in STEPS.items()}
SEARCHES = {
    name: PrivateGridSearch(chain, {"dptreeclassifier__max_depth": [1, 2]})
    for name, chain in CHAINS.items()
    if name not in ("tqma", "swapping")  # they state no epsilon, so that a search refuses them
}
CASES = {
    **{name: case for name, case in INSTANCES.items() if name != "tree, nothing declared"},
    **{f"chain, {name}": Instance(chain, "labels") for name, chain in CHAINS.items()},
    **{f"search of a chain, {name}": Instance(search, "labels") for name, search in SEARCHES.items()},
}
CASES = {name: case for name, case in CASES.items() if type(case.estimator).__name__ not in REASONS}
QUICK = {*ONE_OF_EACH, "tree, public rows", "chain, tqma", "search of a chain, scaler"}
#: 20 values of each of 15 kinds: what fails on a fifth of a kind is missed with probability 0.8^20 = 1.2 %.
DRAWN = 300
ACCUMULATORS: dict[str, Any] = {
    "moments": lambda: MomentAccumulator((-1, 1), (1, 2), max_rows=10_000),
    "bounds": lambda: BoundsAccumulator(2),
    "leaves": lambda: LeafCountAccumulator(clone(TREE).set_params(bounds=([-1, -1], [1, 1])), 2100),
}


def readers() -> dict[str, type]:
    """Return the public classes of the package that read rows, by name."""
    found = {}
    for module in pkgutil.walk_packages(skprivate.__path__, "skprivate."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        home = importlib.import_module(module.name)
        for name in getattr(home, "__all__", ()):
            one = getattr(home, name)
            if isinstance(one, type) and any(callable(getattr(one, method, None)) for method in READS):
                found[name] = one
    return found


def random_values(n: int) -> list[Any]:
    """Return values of every type that a cell may have, drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    makers = [
        lambda: float(np.int64(rng.integers(-(2**63), 2**63 - 1)).view(np.float64)),
        lambda: int(rng.integers(1, 9)) * (-1) ** int(rng.integers(2)) * 10 ** int(rng.integers(0, 500)),
        lambda: "".join(map(chr, rng.integers(0, 0xD7FF, rng.integers(0, 6)))),
        lambda: str(rng.normal()) + "eE_. \n"[rng.integers(6)],
        lambda: bytes(rng.integers(0, 256, rng.integers(0, 5)).tolist()),
        lambda: Fraction(int(rng.integers(-9, 9)) * 10 ** int(rng.integers(0, 400)), int(rng.integers(1, 9))),
        lambda: Decimal(("NaN", "sNaN", "-Infinity", "1e999999", "-0", "2.5")[rng.integers(6)]),
        lambda: np.dtype("?bBhHiIlLefdgFDG"[rng.integers(16)]).type(rng.integers(0, 2)),
        lambda: np.datetime64(int(rng.integers(0, 9**9)), "YMDhs"[rng.integers(5)]),
        lambda: np.timedelta64(int(rng.integers(0, 99)), "YMDhs"[rng.integers(5)]),
        lambda: [None, pd.NA, pd.NaT, ..., NotImplemented, int, len, rng, datetime.time(1)][rng.integers(9)],
        lambda: [(), [], [1, 2], {1: 2}, {3}, np.ones((2, 2)), np.array("7"), "ab"][rng.integers(8)],
        lambda: type(
            "Odd", (), {name: _raises for name in ("__float__", "__len__", "__eq__", "__array__")}
        )(),
        lambda: type("OddNumber", (float,), {name: _raises for name in ("__float__", "__eq__", "__lt__")})(1),
        lambda: type("OddWord", (str,), {name: _raises for name in ("__str__", "__eq__", "__hash__")})("1"),
    ]
    return [makers[place % len(makers)]() for place in range(n)]


def _raises(*_: Any) -> Any:
    raise RuntimeError("secret")


def with_cells(X: np.ndarray, values: list[Any]) -> np.ndarray:
    """Return a table of objects with other values in the second column of its last, private rows."""
    cells = np.array(X, dtype=object)
    cells[:, 1] = column_with(cells[:, 1], values)
    return cells


def column_with(values: Any, others: list[Any]) -> np.ndarray:
    column = np.array(values, dtype=object)
    for place, value in enumerate(others):
        column[len(column) - len(others) + place] = value
    return column


def containers(cells: np.ndarray, names: Sequence[str] = "ab") -> list[Any]:
    frame = pd.DataFrame({name: pd.Series(list(cells[:, k]), dtype=object) for k, name in enumerate(names)})
    return [cells, cells.tolist(), frame]


def refuse_by_type(read: Any, table: Any) -> None:
    """An array or a frame of objects is refused for its type, with a message that no cell is in."""
    with pytest.raises(TypeError, match="X holds text or objects") as caught:
        read(table)
    assert "secret" not in str(caught.value)


def run(case: Instance, name: str, values: list[Any]) -> None:
    """Fit, transform and predict rows with these values, in strict mode; any error is the test's."""
    given = arguments(case, n=max(40, 2 * len(values)))
    X = given.pop("X")
    domain = columns_of(case.estimator)
    tables = containers(with_cells(X, values), "ab" if domain is None else domain.names)
    for table in () if name.startswith(OPEN_FEATURES) else tables:
        if domain is None and "tqma" not in name and not isinstance(table, list):
            refuse_by_type(lambda rows: clone(case.estimator).fit(rows, **given), table)
            continue
        model = clone(case.estimator).fit(table, **given)
        for method in ("transform", "predict", "predict_proba", "predict_log_proba", "apply"):
            if hasattr(model, method):
                getattr(model, method)(table)
    # Targets with fields have tests of their own.
    for key, column in given.items():
        if column.dtype.names is None:
            cells = column_with(column, values)
            for hostile in (cells, cells.tolist()):
                clone(case.estimator).fit(X, **{**given, key: hostile})


@contextlib.contextmanager
def strictly():
    # Utility is told from released values, disclosure from the parties' sizes and number.
    with config_context(strict=True, allow_seeds=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", UtilityWarning)
        warnings.simplefilter("ignore", DisclosureWarning)
        yield


def test_every_reader_has_a_case_or_a_reason():
    found = readers()
    cases = {type(case.estimator).__name__ for case in CASES.values()}
    covered = cases | {type(make()).__name__ for make in ACCUMULATORS.values()}
    assert sorted(set(found) - covered) == sorted(REASONS)


@pytest.mark.parametrize("name", slow_unless(QUICK, CASES))
def test_a_reader_takes_hostile_rows(name):
    with strictly():
        run(CASES[name], name, [*HOSTILE, *random_values(DRAWN)])


@pytest.mark.parametrize("values", [HOSTILE, pytest.param(random_values(DRAWN), marks=pytest.mark.slow)])
@pytest.mark.parametrize("strict", [False, True])
def test_a_step_takes_every_value_alone(values, strict):
    """One cell decides the type of a list, and so may do what it cannot do among others."""
    X = np.random.default_rng(0).uniform(size=(6, 2))
    steps = {name: step for name, step in STEPS.items() if strict or name != "swapping"}
    with config_context(strict=strict), warnings.catch_warnings():
        warnings.simplefilter("ignore", DisclosureWarning)
        for value in values:
            for table in containers(with_cells(X, [value])):
                for name, step in steps.items():
                    by_type = isinstance(table, pd.DataFrame) or (strict and isinstance(table, np.ndarray))
                    if by_type and name in ("function", "swapping"):
                        continue  # refused where it is transformed, or outside strict mode for its cells
                    if by_type and name in ("scaler", "encoder"):
                        refuse_by_type(clone(step).fit, table)
                        continue
                    out = clone(step).fit(table).transform(table)
                    assert np.isfinite(np.asarray(out)[:-1].astype(float)).all()


@pytest.mark.parametrize("name", ACCUMULATORS)
def test_a_batch_takes_hostile_rows(name):
    X, y = np.random.default_rng(0).uniform(size=(2, 2100, 2))
    values = [*HOSTILE, *random_values(DRAWN)]
    with strictly():
        target = () if name == "bounds" else (column_with(y[:, 0], values),)
        cells, rows, frame = containers(with_cells(X, values))
        ACCUMULATORS[name]().update(rows, *target)
        for table in (cells, frame) if name == "moments" else (cells,):
            refuse_by_type(lambda table: ACCUMULATORS[name]().update(table, *target), table)


# --- failures that nobody counts --------------------------------------------------------------------------


def exploit(threshold: float, ledger: PrivacyLedger) -> Any:
    """Return the chain that told a column's maximum: infinity where a value reaches a threshold."""
    return make_pipeline(
        BoundsScaler((0, threshold)),
        FunctionTransformer(SilentUfunc(np.arctanh)),
        TQMATransformer(bounds=(0, 1)),
        DPTreeClassifier(1.0, bounds=(0, 1), classes=[0, 1], ledger=ledger),
    )


@pytest.mark.parametrize("strict", [False, True])
def test_a_chain_of_ours_answers_nothing_once_the_ledger_is_exhausted(tmp_path, strict):
    X, y = np.random.default_rng(0).uniform(size=(40, 1)), np.arange(40) % 2
    ledger = PrivacyLedger(tmp_path / "spent.ledger", epsilon=0.5, max_failures=0)
    with config_context(strict=strict):
        for threshold in (0.5 * X.max(), X.max(), 2 * X.max()):
            with pytest.raises(BudgetExceededError):
                exploit(float(threshold), ledger).fit(X, y)
    assert ledger.n_failures == 0


@pytest.mark.parametrize("name", ["scaler", "encoder"])
def test_a_search_refuses_what_its_steps_would_pass_on_before_it_pays(tmp_path, name):
    X, y = np.random.default_rng(0).uniform(size=(40, 2)), np.arange(40) % 2
    ledger = PrivacyLedger(tmp_path / "refused.ledger")
    search = clone(SEARCHES[name]).set_params(ledger=ledger)
    for value in (np.nan, np.inf):
        X[3, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            search.fit(X, y)
    assert not list(ledger.entries())
    assert ledger.n_failures == 2


@pytest.mark.parametrize("name", slow_unless(("tqma", "encoder, errors"), STEPS))
def test_outside_strict_mode_every_failure_of_a_chain_is_counted(tmp_path, name):
    X, y = np.random.default_rng(0).uniform(size=(40, 2)), np.arange(40) % 2
    ledger = PrivacyLedger(tmp_path / "failed.ledger", epsilon=1000)
    chain = make_pipeline(STEPS[name], clone(TREE).set_params(ledger=ledger))
    answers = {"failed": 0, "fitted": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in HOSTILE if name != "swapping" else ():
            try:
                chain.fit(with_cells(X, [value]), y)
                answers["fitted"] += 1
            except (TypeError, ValueError):
                answers["failed"] += 1
    assert ledger.n_failures == answers["failed"]
    assert len(ledger.entries()) == answers["fitted"]
