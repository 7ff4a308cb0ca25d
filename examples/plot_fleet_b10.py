# SPDX-License-Identifier: BSD-3-Clause
"""
B10 life of a fleet that is still running
=========================================

A maker of pumps wants to know by when a tenth of them fail, how that depends on their load, and a bound that
holds. Its data are a table of a million machines of its customers, of which 5 % have failed so far. The
machines are simulated, so that their B10 life is known.
"""

# %%
# The fleet
# ---------
# Weibull lifetimes in years, shape 2, five features between -1 and 1 from the data sheet. Machines went into
# service at an even pace, so most are young, and 95 % still run: for these only the age is known.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import skprivate
from skprivate import DPLogLocationScaleRegressor
from skprivate.datasets import make_location_scale
from skprivate.inspection import QuantileDependenceDisplay, SurvivalCurveDisplay

skprivate.set_config(strict=True)
names = ["load", "temperature", "starts", "altitude", "salinity"]
coef, intercept, scale = np.array([-0.6, -0.3, -0.2, 0.0, 0.1]), np.log(20.0), 0.5
X, y = make_location_scale(
    1_000_000, 5, coef=coef, intercept=intercept, scale=scale, censoring=0.95, random_state=0
)
X = pd.DataFrame(X, columns=names)
print(f"{1 - y['event'].mean():.1%} of the machines still run; the oldest is {y['time'].max():.1f} years old")

# %%
# One private fit
# ---------------
# Bounds of the features are those of the data sheet, those of the times a maker's knowledge: what fails in
# less than a month and what lasts for 40 years counts as if it were at the bound. All that is released about
# the machines is a noisy histogram of times and events and a few noisy sums.
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(1 / 12, 40))
model.fit(X, y)
print(model.summary())
print("true slopes:", dict(zip(names, coef.tolist(), strict=True)))

# %%
# A time ratio below 1 shortens life: it is the factor by which one unit more of the feature multiplies every
# quantile of the lifetime. The share of the noise says what a larger epsilon could improve; the rest is that
# few machines have failed.
#
# B lives, and the bound to print on a warranty
# ---------------------------------------------
# The times by which a share of such machines fails, for a machine at the middle of all features and for one
# under full load. ``lower`` and ``upper`` are the ends of a two-sided 90 % interval; ``bound`` is a one-sided
# one: with 90 % confidence the true B life is above it.
machines = pd.DataFrame([[0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]], columns=names)
print(model.b_lives(machines).round(2).to_string(index=False))

# %%
# A warranty wants more confidence. Were the fleet drawn anew and released anew with fresh noise, 95 of 100
# bounds would be below the true B10 life: with 95 % confidence, at most a tenth of such machines fails before
# it. That is also the lower end of the two-sided 90 % interval. It counts on the Weibull law, and on the
# bounds that were declared. And it takes intervals that hold for such a table: the page on life data lists
# designs for which they do not.
b10 = model.predict_quantile(machines, 0.1)
bound = model.predict_quantile_bound(machines, 0.1, confidence=0.95)
truth = np.exp(intercept + machines.to_numpy() @ coef) * (-np.log(0.9)) ** scale
for name, estimate, promised, true in zip(["middle", "full load"], b10, bound, truth, strict=True):
    print(f"{name:<10} B10 {estimate:.2f} years, 95 % lower bound {promised:.2f}, truth {true:.2f}")

# %%
# B10 life against load
# ---------------------
# All other features stay at the centre of their bounds. The band is the two-sided 90 % interval. No machine
# was watched to its median life, so the upper quantiles rest on the Weibull law.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
loads = np.linspace(-1, 1, 41)
truth = np.exp(intercept + coef[0] * loads)[:, None] * (-np.log1p(-np.array([0.1, 0.5, 0.9]))) ** scale
for axis, levels in ((left, [0.1]), (right, [0.1, 0.5, 0.9])):
    for q in levels:
        QuantileDependenceDisplay.from_estimator(model, "load", q=q, ax=axis)
    axis.plot(loads, truth[:, : len(levels)], color="black", linestyle="--", linewidth=1)
left.set(ylabel="years", ylim=(0, None), title="B10 life (dashed: truth)")
right.set(ylabel="years", yscale="log", title="10, 50 and 90 % quantiles")
plt.show()


# %%
# Survival curve of the whole fleet
# ---------------------------------
# The histogram of the fit is also a Kaplan-Meier curve, at no further cost: that of all machines, among those
# of two of them. Beside it the exact curve, which is not private: every one of its steps is a machine.
def kaplan_meier(time, event):
    order = np.argsort(time, kind="stable")
    time, event = time[order], event[order]
    survival = np.cumprod(1 - event / np.arange(len(time), 0, -1))
    return time[event], survival[event]


figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
SurvivalCurveDisplay.from_estimator(
    model, machines, times=np.linspace(0, y["time"].max(), 60), names=["middle", "full load"], ax=axis
)
axis.step(*kaplan_meier(y["time"], y["event"]), where="post", color="gray", label="all rows, not private")
axis.set(xlabel="years", ylabel="share still running", ylim=(0.8, 1.005))
axis.legend(fontsize=8)
plt.show()

# %%
# What the fit claims
# -------------------
print(model.privacy_spent_)
