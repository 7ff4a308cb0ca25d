# SPDX-License-Identifier: BSD-3-Clause
"""
A vaccination game, and what an adversary learns from it
========================================================

Twelve people choose their probability of taking a vaccine. Each knows its own costs of the vaccine and of the
disease, and keeps them private. They find the Nash equilibrium by broadcasts. In each round, each player
sends its estimate of the coverage with Laplace noise. What can an adversary who hears everything learn about
their costs?

In short, very little if the noise is large, and never more than the guarantee allows. The guarantee is far
below the epsilon of differential privacy if players are independent, and above it if they follow one another.
"""

# %%
# The game
# --------
# A player who takes the vaccine with probability x has the cost ``A x + (1 - coverage) B (1 - x)``. Its risk
# falls as the coverage rises. B is public, and A is private within public bounds. The game has one
# equilibrium.
import math
import warnings

import matplotlib.pyplot as plt
import numpy as np

import skprivate
from skprivate import PrivateNashSolver, QuadraticAggregativeGame
from skprivate.audit import BayesAdversary, GradientMatchingAdversary
from skprivate.exceptions import PrivacyLeakWarning
from skprivate.games import TwoTypePrior, TypePrior, VaccinationGame

N_PLAYERS = 12
A = np.linspace(0.15, 0.75, N_PLAYERS)
game = VaccinationGame(A, np.ones(N_PLAYERS), private="A", A_bounds=(0, 1))
equilibrium = game.solve()
print(f"coverage {equilibrium.mean():.3f}, regret {game.regret(equilibrium):.1e}")

# %%
# Paths to the equilibrium
# ------------------------
# The method "wang_nedic" projects on [0, 1] and gives later broadcasts less and less weight, so that the
# noise averages out. With noise, the strategies move around at first and then approach the same equilibrium.
# Players who are nearly indifferent converge last. A run without noise warns that it is not private.
options = {"max_iter": 3000, "step_size": (1, 1, 0.05), "consensus_step": (1, 2, 0.2), "random_state": 0}
runs = {}
# Strict mode would refuse the run without noise, which is here for comparison.
skprivate.set_config(strict=False)
for name, scale in {"no noise": 0.0, "noise of scale 0.2": 0.2, "noise of scale 1": 1.0}.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        runs[name] = PrivateNashSolver(noise_scale=scale, store="all", **options).fit(game)

figure, axes = plt.subplots(1, 3, figsize=(13, 5), layout="constrained", sharey=True)
colours = plt.get_cmap("viridis")(np.linspace(0, 0.95, N_PLAYERS))
for axis, (name, solver) in zip(axes, runs.items(), strict=True):
    for path, target, colour in zip(
        solver.history_["strategies"][:, :, 0].T, equilibrium, colours, strict=True
    ):
        axis.plot(np.arange(1, len(path) + 1), path, color=colour, linewidth=1)
        axis.plot(len(path) * 1.25, target, "_", color=colour, markersize=10)
    off = np.abs(solver.strategies_ - equilibrium).mean()
    axis.set(xscale="log", xlabel="round", title=f"{name}\nfinal distance {off:.3f}")
axes[0].set_ylabel("probability of vaccination")
plt.show()

# %%
# Each line is a player, and dashes mark the equilibrium. Violet lines are players with a cheap vaccine. The
# titles show the mean distance from the equilibrium at the end.
#
# The adversary's gain
# --------------------
# An adversary who hears the broadcasts simulates every player with dummy costs. It changes these costs so
# that they predict the next broadcast. Its gain is 1 plus the cosine of the angle between the true costs and
# its guess. Here both A and B are private, so that both can be learned, and the game has two vaccines. With
# the sign as printed in the paper, the adversary learns the opposite. The dotted line is a blind guess, which
# knows the prior and hears nothing. Its gain is 1.94 at once. A high gain alone is therefore no leak; a gain
# above the blind one is.
#
# A little noise makes the adversary's guess better, not worse. The coverage then takes more values, and the
# answers of the players reveal more about B. Only noise that is larger than the answers hides them.
noises = {"no noise": 0.0, "scale 0.1": 0.1, "scale 0.3": 0.3, "scale 1 + k": (1, 1, 1)}


def draw(seed):
    rng = np.random.default_rng(seed)
    B = 0.5 * rng.uniform(size=(10, 2, 2)) + 0.5 * np.eye(2)
    return VaccinationGame(rng.uniform(size=(10, 2)), B, bounds=None)


