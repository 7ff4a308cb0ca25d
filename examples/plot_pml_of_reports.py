# SPDX-License-Identifier: BSD-3-Clause
"""
What one report tells, to whom
==============================

Epsilon compares what a report says of any two values, whatever anybody knows. Whoever holds the value asks
something else: how much easier does it become to guess it? That depends on what is known beforehand, and
pointwise maximal leakage (PML) is the answer for an adversary with a given prior. The people of this
example are simulated.
"""

# %%
# The same epsilon, different priors
# ----------------------------------
# A report with a local epsilon leaks at most c(epsilon, p) under a prior whose rarest value has the
# probability p, and never more than log 1/p, where the value itself is told. A large epsilon tells nearly all
# there is to tell; how much that is depends on the prior. A value that was rare can become far likelier.
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
axis.plot(epsilons[:48], epsilons[:48], color="grey", linestyle="--", label="epsilon itself")
axis.set(xlabel="epsilon of one report", ylabel="leakage, nats (dotted: all there is)")
axis.legend()
plt.show()

# %%
# The same epsilon, different mechanisms
# --------------------------------------
# A clinic asks in which of four districts somebody lives and whether they are ill: eight values, of which
# the adversary knows the frequencies. `leakage` is exact for the randomizer at hand. At a small epsilon
# subset selection and Hadamard reports hide a value among several: they tell less than the bound, and
# estimate better. "laplace", a baseline of the literature, leaks least at a large one and estimates worst: a
# leakage, like epsilon, is to be read beside the variance.
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
# The sentence for whoever holds the value
# ----------------------------------------
report = KRRRandomizer(1.0, n_cells=4)
print(report.leakage(prior).statement())

# %%
# A run's `PrivacySpent` shows it too, by the bound for every mechanism of its epsilon.
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
# Trying it
# ---------
# The adversary of the sentence may want to guess anything: the district, the illness, or whether somebody
# is one of the few ill people of the smallest district. For the last, we draw two million people and their
# reports, and count how much more often "yes" is right among those whose report names this value. The bound
# is met: k-ary randomised response attains it at the rarest value.
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
# the first value, the second never for the second value. Whoever sees two zeros knows that it is the third,
# rare one, which neither report tells alone. What both leak exceeds the sum of what each does: such a sum
# guarantees nothing, and guarantees refuse to be added.
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
# What can be done: take the joint channel, or the bound by the sum of the epsilons, which holds for all
# mechanisms. With a new randomised response of the same bit every day both are the same, and after a week
# hardly anything is left to tell.
days = np.arange(1, 9)
coin = np.array([[0.75, 0.25], [0.25, 0.75]])
daily = [coin]
for _ in days[1:]:
    daily.append(joint_channel(daily[-1], coin))
truth = [pml_guarantee(channel, [0.7, 0.3]) for channel in daily]
bound = [pml_from_ldp(day * np.log(3), 0.3) for day in days]

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
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
