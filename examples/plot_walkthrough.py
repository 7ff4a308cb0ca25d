# SPDX-License-Identifier: BSD-3-Clause
"""
Walk-through: from a raw file to the signed page
================================================

A hospital, a bank or a statistical office has an exported CSV file, a question, and a committee that will
sign or refuse. This page shows every step for the file of UCI Adult: describe the table, plan the study, fit,
evaluate, and hand in the page to sign. Every step spends budget on what it reveals about private rows, or
reads none. (Run ``pip install '.[plot]'`` and install pandas first.)

The file is not part of the package. This page runs anywhere because it uses SIMULATED people in the same
format, with some of its columns. For the real file, use ``adult.data`` and the domain of
:doc:`plot_adult_boosting`.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

folder = Path(tempfile.mkdtemp())  # use a folder of your own
rng = np.random.default_rng(0)
n_people = 13_000
people = pd.DataFrame(
    {
        "age": rng.integers(17, 91, n_people),
        "work": rng.choice(["Private", "State-gov", "?"], n_people, p=[0.8, 0.15, 0.05]),
        "years": rng.integers(1, 17, n_people),
        "hours": rng.integers(1, 100, n_people),
    }
)
score = 0.5 * (people["years"] - 11) + 0.04 * (people["hours"] - 40) - 0.003 * (people["age"] - 50) ** 2
people["income"] = np.where(rng.random(n_people) < 1 / (1 + np.exp(-score)), ">50K", "<=50K")
people.to_csv(folder / "adult.csv", header=False, index=False)

# %%
# What is public
# --------------
# First write down what is known about the columns. The survey's documentation states where ages are cut off,
# which classes of workers exist, and that "?" marks a missing answer. None of this may come from the rows.
from skprivate import TableDomain

columns = {"age": (17, 90), "work": ["Private", "State-gov"], "years": (1, 16), "hours": (1, 99)}
labels = ["<=50K", ">50K"]
domain = TableDomain(columns, missing_values=["?"])
with_income = TableDomain({**columns, "income": labels}, missing_values=["?"])
table = pd.read_csv(
    folder / "adult.csv", names=["age", "work", "years", "hours", "income"], skipinitialspace=True
)

# %%
# A thousand people of an earlier wave are public: they agreed. Split the others once, at random, into rows to
# train on and rows to evaluate on. Each person is in one part only, so the costs of the two parts do not add
# up (:func:`~skprivate.compose`). The ledger's ceiling adds them up all the same. Here the ceiling has room
# for that.
public, private = table[:1000], table[1000:]
train, test = private[:9000], private[9000:]
features = list(columns)

# %%
# Open the ledger first. It holds a ceiling that no call can exceed, and records who does what, with whose
# approval.
from skprivate import PrivacyLedger

ledger = PrivacyLedger(folder / "study.ledger", epsilon=3, delta=1e-5)
who = {"person": "A. Statistician", "approver": "ethics board, 12/26", "expiry": "2027-12-31"}

# %%
# Describe the table
# ------------------
# Table One shows shares, means and quantiles, with intervals that include the noise. All come from one
# release of counts. ``to_html`` and ``to_frame`` give the same table for a paper or a program.
from skprivate import private_describe

with ledger.record(purpose="Table One", **who):
    told = private_describe(train, with_income, epsilon=0.5, ledger=ledger)
print(told)

# %%
# Plan the study
# --------------
# Before the fit, estimate the accuracy of a private model of so many rows. Is it better than what the public
# rows give without any budget? The plan uses public rows alone. It charges nothing, and lists what it cannot
# know.
from skprivate import DPBoostingClassifier, plan_study

model = DPBoostingClassifier(epsilon=1.0, delta=1e-6, domain=domain, classes=labels, ledger=ledger)
plan = plan_study(
    model,
    domain,
    n=9000,
    epsilons=[0.5, 1],
    public=(public[features], public["income"]),
    n_repeats=4,
    target=labels,
    random_state=0,
)
print(plan)

# %%
# If the decision is "no-go", stop: no budget was spent on the model.
#
# Fit
# ---
with ledger.record(purpose="model of income", **who), ledger.data("rows to train on"):
    model.fit(train[features], train["income"])
print(model.privacy_spent_)

# %%
# ``model.shape_functions_`` holds the fitted model, one curve for each column. Read it before you use the
# model.
import matplotlib.pyplot as plt

from skprivate.inspection import ShapeFunctionDisplay

figure, axis = plt.subplots(layout="constrained")
ShapeFunctionDisplay.from_estimator(model, "age", ax=axis)
axis.set_title("SIMULATED people, epsilon 1")
plt.show()

# %%
# Evaluate
# --------
# A score on held-out rows is a function of private rows, and no epsilon of the fit covers it.
# :func:`~skprivate.evaluation.private_evaluate` spends budget on one histogram of scores and labels. It
# computes AUC, log loss, calibration and all other statistics from this histogram, for all rows and for the
# declared groups.
from skprivate import private_evaluate
from skprivate.inspection import PrivateEvaluationDisplay

with ledger.record(purpose="evaluation", **who), ledger.data("rows to evaluate on"):
    result = private_evaluate(
        model,
        test[features],
        test["income"],
        epsilon=1.0,
        ledger=ledger,
        on_training_rows=False,
        groups_of_interest=(test["work"], ["Private", "State-gov"]),
    )
print(result)
figure, axis = plt.subplots(layout="constrained")
PrivateEvaluationDisplay.from_evaluation(result, ax=axis)
plt.show()

# %%
# The page to sign
# ----------------
# The page is one HTML file without scripts, which prints as one sheet of A4. The sheet shows:
#
# - the question, the purposes, who did it, who approved it and when;
# - the AUC, the accuracy and the log loss with their intervals, and up to eight rows of Table One;
# - what epsilon means here, in plain sentences, and what it does not cover;
# - the budget: what was spent, what is left, what failed and what was refused;
# - lines to sign.
#
# Every charge, every figure and every claim is in the details, which are folded behind the sheet. Unfold them
# to print them on further pages. Figures of a result that is not private are not shown.
from skprivate.accounting import study_page

page = study_page(
    ledger,
    {"Table One": told, "model": model, "evaluation": result},
    title="Income study",
    question="Who earns more than 50,000 a year?",
    path=folder / "study.html",
)
for entry in ledger.entries():
    print(entry.purpose, entry.estimator, float(entry.epsilon))

# %%
# A fourth run would exceed the ceiling. It is refused, changes nothing, and is listed.
from skprivate.exceptions import BudgetExceededError

try:
    model.fit(train[features], train["income"])
except BudgetExceededError as error:
    print(error)
print(len(ledger.refusals()), "refusal")

# %%
# Mistakes that are reported
# --------------------------
# Each of the following mistakes is reported, before or after the fit. None of these fits claims to be
# ``private``. The first one reads bounds and classes from the rows:
import warnings

from skprivate import DPTreeClassifier
from skprivate.exceptions import PrivacyLeakWarning

numbers, income = train[["age", "years", "hours"]], train["income"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", PrivacyLeakWarning)
    lazy = DPTreeClassifier(epsilon=1).fit(numbers, income)
print(caught[0].message, lazy.privacy_spent_.private, sep="\n")

# %%
# A seed makes the noise reproducible, and so removable:
bounds = ([17, 1, 1], [90, 16, 99])
seeded = DPTreeClassifier(epsilon=1, bounds=bounds, classes=labels, random_state=0).fit(numbers, income)
print(seeded.privacy_spent_.private)

# %%
# A scaler reads the rows without spending budget. The report of the pipeline names it:
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skprivate import privacy_report

scaled = DPTreeClassifier(bounds=(-4, 4), classes=labels)
report = privacy_report(make_pipeline(StandardScaler(), scaled).fit(numbers, income))
print(report.private, [step.estimator for step in report.uncovered])

# %%
# With ``SKPRIVATE_STRICT=1`` the first mistake is an error: set it in production.
#
# - If a person has several rows, pass ``groups=`` and ``max_rows_per_group=`` to the description, the fit
#   and the evaluation alike. The unit is then the person.
# - If nobody knows the bounds of a column, spend budget on them:
#   :func:`~skprivate.preprocessing.estimate_bounds`.
#
# Both are in :doc:`/parameters`.
#
# ``PrivacyUtilityDisplay`` draws scores against epsilon. It scores fits on held-out rows, and no epsilon
# covers such scores. Draw it from public or simulated rows, or keep it to yourself.
#
# Next: :doc:`/choosing_epsilon`, and :doc:`/threats` before you publish.
