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

import skprivate
from skprivate import DPLogLocationScaleRegressor
from skprivate.datasets import make_location_scale

skprivate.set_config(strict=True)
names = ["load", "temperature", "starts", "altitude", "salinity"]
coef, intercept, scale = np.array([-0.6, -0.3, -0.2, 0.0, 0.1]), np.log(20.0), 0.5
X, y = make_location_scale(
    1_000_000, 5, coef=coef, intercept=intercept, scale=scale, censoring=0.95, random_state=0
)
print(f"{1 - y['event'].mean():.1%} of the machines still run; the oldest is {y['time'].max():.1f} years old")

# %%
# One private fit
# ---------------
# Bounds of the features are those of the data sheet, those of the times a maker's knowledge: what fails in
# less than a month and what lasts for 40 years counts as if it were at the bound. All that is released about
# the machines is a noisy histogram of times and events and a few noisy sums.
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(1 / 12, 40))
model.fit(X, y)
print("feature       slope   90 % interval    truth")
for name, slope, (low, high), truth in zip(names, model.coef_, model.coef_interval_, coef, strict=True):
    print(f"{name:<12}{slope:>7.2f}   {low:>5.2f} to {high:>5.2f}  {truth:>6.2f}")

# %%
# B10 life against load
# ---------------------
# The time by which 10 % of such machines fail, all other features being 0. The band is the 90 % interval of
# the private estimate, made from the release alone: its lower end is the bound to print on the warranty. No
# machine was watched to its median life, so the upper quantiles rest on the Weibull law.
loads = np.zeros((41, 5))
loads[:, 0] = np.linspace(-1, 1, 41)
quantiles, interval = model.predict_quantile(loads, [0.1, 0.5, 0.9], return_interval=True)
truth = np.exp(intercept + loads @ coef)[:, None] * (-np.log1p(-np.array([0.1, 0.5, 0.9]))) ** scale
middle = len(loads) // 2
print(
    f"B10 at a middle load: {quantiles[middle, 0]:.2f} years, 90 % interval {interval[middle, 0].round(2)}, "
    f"truth {truth[middle, 0]:.2f}"
)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.fill_between(loads[:, 0], *interval[:, 0].T, alpha=0.3, label="90 % interval")
left.plot(loads[:, 0], quantiles[:, 0], label="private")
left.plot(loads[:, 0], truth[:, 0], color="black", linestyle="--", label="truth")
left.set(xlabel="load", ylabel="years", ylim=(0, None), title="B10 life")
left.legend(fontsize=8)
for k, (label, color) in enumerate({"10 %": "C0", "50 %": "C1", "90 %": "C2"}.items()):
    right.fill_between(loads[:, 0], *interval[:, k].T, color=color, alpha=0.2)
    right.plot(loads[:, 0], quantiles[:, k], color=color, label=f"{label} have failed")
    right.plot(loads[:, 0], truth[:, k], color=color, linestyle="--", linewidth=1)
right.set(xlabel="load", ylabel="years", yscale="log", title="Quantiles of the lifetime (dashed: truth)")
right.legend(fontsize=8)
plt.show()


# %%
# Survival curve of the whole fleet
# ---------------------------------
# The histogram of the fit is also a Kaplan-Meier curve, at no further cost. Beside it the exact curve, which
# is not private: every one of its steps is a machine.
def kaplan_meier(time, event):
    order = np.argsort(time, kind="stable")
    time, event = time[order], event[order]
    survival = np.cumprod(1 - event / np.arange(len(time), 0, -1))
    return time[event], survival[event]


times, survival = model.survival_curve_
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.step(*kaplan_meier(y["time"], y["event"]), where="post", color="black", label="exact, not private")
axis.step(times, survival, where="post", label="private, epsilon 1")
axis.set(xlabel="years", ylabel="share still running", xlim=(0, y["time"].max()), ylim=(0.8, 1.005))
axis.legend(fontsize=8)
plt.show()

# %%
# What the fit claims
# -------------------
print(model.privacy_spent_)
