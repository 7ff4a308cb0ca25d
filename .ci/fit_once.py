# SPDX-License-Identifier: BSD-3-Clause
"""One strict fit with an installed wheel, outside the source tree."""

from pathlib import Path

import numpy as np

import skprivate

skprivate.set_config(strict=True)
if (Path.cwd() / "skprivate").exists():
    raise SystemExit("run this outside the source tree")
rng = np.random.default_rng(0)
X = rng.uniform(size=(20_000, 2))
y = (X[:, 0] > 0.5).astype(int)
tree = skprivate.LocallyPrivateTreeClassifier(bounds=(0, 1), classes=[0, 1])
tree.fit(X, y, is_public=np.arange(len(X)) < 50)
print(tree.privacy_spent_)
if tree.score(X, y) < 0.9 or not tree.privacy_spent_.private:
    raise SystemExit("the installed package does not learn")
