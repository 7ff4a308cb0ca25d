# SPDX-License-Identifier: BSD-3-Clause
"""
How much of a site's model an operator can copy
===============================================

Twenty hospitals answer queries together, each with its own model. The operator of the platform may send fake
queries, record one hospital's answers, and fit a model to them. The copy then replaces the hospital. How good
is the copy if answers are open, if they are swapped (BSTD), or if only their sum is known (secure sum)?

In short, a secure sum leaves the operator nothing but the predictions. Swapping stops an operator who uses a
hospital's column as it is. It does not stop one who knows a little about the hospitals. No protection of
answers hides what all hospitals agree on.
"""

# %%
# The platform
# ------------
# The simulation of the paper has 10,000 rows, twenty sites and five features in the unit cube. The last site,
# the victim, has about 1,400 rows. Each other site has about 450.
import warnings

import matplotlib.pyplot as plt
import numpy as np

import skprivate
from skprivate import CollaborativeRegressor, LocalAverageRegressor
from skprivate.audit import ModelExtractionAttack
from skprivate.collaborative import BSTDAggregator, SecureSumAggregator
from skprivate.datasets import make_parties
from skprivate.exceptions import DisclosureWarning

skprivate.set_config(strict=True)
X, y, sites = make_parties(10_000, 20, random_state=0)
X_test, y_test, _ = make_parties(1000, 1, noise=0, random_state=1)
local = LocalAverageRegressor(bounds=(0, 1))
with warnings.catch_warnings():
    # The warning says that the victim can be recognised by its size, which is the subject of this example.
    warnings.simplefilter("ignore", DisclosureWarning)
    swapped = CollaborativeRegressor(local, aggregator=BSTDAggregator(3, 8)).fit(X, y, sites)
summed = CollaborativeRegressor(local, aggregator=SecureSumAggregator()).fit(X, y, sites)
apart = np.abs(swapped.predict(X_test) - summed.predict(X_test)).max()
sizes = swapped.site_sizes_
print(f"sites of {sizes.min()} to {sizes.max()} rows; predictions of both differ by {apart:.0e}")

# %%
# The attack
# ----------
# The operator sends as many fake queries as the victim has rows, uniform on the cube. The copy is a Gaussian
# local average. ``MSE`` is the error of the platform with the copy in the victim's place. If it is as low as
# before, the victim is not needed any more. ``off victim`` is the distance of the copy's answers from the
# victim's.
attack = ModelExtractionAttack(random_state=0)
result = attack.run(swapped, X_test, y_test, bounds=(0, 1))
print(result)

# %%
# With a secure sum, there is no column to copy from.
print(attack.run(summed, X_test, y_test, bounds=(0, 1)))

# %%
# How close the copies are
# ------------------------
# Each dot is a new query. A copy of open answers is near the diagonal. A copy of the swapped column answers a
# third of the victim's values, because the operator sees shares of the sum. The victim's share is three times
# as large as that of the site that took its place. An operator who knows the sizes can divide by the right
# one. A smarter operator takes the largest value of each query. It is the victim's, wherever it was swapped
# to, and so equals the open answer. A copy of the platform's own predictions, which every user sees, is
# nearly as good.
truth = swapped.site_responses(X_test)[:, -1]
copies = {
    "open answers": result.unprotected,
    "swapped column": result.observed,
    "swapped, scaled by size": result.rescaled,
    "value at its rank": result.ranked,
    "predictions only": result.predictions,
}
figure, axes = plt.subplots(1, 5, figsize=(15, 4.2), layout="constrained", sharex=True, sharey=True)
for axis, (name, copied) in zip(axes, copies.items(), strict=True):
    axis.plot(truth, copied.surrogate.predict(X_test), ".", markersize=3, alpha=0.5)
    axis.axline((0, 0), slope=1, color="black", linewidth=1)
    axis.set(title=f"{name}\n{copied.surrogate_rmse:.3f} off".replace(", ", ",\n"), xlabel="victim's answer")
axes[0].set_ylabel("copy's answer")
plt.show()

# %%
# Sites of one size
# -----------------
# If all sites have 500 rows, there is nothing to scale. The swapped column is then nearly as good as the open
# answers, because it holds answers of sites with the same model. The bars compare both platforms.
equal = np.arange(len(y)) % 20
platform = CollaborativeRegressor(local, aggregator=BSTDAggregator(3, 8)).fit(X, y, equal)
same_size = attack.run(platform, X_test, y_test, bounds=(0, 1))
print(same_size)

# sphinx_gallery_thumbnail_number = 2
figure, axis = plt.subplots(layout="constrained")
places = np.arange(len(copies))
for shift, (label, found) in zip(
    (-0.2, 0.2), (("victim is larger", result), ("equal sites", same_size)), strict=True
):
    parts = (found.unprotected, found.observed, found.rescaled, found.ranked, found.predictions)
    axis.barh(places + shift, [part.mse_replaced / found.mse for part in parts], height=0.4, label=label)
axis.axvline(1, color="black", linestyle="--", linewidth=1)
axis.set_yticks(places, [name.replace(", ", ",\n") for name in copies])
axis.invert_yaxis()
axis.set_xlabel("platform's error with the copy, relative")
axis.legend(loc="center right")
plt.show()

# %%
# A site that differs
# -------------------
# A model that differs from the others is more valuable. Here the last of twenty equal sites measures 0.5 more
# than the others. Predictions do not reveal its model, nor does its swapped column, which holds the answers
# of others. But its answer is the largest one of each query. (The platform predicts better without such a
# site, so read ``off victim`` and not the MSE.)
y_apart = y + 0.5 * (equal == 19)
platform = CollaborativeRegressor(local, aggregator=BSTDAggregator(3, 8)).fit(X, y_apart, equal)
print(attack.run(platform, X_test, y_test, bounds=(0, 1)))

# %%
# What to do
# ----------
# If answers need not be shown, use a secure sum. Nothing is opened, so an operator can copy only the
# predictions. Swapping is the paper's method for platforms that open answers. It hides whose answers they are
# from an operator who knows nothing about the sites and does not repeat a query. Neither method limits the
# number of queries; sites should do so.
