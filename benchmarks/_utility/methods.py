# SPDX-License-Identifier: BSD-3-Clause
"""The methods of all comparisons by name: private models of ours, baselines, and peers."""

from collections.abc import Iterable

from .baselines import BASE, baselines, plain_trees
from .method import Method
from .ours import additive, number_trees, trees
from .peers import number_peers, peers

__all__ = ["ADDITIVE", "BASE", "METHODS", "NOTE", "NUMBERS", "OURS", "TREES", "chosen_methods"]

_SHARED: dict[str, Method] = {**dict(additive()), **dict(trees()), **dict(baselines()), **dict(peers())}
METHODS = {**_SHARED, **dict(number_trees()), **dict(plain_trees()), **dict(number_peers())}
#: Boosting, linear models and label privacy.
OURS = tuple(dict(additive()))
_OTHERS = ("base rate", "public", "peer")
#: Methods of the comparison of trees.
TREES = tuple(name for name, method in _SHARED.items() if name in dict(trees()) or method.kind in _OTHERS)
#: Methods of the comparison of additive models, of which trees are the reference.
ADDITIVE = (
    *OURS,
    *("central, cart", "central, cart, forest inside", "label, cart"),
    *(name for name, method in _SHARED.items() if method.kind in (*_OTHERS, "ceiling")),
)
#: Trees of numbers and what they are compared with, by what is protected from whom.
NUMBERS = {
    "central": (
        *("central, regression tree", "central, regression tree, forest inside"),
        *("boosting (delta 1e-6)", "boosting on the forest (delta 1e-6)", "boosting, pure epsilon"),
        *("linear, normal law", "DP-EBM (delta 1e-6)", "diffprivlib linear"),
    ),
    "local": (
        *("local, regression tree", "local, regression tree, forest inside"),
        *("LPDT, max-edge *", "LPDT, cart *"),
    ),
    "label": ("label, regression tree", "label, regression tree, forest inside", "label privacy"),
    "epsilon 0": (
        *("base rate, public rows", BASE),
        *(f"{name}, public rows" for name in ("tree", "boosting", "forest")),
    ),
    "not private": ("tree, not private", "boosting, not private"),
}
NOTE = (
    "central: DPTreeClassifier; local: LocallyPrivateTreeClassifier; label: the same with protect='label'.\n"
    "Models of public rows and base rates read no private row (epsilon 0), but for the base rate of the\n"
    "private training rows, which nobody can publish. 'not private' are models of all rows without noise.\n"
    "Peers are trusted curators without public rows: their figures of that setting are shown in all.\n"
    "DP-EBM, noisy gradients and objective perturbation take two labels only."
)


def chosen_methods(names: Iterable[str]) -> dict[str, Method]:
    """Return the methods that can be run here; name the others."""
    found = {name: METHODS[name] for name in names}
    missing = [name for name, method in found.items() if not method.available()]
    if missing:
        print("Left out, for they are not here: " + ", ".join(missing))
    return {name: method for name, method in found.items() if name not in missing}