def gains(scale, sign):
    """Path of the mean gain over twelve games."""
    paths = []
    for seed in range(12):
        solver = PrivateNashSolver(
            "ye",
            max_iter=40,
            noise_scale=scale,
            step_size=(1, 1, 0.1),
            store="observations",
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # B is private and nothing is clipped: not private
            solver.fit(draw(seed))
        attack = GradientMatchingAdversary(0.2, sign=sign, n_passes=20, random_state=seed)
        paths.append(attack.run(draw(seed), solver, prior_games=map(draw, range(1))).gains)
    return np.mean(paths, axis=0)


blind = GradientMatchingAdversary(random_state=0).run(
    draw(0),
    PrivateNashSolver("ye", max_iter=2, noise_scale=1, clip_norm=1, store="observations", random_state=0).fit(
        draw(0)
    ),
    prior_games=map(draw, range(300)),
)
figure, axis = plt.subplots(layout="constrained")
for name, scale in noises.items():
    axis.plot(gains(scale, "corrected"), label=name)
axis.plot(gains(0.0, "printed"), "--", color="grey", label="no noise, printed sign")
axis.axhline(blind.blind_gain, color="black", linestyle=":", label="blind guess")
axis.set(xlabel="predictions (20 passes, 40 rounds)", ylabel="gain", ylim=(0, 2.05))
axis.set_title("Gain of gradient matching")
axis.legend(fontsize="small", ncols=2)
plt.show()

# %%
# All players together
# --------------------
# The costs have a known form, and each of ten independent players has one of three types. The plot shows
# bounds against the growth of the noise: the exact bound (Theorem 1 of the paper), its simpler form
# (Corollary 1), and differential privacy of the whole group. It also shows what the strongest adversary
# learned from real runs: it computes the posterior. Its honest figure is the logarithm of its gain over the
# blind gain.
types = TypePrior([-1.0, 0.0, 1.0], [1 / 3, 1 / 3, 1 / 3])
growths = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5])
rows = []
for growth in growths:
    leaks, ratios = [], []
    for seed in range(10):
        r = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], 10)
        played = QuadraticAggregativeGame(1.0, 0.5, r, r_bounds=(-1, 1))
        solver = PrivateNashSolver(
            max_iter=100,
            noise_scale=(5, 5 * growth, 1),
            step_size=(1, 1, 1),
            store="observations",
            random_state=seed,
        ).fit(played)
        result = BayesAdversary(types).run(played, solver)
        leaks.append(result.leakage)
        ratios.append(result.log_ratio)
    bounds = [solver.privacy_guarantee(types, criterion=c).epsilon for c in ("pml", "corollary1", "dp")]
    rows.append([*bounds, np.mean(leaks), np.mean(ratios)])
print(result)

figure, axis = plt.subplots(layout="constrained")
labels = (
    "Theorem 1, exact",
    "Corollary 1",
    "differential privacy, group",
    "posterior, mean",
    "honest gain, mean",
)
for values, label, style in zip(np.transpose(rows), labels, ("-", "-", "-", "o--", "o--"), strict=True):
    axis.plot(growths, values, style, label=label)
axis.set(xlabel="growth p of the scale 5 (1 + p k)", ylabel="nats", yscale="log", title="All ten players")
axis.set_ylim(None, 20_000)
axis.legend(fontsize="small", loc="upper right")
plt.show()

# %%
# One player among others who follow
# ----------------------------------
# Now player 1 is of the first type with probability 0.3. With probability 0.6, all others have the same type
# as player 1. Each single player has differential privacy with epsilon 0.2, for any number of players. But
# all players together reveal the type of player 1. The exact leakage crosses 0.2 at three players, and tends
# to log(1 / 0.3), which is all there is to learn.
sizes, single, posterior = (2, 3, 5, 10, 20, 50), [], []
prior = TwoTypePrior([-1.0, 1.0], alpha=0.3, beta=0.6)
short = {"max_iter": 30, "step_size": (1, 1, 1), "store": "observations"}
for n_players in sizes:
    played = QuadraticAggregativeGame(1.0, 0.5, np.ones(n_players), r_bounds=(-1, 1), own_effect=False)
    unit = PrivateNashSolver(noise_scale=1.0, random_state=0, **short).fit(played)
    # Epsilon is inverse to the scale.
    scale = unit.privacy_guarantee(view="individual", criterion="dp").epsilon / 0.2
    fitted = [PrivateNashSolver(noise_scale=scale, random_state=s, **short).fit(played) for s in range(20)]
    single.append(fitted[0].privacy_guarantee(prior, view="individual").epsilon)
    posterior.append(max(BayesAdversary(prior).run(played, solver).leakages[0] for solver in fitted))
# sphinx_gallery_thumbnail_number = 4
figure, axis = plt.subplots(layout="constrained")
axis.plot(sizes, single, label="exact leakage")
axis.plot(sizes, posterior, "o--", label="largest of 20 runs")
axis.axhline(0.2, color="tab:green", label="differential privacy")
axis.axhline(math.log(1 / 0.3), color="black", linestyle=":", label="log(1 / 0.3)")
axis.set(
    xscale="log", xlabel="players", ylabel="leakage, nats", title="One player among followers", xticks=sizes
)
axis.minorticks_off()
axis.set_xticklabels(map(str, sizes))
axis.set_ylim(0, None)
figure.legend(loc="outside lower center", ncols=2)
plt.show()

# %%
# What is not protected
# ---------------------
# - The strategies themselves. ``strategies_``, ``aggregate_`` and ``history_`` are exact functions of
#   private costs. The guarantee covers the broadcasts, ``observations_``.
# - A private B without limits. The step then depends on the product of B and the heard coverage, which
#   noise can make arbitrarily large. Without projection, no finite epsilon holds, and the solver reports
#   this. Clip the pseudo-gradient (``clip_norm``), or keep strategies in a bounded set with "wang_nedic".
# - An adversary with another prior. The leakage refers to the stated prior. If players follow each other,
#   declare it in the prior; otherwise the figure is too low.
private_B = VaccinationGame(A, np.ones(N_PLAYERS), bounds=None)
for clip_norm in (None, 1.0):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver = PrivateNashSolver(max_iter=50, noise_scale=50.0, clip_norm=clip_norm).fit(private_B)
    epsilon = float(solver.privacy_spent_.epsilon)
    print(f"clip_norm={clip_norm}: epsilon of one player {epsilon:.3g}, warnings: {len(caught)}")
