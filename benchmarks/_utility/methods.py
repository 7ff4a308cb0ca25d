# SPDX-License-Identifier: BSD-3-Clause
"""The methods of all comparisons by name: private models of ours, baselines, and peers."""

from collections.abc import Iterable

from .baselines import BASE, baselines, plain_trees
from .method import Method
from .ours import additive, coded_trees, trees
from .peers import number_peers, peers
from .sites import sites

_SHARED: dict[str, Method] = {**dict(additive()), **dict(trees()), **dict(baselines()), **dict(peers())}
METHODS = {**_SHARED, **dict(coded_trees()), **dict(plain_trees()), **dict(number_peers()), **dict(sites())}
CODED = tuple(dict(coded_trees()))
#: Boosting, linear models and label privacy.
OURS = tuple(dict(additive()))
_OTHERS = ("base rate", "public", "peer")
#: Methods of the comparison of trees.
TREES = tuple(name for name, method in _SHARED.items() if name in dict(trees()) or method.kind in _OTHERS)
#: Methods of the comparison of additive models, of which trees are the reference.
ADDITIVE = (
    *OURS,
    *("central, cart", "central, cart, forest inside", "central, regression tree", "label, cart"),
    *(name for name, method in _SHARED.items() if method.kind in (*_OTHERS, "ceiling")),
)
NUMBER_TREES = tuple(name for name in dict(trees()) if "regression tree" in name)
#: Methods of the comparison of trees of numbers.
NUMBERS = (
    *NUMBER_TREES,
    *("boosting (delta 1e-6)", "boosting on the forest (delta 1e-6)", "boosting, pure epsilon"),
    *("linear, normal law", "label privacy", "DP-EBM (delta 1e-6)", "diffprivlib linear"),
    *("LPDT, max-edge *", "LPDT, cart *", "base rate, public rows", BASE, "tree, public rows"),
    *("boosting, public rows", "forest, public rows", "tree, not private", "boosting, not private"),
)
NOTE = (
    "central: DPTreeClassifier; local: LocallyPrivateTreeClassifier; label: the same with protect='label'.\n"
    "Models of public rows and base rates read no private row (epsilon 0), but for the base rate of the\n"
    "private training rows, which nobody can publish. 'not private' are models of all rows without noise.\n"
    "Peers are trusted curators without public rows: their figures of that setting are shown in all.\n"
    "DP-EBM, noisy gradients and objective perturbation take two labels only. * LPDT, of local reports, has\n"
    "the best of a grid of depths, mechanisms and thresholds, chosen on the test rows."
)


def chosen_methods(names: Iterable[str]) -> dict[str, Method]:
    """Return the methods that can be run here; name the others."""
    found = {name: METHODS[name] for name in names}
    missing = [name for name, method in found.items() if not method.available()]
    if missing:
        print("Left out, for they are not here: " + ", ".join(missing))
    return {name: method for name, method in found.items() if name not in missing}
