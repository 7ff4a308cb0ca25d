# SPDX-License-Identifier: BSD-3-Clause
"""Private models of this package, which get what is publicly known of the rows and choose the rest."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import skprivate

from .._peers.linear import log_share
from .data import Split
from .method import FittedOnce, Method, Predictions, said
from .peers import DELTA

_RULES = ("max-edge", "cart")
_LABEL = {"protect": "label"}
# The same alone and inside a model of ours: what ours adds shows.
_FORESTS = FittedOnce(RandomForestClassifier(random_state=0)), RandomForestRegressor(random_state=0)


def _known(split: Split, kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model takes of the public knowledge, and its options."""
    given: dict[str, Any] = {"classes": list(split.classes)} if split.classes else {}
    if split.domain is None:
        given |= {"bounds": split.bounds, "bounds_X": split.bounds}
    else:
        given["domain"] = split.domain
    if split.target_range:
        given["bounds_y"] = split.target_range
    if options.get("public_model") == "forest":
        options = {**options, "public_model": _FORESTS[not split.classes]}
    takes = inspect.signature(kind).parameters
    return {**{name: value for name, value in given.items() if name in takes}, **options}


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
    like: str = "",
    on_public: bool = True,
    on_private_alone: bool = True,
    is_linear: bool = False,
    **options: Any,
) -> Method:
    """A classifier and a regressor of ours by name, None for none; noise is from the operating system."""

    def predict(split: Split, epsilons: Sequence[float]) -> Predictions:
        name = names[not split.classes]
        if name is None:
            return
        cls = getattr(skprivate, name)
        known = _known(split, cls, options)
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

    def available() -> bool:
        classes = [getattr(skprivate, name, None) for name in names if name]
        return all(cls and set(options) <= set(inspect.signature(cls).parameters) for cls in classes)

    runs = {"on_public": on_public, "on_private_alone": on_private_alone}
    return Method(predict, kind, like=like, available=available, **runs)


def trees() -> Iterator[tuple[str, Method]]:
    """Yield names and methods of trees."""
    central = "DPTreeClassifier", None
    local = "LocallyPrivateTreeClassifier", None
    kinds: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("central", central, {}),
        ("local", local, {}),
        ("label", local, _LABEL),
    )
    for kind, names, extra in kinds:
        for rule in _RULES:
            yield f"{kind}, {rule}", _ours(names, kind, rule=rule, **extra)
    for kind, names, extra in kinds:
        options = {"rule": "cart", "public_model": "forest", **extra}
        tree = _ours(names, kind, like=f"{kind}, cart", on_private_alone=False, **options)
        yield f"{kind}, cart, forest inside", tree


def number_trees() -> Iterator[tuple[str, Method]]:
    """Yield names and methods of trees of numbers."""
    central, local = (None, "DPTreeRegressor"), (None, "LocallyPrivateTreeRegressor")
    label: dict[str, Any] = _LABEL
    for kind, names, extra in (("central", central, {}), ("local", local, {}), ("label", local, label)):
        yield f"{kind}, regression tree", _ours(names, kind, **extra)
        inside = _ours(names, kind, on_private_alone=False, public_model="forest", **extra)
        yield f"{kind}, regression tree, forest inside", inside


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
