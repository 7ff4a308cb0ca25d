# SPDX-License-Identifier: BSD-3-Clause
"""
What an operator can steal of a site's model
============================================

Twenty hospitals answer queries together, each with a model of its own. Whoever runs the platform may send
queries that nobody asked, write down one hospital's answers, fit a model to them, and do without the hospital
from then on. What does he get when answers are open, when they are swapped (BSTD), and when only their sum is
ever known (secure sum)?

The short answer: a secure sum leaves him nothing but the predictions. Swapping stops who takes a hospital's
column at its word, not who knows a little about the hospitals; and no protection of answers hides what all
hospitals agree on.
"""

# %%
# The platform
# ------------
# The toy of the paper: 10,000 rows, twenty sites, five features on the unit cube. All sites but the last have
# about 450 rows; the last one, the victim, has the rest, about 1,400.
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
    # That the victim is known by its size is what is shown here.
    warnings.simplefilter("ignore", DisclosureWarning)
    swapped = CollaborativeRegressor(local, aggregator=BSTDAggregator(3, 8)).fit(X, y, sites)
summed = CollaborativeRegressor(local, aggregator=SecureSumAggregator()).fit(X, y, sites)
apart = np.abs(swapped.predict(X_test) - summed.predict(X_test)).max()
sizes = swapped.site_sizes_
print(f"sites of {sizes.min()} to {sizes.max()} rows; predictions of both differ by {apart:.0e}")

# %%
# The attack
# ----------
# As many fake queries as the victim has rows, uniform on the cube, and a Gaussian local average as the copy.
# ``MSE`` is that of the platform with the copy in the victim's place: as low as before means that the victim
# is not needed any more. ``off victim`` is how far the copy's answers are from the victim's.
attack = ModelExtractionAttack(random_state=0)
result = attack.run(swapped, X_test, y_test, bounds=(0, 1))
print(result)

# %%
# With a secure sum there is no column to copy from.
print(attack.run(summed, X_test, y_test, bounds=(0, 1)))

# %%
# What the copies know
# --------------------
# Every dot is a new query. The victim's own answers in the open give a copy that lies near the diagonal. The
# swapped column gives one that answers a third of what the victim would: what is opened are shares of the
# sum, and the victim's share is three times as large as that of another site that came to stand in its place.
# An operator who knows the sizes divides by the right one. One who thinks about it takes the largest value of
# each query, which is the victim's wherever it was swapped to, and has the open answers again. And the
# platform's own predictions, which anybody has who may ask, are nearly as good.
truth = swapped.site_responses(X_test)[:, -1]
copies = {
    "open answers": result.unprotected,
    "swapped column": result.observed,
    "swapped, scaled by size": result.rescaled,
    "value at its rank": result.ranked,
    "predictions only": result.predictions,
}
figure, axes = plt.subplots(1, 5, figsize=(12, 3.1), layout="constrained", sharex=True, sharey=True)
for axis, (name, copied) in zip(axes, copies.items(), strict=True):
    axis.plot(truth, copied.surrogate.predict(X_test), ".", markersize=3, alpha=0.5)
    axis.axline((0, 0), slope=1, color="black", linewidth=1)
    axis.set(title=f"{name}\n{copied.surrogate_rmse:.3f} off", xlabel="victim's answer")
axes[0].set_ylabel("copy's answer")
plt.show()

# %%
# Sites of one size
# -----------------
# When all sites have 500 rows there is nothing to scale, and the swapped column is nearly as good as the open
# answers: it holds answers of sites that have learnt the same thing. The bars compare both platforms.
equal = np.arange(len(y)) % 20
platform = CollaborativeRegressor(local, aggregator=BSTDAggregator(3, 8)).fit(X, y, equal)
same_size = attack.run(platform, X_test, y_test, bounds=(0, 1))
print(same_size)

figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
places = np.arange(len(copies))
for shift, (label, found) in zip(
    (-0.2, 0.2), (("victim thrice as large", result), ("all of one size", same_size)), strict=True
):
    parts = (found.unprotected, found.observed, found.rescaled, found.ranked, found.predictions)
    axis.bar(places + shift, [part.mse_replaced / found.mse for part in parts], width=0.4, label=label)
axis.axhline(1, color="black", linestyle="--", linewidth=1)
axis.set_xticks(places, [name.replace(" ", "\n") for name in copies])
axis.set(ylabel="MSE with the copy in place,\nover that of the intact platform", title="BSTD(3, 8)")
axis.legend()
plt.show()

# %%
# A site that knows better
# ------------------------
# A model is worth stealing when it differs. Here the last of twenty equal sites measures .5 more than the
# others. Predictions do not give it away, nor does its swapped column, whose answers are the others'. But its
# answer is the largest of every query. (The platform predicts better without such a site, so look at
# ``off victim`` and not at the MSE.)
y_apart = y + 0.5 * (equal == 19)
platform = CollaborativeRegressor(local, aggregator=BSTDAggregator(3, 8)).fit(X, y_apart, equal)
print(attack.run(platform, X_test, y_test, bounds=(0, 1)))

# %%
# What to do
# ----------
# Where answers need not be shown, use a secure sum: nothing is opened, so nothing can be copied but what
# predictions tell. Swapping is the paper's method, for platforms that open answers: it hides whose they are
# from an operator who knows nothing of the sites and does not ask the same query again. Neither limits how
# often an operator asks: sites should.
