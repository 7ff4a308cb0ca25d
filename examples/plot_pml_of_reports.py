# SPDX-License-Identifier: BSD-3-Clause
"""
What one report reveals, and to whom
====================================

Epsilon bounds how well a report distinguishes any two values, for every prior. A person who sends a report
asks another question: how much easier is it to guess my value? The answer depends on what is known
beforehand. Pointwise maximal leakage (PML) gives it for an adversary with a given prior. The people of this
example are SIMULATED.
"""

# %%
# The same epsilon, different priors
# ----------------------------------
# Let p be the prior probability of the rarest value. A report with a local epsilon leaks at most c(epsilon,
# p), and never more than log 1/p, the leakage of the value itself. A large epsilon reveals nearly everything.
# How much that is depends on the prior: a rare value can become far more likely. Dotted lines mark the
# largest possible leakage.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from skprivate import PrivacySpent
from skprivate.accounting import joint_channel, max_information, pml_from_ldp, pml_guarantee
from skprivate.exceptions import PrivacyLeakWarning
from skprivate.randomizers import KRRRandomizer, make_randomizer

epsilons = np.linspace(0.1, 8, 80)
priors = {
    "uniform, 2 values": [0.5, 0.5],
    "70/30": [0.7, 0.3],
    "uniform, 10 values": [0.1] * 10,
    "99/1": [0.99, 0.01],
}
figure, axis = plt.subplots(layout="constrained")
for name, prior in priors.items():
    (line,) = axis.plot(epsilons, [pml_from_ldp(epsilon, min(prior)) for epsilon in epsilons], label=name)
    axis.axhline(max_information(prior), color=line.get_color(), linestyle=":")
axis.plot(epsilons[:48], epsilons[:48], color="grey", linestyle="--", label="epsilon")
axis.set(xlabel="epsilon of one report", ylabel="leakage, nats")
figure.legend(loc="outside lower center", ncols=2)
plt.show()

# %%
# The same epsilon, different mechanisms
# --------------------------------------
# A clinic asks people in which of four districts they live and whether they are ill. The adversary knows the
# frequencies of the eight values. The method `leakage` is exact for each randomizer. At a small epsilon,
# subset selection and Hadamard reports hide a value among several. They leak less than the bound, and their
# estimates are better. "laplace", a baseline of the literature, leaks least at a large epsilon and has the
# worst estimates. Like epsilon, a leakage must be read together with the variance.
districts, ill = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.7, 0.3])
prior = np.outer(districts, ill)
names = ("krr", "subset", "unary", "hadamard", "signed-laplace", "laplace")
budgets = (0.5, 1, 2, 4)
print(
    f"{'epsilon':>16}"
    + "".join(f"{epsilon:>8g}" for epsilon in budgets)
    + "   s.d. of counts at 1, n = 10,000"
)
for name in names:
    randomizers = [make_randomizer(name, epsilon, n_cells=4) for epsilon in budgets]
    leaks = [randomizer.leakage(prior).epsilon for randomizer in randomizers]
    deviation = np.sqrt(randomizers[1].variance(10_000).mean())
    print(f"{name:>16}" + "".join(f"{leak:8.3f}" for leak in leaks) + f"{deviation:10.0f}")
print(f"{'bound':>16}" + "".join(f"{pml_from_ldp(epsilon, prior.min()):8.3f}" for epsilon in budgets))

# %%
# The statement for the person who reports
# ----------------------------------------
report = KRRRandomizer(1.0, n_cells=4)
print(report.leakage(prior).statement())

# %%
# The `PrivacySpent` of a run shows a leakage, too: the bound for every mechanism with its epsilon.
spent = PrivacySpent(
    mechanism="8-ary randomised response",
    epsilon=1,
    relation="local",
    noise_scale=None,
    noise_source="os-entropy",
    deployment="collected",
    claim="dp",
)
print(spent.given_prior(prior.ravel()))

# %%
# A check by simulation
# ---------------------
# The adversary may guess anything: the district, the illness, or whether a person is one of the few ill
# people of the smallest district. For the last guess, we draw two million people and their reports. We count
# how much more often "yes" is right among those whose report names this value. The result equals the bound,
# because k-ary randomised response attains it at the rarest value.
rng = np.random.default_rng(0)
values = rng.choice(prior.size, size=2_000_000, p=prior.ravel())
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PrivacyLeakWarning)  # a seed: this is a study, not a release
    reports = report.randomize(values, random_state=0)
rarest = prior.argmin()
before, after = np.mean(values == rarest), np.mean(values[reports == rarest] == rarest)
print(f"right without the report {before:.5f}, with it {after:.5f}: {after / before:.2f} times as often")
print(f"bound: {np.exp(report.leakage(prior).epsilon):.2f} times")

# %%
# Two reports of one value
# ------------------------
# Epsilons add up; leakages do not. Below, the first report never (or, with some noise, rarely) shows 0 for
# the first value, and the second report never for the second value. Two zeros therefore reveal the third,
# rare value, which neither report reveals alone. Both reports leak more than the sum of their leakages. Such
# a sum guarantees nothing, and guarantees for one secret refuse to be added.
weights = [0.44, 0.44, 0.12]
noises = np.linspace(0, 0.5, 51)


def two_reports(noise):
    first = [[noise, 1 - noise], [0.5, 0.5], [0.5, 0.5]]
    second = [[0.5, 0.5], [noise, 1 - noise], [0.5, 0.5]]
    alone = pml_guarantee(first, weights) + pml_guarantee(second, weights)
    return alone, pml_guarantee(joint_channel(first, second), weights)


print("sum {:.3f}, truth {:.3f}".format(*two_reports(0)))
summed, together = np.transpose([two_reports(noise) for noise in noises])

# %%
# Use the joint channel, or the bound by the sum of the epsilons, which holds for all mechanisms. For a new
# randomised response of the same bit every day, both are equal. After a week, nearly everything about the bit
# is revealed.
days = np.arange(1, 9)
coin = np.array([[0.75, 0.25], [0.25, 0.75]])
daily = [coin]
for _ in days[1:]:
    daily.append(joint_channel(daily[-1], coin))
truth = [pml_guarantee(channel, [0.7, 0.3]) for channel in daily]
bound = [pml_from_ldp(day * np.log(3), 0.3) for day in days]

figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
axes[0].plot(noises, together, label="two reports, exact")
axes[0].plot(noises, summed, "--", label="sum of both: no bound")
axes[0].set(xlabel="probability of the rare 0", ylabel="leakage, nats")
axes[1].plot(days, truth, "o-", label="all days, exact")
axes[1].plot(days, bound, "--", label="bound by the sum of epsilons")
axes[1].axhline(max_information([0.7, 0.3]), color="grey", linestyle=":", label="all there is")
axes[1].set(xlabel="days", ylabel="leakage, nats")
for axis in axes:
    axis.legend()
plt.show()
