# SPDX-License-Identifier: BSD-3-Clause
"""
Electric vehicles on one feeder
===============================

Two hundred vehicles charge in the same street. Each decides how much power to draw in four slots of the
night; the price of a slot rises with the mean load of the feeder. When an owner needs the car tells when the
owner leaves the house, so nobody shall learn it: the vehicles find their equilibrium by noisy broadcasts. The
vehicles are simulated.
"""

# %%
# The game
# --------
# In slot t a vehicle with power x (in kW; below 0 the battery feeds back) pays ``x^2 / 2`` for the wear of
# its battery, ``0.5 delta x`` for the energy at the feeder's mean load delta, and ``r x`` for its owner's
# wish: the more negative r, the more the owner wants to charge in this slot. r is private. Public are the
# prices and that r lies between -4 and 0. There is no limit on the power, which keeps the dynamics linear
# and the guarantee exact.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import uniform

import skprivate
from skprivate.exceptions import PrivacyLeakWarning
from skprivate.games import PrivateNashSolver, QuadraticAggregativeGame

# The simulation is seeded, which strict mode refuses: whoever knows the seed can undo the noise.
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
# In every one of 50 rounds each vehicle broadcasts its estimate of the mean load with Laplace noise and
# moves a step. The guarantee needs one call. The prior says what a listener knows beforehand: here that
# every wish is uniform on its range, independently.
prior = uniform(-4, 4)
schedules = {"max_iter": 50, "step_size": (0.5, 1, 0.05), "consensus_step": (1, 1, 1)}
solver = PrivateNashSolver(noise_scale=20, **schedules).fit(game)
guarantee = solver.privacy_guarantee(prior, view="individual")
print(guarantee)
print(guarantee.statement())
print(solver.privacy_guarantee(prior))

# %%
# This holds for the broadcasts, for whoever hears all of them, and for adversaries with this prior.
# Differential privacy, which holds whatever they know, is the figure of ``criterion="dp"``. Neither covers
# ``strategies_``: what a vehicle draws in the end is its owner's own, an exact function of the private
# wish, and whoever reads the meter reads it.
print(solver.privacy_guarantee(criterion="dp", view="individual").statement())


# %%
# What noise costs
# ----------------
# Noise disturbs what each vehicle believes of the mean load, hence its own plan. It does not disturb the
# feeder: P and Q are the same for all and nothing is projected, and the noise that one vehicle's estimate
# gains the others lose, so that the mean plan follows the path without noise exactly. What the feeder sees
# is right with any noise; who carries the load is not.
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
# More rounds with the same noise: the load comes closer to the equilibrium, and every round tells more.
rounds = [5, 10, 20, 50, 100, 200]
by_rounds = np.array([play(20, max_iter) for max_iter in rounds])
show("rounds", rounds, by_rounds)

# %%
# The guarantee under a prior is below differential privacy everywhere, and far below where there is little
# noise: there the wish may change the broadcasts much, but under a prior that is spread out a guess was
# hard to begin with. For two hundred independent vehicles leakages add up, as the last columns say.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for axis, values, results, label in (
    (axes[0], scales, by_scale, "noise scale, kW"),
    (axes[1], rounds, by_rounds, "rounds"),
):
    axis.plot(values, results[:, 2], marker="o", label="PML, exact (uniform prior)")
    axis.plot(values, results[:, 3], marker="o", label="differential privacy")
    axis.set(xscale="log", yscale="log", xlabel=label, ylabel="epsilon of one vehicle, nats")
    axis.legend(fontsize=8)
axes[2].plot(by_scale[:, 2], by_scale[:, 0], marker="o", label="plans of the vehicles")
axes[2].plot(by_scale[:, 2], by_scale[:, 1], marker="o", label="mean load of the feeder")
axes[2].set(yscale="log", xlabel="PML of one vehicle, nats", ylabel="distance from the equilibrium, kW")
axes[2].legend(fontsize=8)
plt.show()

# %%
# What the run claims
# -------------------
print(solver.privacy_spent_)
