# SPDX-License-Identifier: BSD-3-Clause
"""
B10 life of a fleet that is still running
=========================================

A manufacturer of pumps wants to know when a tenth of them will have failed (the B10 life), and how this
depends on the load. It also needs a lower bound that it may promise. Its data are a table of its customers'
one million machines, 5 % of which have failed so far. The machines are SIMULATED, so that their B10 life is
known.
"""

# %%
# The fleet
# ---------
# Lifetimes in years have a Weibull distribution with shape 2. The data sheet gives five features between -1
# and 1. Machines went into service at a constant rate, so most are young. 95 % still run, and only their age
# is known.
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
# The bounds of the features come from the data sheet, those of the times from experience. A time below one
# month or above 40 years is set to the bound. The release consists of a noisy histogram of times and events
# and a few noisy sums.
model = DPLogLocationScaleRegressor(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(1 / 12, 40))
model.fit(X, y)
print(model.summary())
print("true slopes:", dict(zip(names, coef.tolist(), strict=True)))

# %%
# The time ratio is the factor by which one more unit of the feature multiplies every quantile of the
# lifetime. A ratio below 1 shortens life. The share of the noise shows how much a larger epsilon could
# improve. The rest of the uncertainty comes from the small number of failures.
#
# B lives, and a bound for a warranty
# -----------------------------------
# A B life is the time by which a share of such machines fails. The table shows a machine with average
# features and one under full load. ``lower`` and ``upper`` are the ends of a two-sided 90 % interval.
# ``bound`` is one-sided: the true B life is above it with 90 % confidence.
machines = pd.DataFrame([[0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]], columns=names)
print(model.b_lives(machines).round(2).to_string(index=False))

# %%
# A warranty needs more confidence. With 95 % confidence, at most a tenth of such machines fails before the
# bound below. For 95 of 100 new fleets with new noise, the bound would be below the true B10 life. It is also
# the lower end of the two-sided 90 % interval. It relies on the Weibull distribution and on the declared
# bounds. It also requires intervals that hold for such a table; :doc:`/life_data` lists designs for which
# they do not.
b10 = model.predict_quantile(machines, 0.1)
bound = model.predict_quantile_bound(machines, 0.1, confidence=0.95)
truth = np.exp(intercept + machines.to_numpy() @ coef) * (-np.log(0.9)) ** scale
for name, estimate, promised, true in zip(["middle", "full load"], b10, bound, truth, strict=True):
    print(f"{name:<10} B10 {estimate:.2f} years, 95 % lower bound {promised:.2f}, truth {true:.2f}")

# %%
# B10 life against load
# ---------------------
# All other features stay at the centre of their bounds. The band is the two-sided 90 % interval.
loads = np.linspace(-1, 1, 41)
truth = np.exp(intercept + coef[0] * loads)[:, None] * (-np.log1p(-np.array([0.1, 0.5, 0.9]))) ** scale
figure, axis = plt.subplots(layout="constrained")
QuantileDependenceDisplay.from_estimator(model, "load", q=0.1, ax=axis)
axis.plot(loads, truth[:, 0], color="black", linestyle="--", label="truth")
axis.set(ylabel="years", ylim=(0, None), title="B10 life at epsilon 1")
axis.legend()
plt.show()

# %%
# The 10, 50 and 90 % quantiles (dashed: truth). No machine was observed until its median life, so the upper
# quantiles rest on the Weibull distribution.
figure, axis = plt.subplots(layout="constrained")
for q in (0.1, 0.5, 0.9):
    QuantileDependenceDisplay.from_estimator(model, "load", q=q, ax=axis)
axis.plot(loads, truth, color="black", linestyle="--", linewidth=1)
axis.set(ylabel="years", yscale="log")
axis.set_yticks([5, 10, 20, 50], ["5", "10", "20", "50"])
axis.minorticks_off()
plt.show()


# %%
# Survival curve of the whole fleet
# ---------------------------------
# The histogram of the fit also gives a Kaplan-Meier curve of all machines, without further budget. The plot
# shows it with the curves of two machines. The exact curve beside it is not private, because each of its
# steps is a machine.
def kaplan_meier(time, event):
    order = np.argsort(time, kind="stable")
    time, event = time[order], event[order]
    survival = np.cumprod(1 - event / np.arange(len(time), 0, -1))
    return time[event], survival[event]


figure, axis = plt.subplots(layout="constrained")
SurvivalCurveDisplay.from_estimator(
    model, machines, times=np.linspace(0, y["time"].max(), 60), names=["middle", "full load"], ax=axis
)
axis.step(*kaplan_meier(y["time"], y["event"]), where="post", color="gray", label="all rows, not private")
axis.set(xlabel="years", ylabel="share still running", ylim=(0.8, 1.005))
axis.legend()
plt.show()

# %%
# What the fit claims
# -------------------
print(model.privacy_spent_)
