# SPDX-License-Identifier: BSD-3-Clause
"""Private models of this package, which get what is publicly known of the rows and choose the rest."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import skprivate
from skprivate.domain import CategoricalColumn, TableDomain

from .._peers.linear import log_share
from .data import Split
from .method import Method, Predictions, said
from .peers import DELTA

_RULES = ("max-edge", "cart")
# The same alone and inside a model of ours: what ours adds shows.
_FORESTS = RandomForestClassifier(random_state=0), RandomForestRegressor(random_state=0)


def _known(split: Split, kind: type, options: Mapping[str, Any], coding: str) -> dict[str, Any]:
    """Return what a model takes of the public knowledge, and its options."""
    given: dict[str, Any] = {"classes": list(split.classes)} if split.classes else {}
    if split.domain is None or coding == "one-hot":
        given |= {"bounds": split.bounds, "bounds_X": split.bounds}
    else:
        given["domain"] = _with_order(split.domain) if coding == "codes" else split.domain
    if split.target_range:
        given["bounds_y"] = split.target_range
    if options.get("public_model") == "forest":
        options = {**options, "public_model": _FORESTS[not split.classes]}
    takes = inspect.signature(kind).parameters
    return {**{name: value for name, value in given.items() if name in takes}, **options}


def _with_order(domain: TableDomain) -> TableDomain:
    """Return the domain whose levels are codes, in the order in which they are declared."""
    columns = dict(domain.columns)
    for name, column in columns.items():
        if isinstance(column, CategoricalColumn):
            known = {"missing": column.missing, "missing_values": column.missing_values}
            columns[name] = CategoricalColumn(column.levels, ordered=True, **known)
    return TableDomain(columns)


def _public_rows(split: Split, kind: Any) -> dict[str, Any]:
    """Return the mask of public rows, where there are any and the model takes them."""
    takes = "is_public" in inspect.signature(kind.fit).parameters
    return {"is_public": split.is_public} if takes and split.is_public.any() else {}


def _logged(split: Split, table: Any) -> Any:
    """Return a table with the logarithm of the columns with a long tail, within the same bounds."""
    found = {}
    for j in split.logged:
        name, lower, upper = split.domain.encoded_names[j], split.bounds[0][j], split.bounds[1][j]
        share = np.clip((table[name] - lower) / (upper - lower), 0, 1)
        found[name] = lower + (upper - lower) * log_share(share)
    return table.assign(**found)


def _ours(
    names: tuple[str | None, str | None],
    kind: str,
    on_public: bool = True,
    on_private_alone: bool = True,
    is_linear: bool = False,
    coding: str = "declared",
    **options: Any,
) -> Method:
    """A classifier and a regressor of ours by name, None for none; noise is from the operating system."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        name = names[not split.classes]
        if name is None:
            return
        cls = getattr(skprivate, name)
        known = _known(split, cls, options, coding)
        X, X_test = (split.table, split.table_test) if "domain" in known else (split.X, split.X_test)
        if is_linear and split.logged:
            X, X_test = (_logged(split, table) for table in (X, X_test))
        options_of_fit = _public_rows(split, cls)
        for epsilon in epsilons:
            model = clone(cls(epsilon=epsilon, **known))
            yield said(
                *(epsilon, model, split, X_test),
                lambda model=model: model.fit(X, split.y, **options_of_fit),  # type: ignore[misc]
            )

    return Method(predict, kind, on_public=on_public, on_private_alone=on_private_alone)


#: What is protected from whom, and the options of a tree that say so.
_TREES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("central", "DPTree", {}),
    ("local", "LocallyPrivateTree", {}),
    ("label", "LocallyPrivateTree", {"protect": "label"}),
)


def trees() -> Iterator[tuple[str, Method]]:
    """Yield names and methods of trees of labels, then of numbers."""
    inside: dict[str, Any] = {"public_model": "forest", "on_private_alone": False}
    for kind, name, extra in _TREES:
        of_labels = f"{name}Classifier", None
        for rule in _RULES:
            yield f"{kind}, {rule}", _ours(of_labels, kind, rule=rule, **extra)
        yield f"{kind}, cart, forest inside", _ours(of_labels, kind, rule="cart", **inside, **extra)
        of_numbers = None, f"{name}Regressor"
        yield f"{kind}, regression tree", _ours(of_numbers, kind, **extra)
        yield f"{kind}, regression tree, forest inside", _ours(of_numbers, kind, **inside, **extra)


def coded_trees() -> Iterator[tuple[str, Method]]:
    """Yield trees whose columns are one a level, or codes."""
    for kind, name, extra in _TREES[:2]:
        for coding in ("one-hot", "codes"):
            coded = _ours((f"{name}Classifier", None), kind, coding=coding, rule="max-edge", **extra)
            yield f"{kind}, {coding}", coded


def additive() -> Iterator[tuple[str, Method]]:
    """Yield names and methods of boosting, linear models and label privacy."""
    boosting = "DPBoostingClassifier", "DPBoostingRegressor"
    yield "boosting (delta 1e-6)", _ours(boosting, "central", delta=DELTA)
    on_forest: dict[str, Any] = {"public_model": "forest", "on_private_alone": False}
    yield "boosting on the forest (delta 1e-6)", _ours(boosting, "central", delta=DELTA, **on_forest)
    yield "boosting, pure epsilon", _ours(boosting, "central", on_public=False)
    logistic = "DPLogisticRegression", None
    linear: dict[str, Any] = {"on_public": False, "is_linear": True}
    yield "logistic (delta 1e-6)", _ours(logistic, "central", delta=DELTA, **linear)
    yield "logistic, pure epsilon", _ours(logistic, "central", **linear)
    yield "linear, normal law", _ours((None, "DPNormalLLSRegressor"), "central", on_public=False)
    yield "label privacy", _ours(("LabelPrivateClassifier", "LabelPrivateRegressor"), "label")
