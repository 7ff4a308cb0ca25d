# SPDX-License-Identifier: BSD-3-Clause
"""
A vaccination game, and who listens
===================================

Twelve people decide how likely they take a vaccine. Each knows what the vaccine and the disease would cost
it, and nobody wants to tell. They find the Nash equilibrium by talking: in every round each broadcasts its
estimate of the coverage, with Laplace noise. What can a listener learn of their costs?

The short answer: with large noise very little, and never more than the guarantee allows. The guarantee is far
below that of differential privacy when players are independent, and above it when they follow one another.
"""

# %%
# The game
# --------
# A player who takes the vaccine with probability x pays ``A x + (1 - coverage) B (1 - x)``: its risk falls as
# the coverage rises. B is public and A is private, within public bounds. The game has one equilibrium.
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
# "wang_nedic" projects on [0, 1] and listens less and less, so that the noise averages out: with noise the
# strategies wander at first, and settle near the same equilibrium. Who is nearly indifferent settles last. A
# run without noise warns: it is not private.
options = {"max_iter": 3000, "step_size": (1, 1, 0.05), "consensus_step": (1, 2, 0.2), "random_state": 0}
runs = {}
# Strict mode would refuse the run without noise, which is here to compare with.
skprivate.set_config(strict=False)
for name, scale in {"no noise": 0.0, "noise of scale 0.2": 0.2, "noise of scale 1": 1.0}.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        runs[name] = PrivateNashSolver(noise_scale=scale, store="all", **options).fit(game)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
colours = plt.get_cmap("viridis")(np.linspace(0, 0.95, N_PLAYERS))
for axis, (name, solver) in zip(axes, runs.items(), strict=True):
    for path, target, colour in zip(
        solver.history_["strategies"][:, :, 0].T, equilibrium, colours, strict=True
    ):
        axis.plot(np.arange(1, len(path) + 1), path, color=colour, linewidth=1)
        axis.plot(len(path) * 1.25, target, "_", color=colour, markersize=10)
    off = np.abs(solver.strategies_ - equilibrium).mean()
    axis.set(xscale="log", xlabel="round", title=f"{name}\nmean distance at the end {off:.3f}")
axes[0].set_ylabel("probability of vaccination")
figure.suptitle("Strategies of 12 players; dashes are the equilibrium, violet is a cheap vaccine")
plt.show()

# %%
# The adversary's gain
# --------------------
# An adversary who hears the broadcasts simulates every player with dummy costs, and moves these so that they
# predict the next broadcast. Its gain is 1 plus the cosine of the angle between the true costs and its guess.
# Here both A and B are private, so that they can be learnt; the game has two vaccines. The printed sign of
# the paper's prediction learns the opposite. The dotted line is a blind guess that knows the prior and hears
# nothing: it scores 1.94 at once. A high gain alone is no leak; the gain over the blind one is.
#
# A little noise makes the adversary's guess better, not worse: it stirs the coverage, and players who answer
# to more values of it show more of B. Only noise larger than the answers hides.
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
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for name, scale in noises.items():
    axis.plot(gains(scale, "corrected"), label=name)
axis.plot(gains(0.0, "printed"), "--", color="grey", label="no noise, printed sign")
axis.axhline(blind.blind_gain, color="black", linestyle=":", label="blind guess")
axis.set(xlabel="predictions (20 passes through 40 rounds)", ylabel="gain", ylim=(0, 2.05))
axis.set_title("What gradient matching learns of A and B")
axis.legend(loc="lower left", ncols=2)
plt.show()

# %%
# All players together
# --------------------
# Costs of known form, ten independent players, each of one of three types. The exact bound (Theorem 1 of the
# paper), its simpler form (Corollary 1) and differential privacy of the whole group, against the growth
# of the noise; and what the best of all adversaries, who computes the posterior, learnt from real runs. Its
# honest figure is the log of its gain over the blind gain.
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

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
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
axis.set_ylim(None, 800)
axis.legend(fontsize="small", loc="upper right")
plt.show()

# %%
# One player among others who follow
# ----------------------------------
# Now player 1 is of the first type with probability 0.3, and with probability 0.6 all others are as it is.
# Every single player has a differential privacy of 0.2, however many there are. But all of them together tell
# of player 1: the exact leakage crosses that line at three players, and tends to log(1 / 0.3).
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
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(sizes, single, label="leakage of one player, exact")
axis.plot(sizes, posterior, "o--", label="posterior of player 1, largest of 20 runs")
axis.axhline(0.2, color="tab:green", label="differential privacy of one player")
axis.axhline(math.log(1 / 0.3), color="black", linestyle=":", label="log(1 / 0.3): all there is to learn")
axis.set(xscale="log", xlabel="players", ylabel="nats", title="One player among followers", xticks=sizes)
axis.minorticks_off()
axis.set_xticklabels(map(str, sizes))
axis.set_ylim(0, 1.75)
axis.legend(fontsize="small", loc="upper left")
plt.show()

# %%
# What is not protected
# ---------------------
# - The strategies themselves. ``strategies_`` are what players do; who sees them, or reads
#   ``strategies_``, ``aggregate_`` or ``history_``, sees an exact function of private costs. The guarantee is
#   about the broadcasts, ``observations_``.
# - A private B without limits. The step then depends on B times the coverage heard, which noise makes as
#   large as it likes. Without projection no finite epsilon holds, and the solver says so; clip the
#   pseudo-gradient (``clip_norm``), or keep strategies in a bounded set with "wang_nedic".
# - Who differs from the prior. Leakage is about an adversary whose prior is the stated one; where players
#   follow each other, say so in the prior, or the figure is too low.
private_B = VaccinationGame(A, np.ones(N_PLAYERS), bounds=None)
for clip_norm in (None, 1.0):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver = PrivateNashSolver(max_iter=50, noise_scale=50.0, clip_norm=clip_norm).fit(private_B)
    epsilon = float(solver.privacy_spent_.epsilon)
    print(f"clip_norm={clip_norm}: epsilon of one player {epsilon:.3g}, warnings: {len(caught)}")
