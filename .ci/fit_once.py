# SPDX-License-Identifier: BSD-3-Clause
"""Strict fits and a small collection with an installed wheel, outside the source tree."""

from pathlib import Path

import numpy as np

import skprivate

skprivate.set_config(strict=True)
if (Path.cwd() / "skprivate").exists():
    raise SystemExit("run this outside the source tree")
rng = np.random.default_rng(0)
X = rng.uniform(size=(20_000, 2))
y = (X[:, 0] > 0.5).astype(int)
is_public = np.arange(len(X)) < 50
declared = {"bounds": (0, 1), "classes": [0, 1]}
for tree in (
    skprivate.LocallyPrivateTreeClassifier(**declared),
    skprivate.DPTreeClassifier(rule="cart", prune=True, **declared),
):
    tree.fit(X, y, is_public=is_public)
    print(tree.privacy_spent_)
    if tree.score(X, y) < 0.9 or not tree.privacy_spent_.private:
        raise SystemExit("the installed package does not learn")

plan = skprivate.LocallyPrivateTreeClassifier(epsilon=4.0, **declared)
curator = skprivate.TreeCurator(plan, X[is_public], y[is_public], n_clients=300)
for x, label in zip(X[:300], y[:300].tolist(), strict=True):
    curator.update(curator.client().randomize(x, label))
if skprivate.TreeCurator.from_bytes(curator.to_bytes()).release().score(X, y) < 0.9:
    raise SystemExit("the installed package does not collect")
