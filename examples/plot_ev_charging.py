# SPDX-License-Identifier: BSD-3-Clause
"""
Electric vehicles on one feeder
===============================

Two hundred vehicles charge in the same street. Each decides how much power to draw in four slots of the
night. The price of a slot rises with the mean load of the feeder. The wishes of an owner reveal when the
owner leaves home, so they are private. The vehicles find their equilibrium by noisy broadcasts. The vehicles
are SIMULATED.
"""

# %%
# The game
# --------
# In each slot, a vehicle has power x in kW; a negative x feeds energy back. Its cost has three terms:
#
# - ``x^2 / 2`` for the wear of its battery;
# - ``0.5 delta x`` for the energy, at the feeder's mean load delta;
# - ``r x`` for its owner's wish: the more negative r is, the more the owner wants to charge in this slot.
#
# The wish r is private. The prices are public, and so is the range of r, from -4 to 0. The power has no
# limit, which keeps the dynamics linear and the guarantee exact.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import uniform

import skprivate
from skprivate.exceptions import PrivacyLeakWarning
from skprivate.games import PrivateNashSolver, QuadraticAggregativeGame

# The simulation is seeded, which strict mode refuses: a person who knows the seed can remove the noise.
skprivate.set_config(strict=False)
rng = np.random.default_rng(0)
n_vehicles, n_slots = 200, 4
game = QuadraticAggregativeGame(
    P=1.0, Q=0.5, r=rng.uniform(-4, 0, size=(n_vehicles, n_slots)), r_bounds=(-4, 0)
)
equilibrium = game.solve()
print("mean load at the equilibrium, kW:", equilibrium.mean(axis=0).round(2))
print(f"what one vehicle gains by leaving the equilibrium: {game.regret(equilibrium):.1e}")

# %%
# One night
# ---------
# In each of 50 rounds, each vehicle broadcasts its estimate of the mean load with Laplace noise and takes a
# step. The guarantee needs one call. The prior states what a listener knows beforehand. Here each wish is
# uniform on its range and independent of the others.
prior = uniform(-4, 4)
schedules = {"max_iter": 50, "step_size": (0.5, 1, 0.05), "consensus_step": (1, 1, 1)}
solver = PrivateNashSolver(noise_scale=20, **schedules).fit(game)
guarantee = solver.privacy_guarantee(prior, view="individual")
print(guarantee)
print(guarantee.statement())
print(solver.privacy_guarantee(prior))

# %%
# The guarantee holds for an adversary who hears all broadcasts and has this prior. ``criterion="dp"`` gives
# the epsilon of differential privacy, which holds for every prior. Neither covers ``strategies_``. The final
# power of a vehicle is an exact function of the private wish, and a meter reveals it.
print(solver.privacy_guarantee(criterion="dp", view="individual").statement())


# %%
# What noise costs
# ----------------
# Noise changes each vehicle's estimate of the mean load, and so its own plan. It does not change the mean
# load. P and Q are equal for all vehicles, and no plan is projected. The errors of the estimates add up to
# zero, so the mean plan follows exactly the path without noise. The load of the feeder is right with any
# noise; its division among the vehicles is not.
def play(scale, max_iter=50):
    solver = PrivateNashSolver(noise_scale=scale, random_state=0, **{**schedules, "max_iter": max_iter})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # a seed: this is a study, not a release
        solver.fit(game)
    leaks = [
        solver.privacy_guarantee(None if criterion == "dp" else prior, view, criterion).epsilon
        for view in ("individual", "entire")
        for criterion in ("pml", "dp")
    ]
    plans = np.sqrt(((solver.strategies_ - equilibrium) ** 2).mean())
    load = np.abs(solver.aggregate_ - equilibrium.mean(axis=0)).max()
    return plans, load, *leaks


def show(first_column, values, results):
    print(f"{first_column:>12}{'plans, kW':>12}{'load, kW':>12}   PML, DP of one     PML, DP of all")
    for value, (plans, load, *leaks) in zip(values, results, strict=True):
        one, all_ = (f"{pml:8.4g} {dp:8.4g}" for pml, dp in (leaks[:2], leaks[2:]))
        print(f"{value:>12g}{plans:>12.3g}{load:>12.1e}{one}{all_:>20}")


scales = [0.3, 1, 3, 10, 30, 100]
by_scale = np.array([play(scale) for scale in scales])
show("noise scale", scales, by_scale)

# %%
# With more rounds and the same noise, the load gets closer to the equilibrium, and more is revealed.
rounds = [5, 10, 20, 50, 100, 200]
by_rounds = np.array([play(20, max_iter) for max_iter in rounds])
show("rounds", rounds, by_rounds)


# %%
# The leakage under the prior is below the epsilon of differential privacy at every noise scale. It is far
# below if the noise is small. A wish then changes the broadcasts a lot, but it was hard to guess beforehand.
# The leakages of two hundred independent vehicles add up; the last columns of the tables show the sums.
def draw(axis, values, results, label):
    axis.plot(values, results[:, 3], marker="o", label="differential privacy")
    axis.plot(values, results[:, 2], marker="o", label="leakage, uniform prior")
    axis.set(xscale="log", yscale="log", xlabel=label, ylabel="nats")
    axis.legend()


figure, axis = plt.subplots(layout="constrained")
draw(axis, scales, by_scale, "noise scale, kW")
axis.set_title("What broadcasts reveal about one vehicle")
plt.show()

# %%
# The same against the number of rounds, and the accuracy against the leakage (PML) of one vehicle:
figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
draw(axes[0], rounds, by_rounds, "rounds")
axes[1].plot(by_scale[:, 2], by_scale[:, 0], marker="o", label="plans of the vehicles")
axes[1].plot(by_scale[:, 2], by_scale[:, 1], marker="o", label="mean load of the feeder")
axes[1].set(yscale="log", xlabel="leakage of one vehicle, nats", ylabel="distance from equilibrium, kW")
axes[1].legend()
plt.show()

# %%
# What the run claims
# -------------------
print(solver.privacy_spent_)
