# SPDX-License-Identifier: BSD-3-Clause
"""
Lifetimes of turbofan engines, from their first cycles
======================================================

This is the case study of the DP-LLS paper. 94 engines ran to failure. The first 150 cycles of three sensors
are to predict the lifetime of an engine. The owner of the fleet wants to share the model, not the engines.
With so few rows, which epsilon makes a private model better than a constant?

The files are not part of the package. `skprivate.datasets.fetch_turbofan` states where to put them; or run
the example with ``SKPRIVATE_DATA=FOLDER``. Without the files, the page uses engines SIMULATED by a Weibull
model, and its pictures state so.
"""

# %%
# What is public
# --------------
# A principal component analysis of the protected engines would read them without spending budget. Here the
# sensor values of 37 other engines, the test set, are declared public. They centre and scale the sensors and
# give three components of 450 values, and the bounds of the scores. Lifetimes are at least 150 cycles, by
# choice of the engines, and at most 400, by assumption.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.utils import Bunch

import skprivate
from skprivate import DPLogLocationScaleRegressor
from skprivate.datasets import fetch_turbofan, make_location_scale
from skprivate.exceptions import UtilityWarning


def simulate_engines(n_train=94, n_test=37):
    """Three scores between -1 and 1, and Weibull lifetimes around 200 cycles."""
    X, y = make_location_scale(
        n_train + n_test, 3, coef=[-0.3, 0.1, 0], intercept=np.log(210), scale=0.1, random_state=0
    )
    X, y = pd.DataFrame(X, columns=["PC1", "PC2", "PC3"]), pd.Series(y.clip(150, 400))
    parts = {"data": X[:n_train], "target": y[:n_train], "test_data": X[n_train:], "test_target": y[n_train:]}
    return Bunch(**parts, bounds_X=(-1, 1), bounds_y=(150.0, 400.0))


skprivate.set_config(strict=True)
try:
    data, source = fetch_turbofan(as_frame=True), "Turbofan engines"
except FileNotFoundError:
    data, source = simulate_engines(), "SIMULATED engines"
X, y, X_test, y_test = data.data, data.target, data.test_data, data.test_target
public = {"bounds_X": data.bounds_X, "bounds_y": data.bounds_y}
print(f"{source}: {len(X)} to learn from, {len(X_test)} to test, lifetimes bounded by {data.bounds_y} cycles")


# %%
# Error against epsilon
# ---------------------
# The table shows relative errors of the predicted medians over 50 releases at each epsilon. The noise has no
# seed, so figures change a little from run to run. An estimator warns if its released values cannot rule out
# that a constant predicts equally well. The last column shows the share of such releases. The estimator knows
# the noise but not the test set, so it warns rather too often.
def relative_error(lifetimes):
    return np.abs(np.asarray(lifetimes) / y_test - 1)


epsilons, releases = [0.5, 1, 2, 5, 10], 50
medians, quartiles, warned = [], [], []
for epsilon in epsilons:
    errors, count = [], 0
    for _ in range(releases):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UtilityWarning)
            model = DPLogLocationScaleRegressor(epsilon=epsilon, **public).fit(X, y)
        count += any(issubclass(warning.category, UtilityWarning) for warning in caught)
        errors.append(relative_error(model.predict(X_test)))
    medians.append(np.median(errors))
    quartiles.append(np.quantile(np.median(errors, axis=1), [0.25, 0.75]))
    warned.append(count / releases)

plain = np.median(relative_error(np.exp(LinearRegression().fit(X, np.log(y)).predict(X_test))))
constant = np.median(relative_error(y.median()))
print(f"not private: {plain:.3f}, a constant (the median lifetime, not private): {constant:.3f}")
print("epsilon  error  releases that warned")
for epsilon, error, share in zip(epsilons, medians, warned, strict=True):
    print(f"{epsilon:>7g} {error:>6.3f} {share:>9.0%}")

# %%
figure, axis = plt.subplots(layout="constrained")
low, high = np.transpose(quartiles)
axis.fill_between(epsilons, low, high, alpha=0.2, label="half of the releases")
axis.plot(epsilons, medians, marker="o", label="private, median")
axis.axhline(constant, color="grey", linestyle=":", label="constant")
axis.axhline(plain, color="black", linestyle="--", label="not private")
axis.set(
    xscale="log",
    xlabel="epsilon",
    ylabel="relative error",
    ylim=(0, None),
    title=f"{source}, {len(X)} to learn from",
)
axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axis.minorticks_off()
axis.legend()
plt.show()

# %%
# Single engines
# --------------
# The plot shows one release at epsilon 5, with the lifetimes before which 10 % and 90 % of such engines fail.
# The grey band is the 90 % interval of the predicted median. It includes the sampling error and the noise.
warnings.simplefilter("ignore", UtilityWarning)  # counted above
model = DPLogLocationScaleRegressor(epsilon=5.0, **public).fit(X, y)
quantiles, interval = model.predict_quantile(X_test, [0.1, 0.5, 0.9], return_interval=True)
order = np.argsort(quantiles[:, 1])
rank = np.arange(len(order))

figure, axis = plt.subplots(layout="constrained")
axis.fill_between(rank, *interval[order, 1].T, color="grey", alpha=0.3, label="90 % interval of the median")
axis.plot(rank, quantiles[order, 1], color="black", label="predicted median")
axis.plot(rank, quantiles[order][:, [0, 2]], color="C0", linestyle="--", linewidth=1)
axis.plot([], [], color="C0", linestyle="--", linewidth=1, label="10 % and 90 % quantiles")
axis.plot(rank, y_test.to_numpy()[order], "o", color="C1", markersize=4, label="true lifetime")
axis.set(
    xlabel="test engine, by predicted median", ylabel="cycles", title=f"{source}, epsilon 5", ylim=(100, 500)
)
axis.legend(fontsize="small", loc="upper left")
plt.show()

# %%
# What one fit claims
# -------------------
print(model.privacy_spent_)
