# SPDX-License-Identifier: BSD-3-Clause
"""
Accelerated life test: from the oven to the customer
====================================================

A manufacturer tests capacitors in hot ovens under high voltage, where they fail within months. How long will
they last at the customer's 55 degrees and 5 volts? Three plants share their test benches and keep single
results secret, so the fit is private. The units are SIMULATED, so that the truth is known.
"""

# %%
# The test
# --------
# The test has 60,000 units, 3 temperatures, 2 voltages and 4,000 hours. Lifetimes have a Weibull
# distribution. By Arrhenius' model their logarithm is linear in the reciprocal of the absolute temperature. By
# the inverse power model it is linear in the logarithm of the voltage. Units that still work at the end are
# censored.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import skprivate
from skprivate import DPLogLocationScaleRegressor, TableDomain, plan_life_study
from skprivate.domain import StressColumn
from skprivate.evaluation import StatedLifetimes

skprivate.set_config(strict=True)
domain = TableDomain(
    {"celsius": StressColumn(85, 125, "arrhenius"), "volt": StressColumn(10, 20, "inverse-power")}
)
energy, power, intercept, scale, hours = 0.7, -2.5, -6.0, 0.5, 4000.0
test = pd.DataFrame(
    [(celsius, volt) for celsius in (85, 105, 125) for volt in (10, 20)], columns=domain.names
)
use = pd.DataFrame({"celsius": [55.0], "volt": [5.0]})

rng = np.random.default_rng(1)
X = test.iloc[rng.integers(len(test), size=60_000)]
life = np.exp(intercept + domain.encode(X) @ [energy, power]) * rng.exponential(size=len(X)) ** scale
y = np.empty(len(X), dtype=[("event", bool), ("time", float)])
y["event"], y["time"] = life <= hours, np.minimum(life, hours)
print(f"{y['event'].mean():.0%} of {len(X):,} units failed within {hours:,.0f} hours")

# %%
# Before anything is spent
# ------------------------
# Handbooks give an activation energy of 0.6 to 0.8 eV and an exponent of 2 to 3. Take a model in the middle
# of these ranges. How wide will the 90 % interval of the B10 life at use be? How many units are needed to
# know this life within a fifth?
model = DPLogLocationScaleRegressor(domain=domain, bounds_y=(1, 100_000), delta=1e-6)
handbook = StatedLifetimes(coef=[0.7, -2.5], intercept=-6.0, scale=0.6, X=test, censoring=0.6)
plan = plan_life_study(
    model, len(X), [1, 2], X_at=use, stated=handbook, half_width=0.2, n_repeats=8, random_state=0
)
print(plan)

# %%
# One private fit
# ---------------
# Pass the table as it is, in degrees and volts. The slopes are the activation energy and the exponent.
model.set_params(epsilon=2).fit(X, y)
for name, slope, (low, high), truth in zip(
    ("activation energy, eV", "exponent"), model.coef_, model.coef_interval_, (energy, power), strict=True
):
    print(f"{name:<22} {slope:>6.3f}   90 % interval {low:.3f} to {high:.3f}   truth {truth}")

# %%
# At the customer's
# -----------------
# The conditions of use are outside the tested range, so predictions there extrapolate the two models. The
# interval includes the noise and the sampling error of the slopes. It does not include errors of the models
# themselves.
b10, interval = model.predict_quantile(use, 0.1, return_interval=True)
factor, factors = model.acceleration_factor(use, test[-1:], return_interval=True)
true_b10 = np.exp(intercept + domain.encode(use) @ [energy, power]) * (-np.log(0.9)) ** scale
shift = (domain.encode(use) - domain.encode(test[-1:])) @ [energy, power]
print(
    f"B10 life at use: {b10[0]:,.0f} hours, 90 % interval {interval[0, 0]:,.0f} to {interval[0, 1]:,.0f}, "
    f"truth {true_b10[0]:,.0f}"
)
print(
    f"Units last {factor[0]:,.0f} times as long as in the hottest oven, 90 % interval {factors[0, 0]:,.0f} "
    f"to {factors[0, 1]:,.0f}, truth {np.exp(shift)[0]:,.0f}"
)

# %%
# In an Arrhenius plot, the logarithm of life against the reciprocal of the absolute temperature is a straight
# line. Dashed lines are the truth, and the shaded range was tested.
celsius = np.linspace(45, 130, 60)
figure, axis = plt.subplots(layout="constrained")
for volt, color in ((20.0, "C3"), (10.0, "C1"), (5.0, "C0")):
    rows = pd.DataFrame({"celsius": celsius, "volt": volt})
    found, band = model.predict_quantile(rows, 0.1, return_interval=True)
    places = domain.encode(rows)[:, 0]
    axis.fill_between(places, *band.T, color=color, alpha=0.25)
    axis.plot(places, found, color=color, label=f"{volt:g} V")
    truth = np.exp(intercept + domain.encode(rows) @ [energy, power]) * (-np.log(0.9)) ** scale
    axis.plot(places, truth, color="black", linestyle="--", linewidth=0.8)
shown = [50, 70, 85, 105, 125]
axis.set_xticks(domain.encode(pd.DataFrame({"celsius": shown, "volt": 10.0}))[:, 0], shown)
axis.axvspan(*domain.encode(pd.DataFrame({"celsius": [85.0, 125.0], "volt": 10.0}))[:, 0], alpha=0.1)
axis.set(xlabel="degrees Celsius (Arrhenius scale)", ylabel="hours", yscale="log")
axis.set_title("B10 life, 90 % bands, epsilon 2")
axis.legend(loc="upper left")
plt.show()

# %%
# What the fit claims
# -------------------
print(model.privacy_spent_)
