# SPDX-License-Identifier: BSD-3-Clause
"""
Income in the census: a private model with one curve for each column
=====================================================================

UCI Adult as published has 32,561 people and 13 columns of numbers and text, with "?" for missing answers. A
trusted curator fits :class:`~skprivate.DPBoostingClassifier` to all of it and publishes one curve for each
column. The curve shows what an age, a job or a capital gain adds to the log-odds of an income above 50,000
dollars.

The file is not part of the package. `skprivate.datasets.fetch_census` states where to put it; or run the
example with ``SKPRIVATE_DATA=FOLDER``. Without the file, the page uses SIMULATED people with the same
columns, and its pictures state so.
"""

# %%
# What is public
# --------------
# A private model must not learn the levels of a column, or its bounds, from private rows. The documentation
# of the survey lists both. "?" is a level like any other, because a missing answer may carry information.
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import get_data_home
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

import skprivate
from skprivate import DPBoostingClassifier, DPLogisticRegression
from skprivate.datasets import fetch_census
from skprivate.domain import TableDomain
from skprivate.inspection import ShapeFunctionDisplay

LEVELS = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay "
    "Never-worked ?",
    "education": "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc "
    "Assoc-acdm Bachelors Masters Prof-school Doctorate",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv "
    "Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany India Japan Greece South "
    "Outlying-US(Guam-USVI-etc) China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico "
    "Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala "
    "Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands ?",
}
domain = TableDomain(
    {
        **{"age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 99_999)},
        **{"capital-loss": (0, 4_356), "hours-per-week": (1, 99)},
        **{name: levels.split() for name, levels in LEVELS.items()},
    }
)


# %%
# The table
# ---------
# The table is used as pandas reads it. No cell is encoded, scaled or filled in. The column ``fnlwgt``, a
# weight of the survey, is left out.
def read_adult():
    home = os.environ.get("SKPRIVATE_DATA") or Path(get_data_home()) / "skprivate"
    fetch_census(data_home=home)  # says where the file must be, and checks that it is the published one
    names = (
        "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
        "capital-gain capital-loss hours-per-week native-country income"
    )
    return pd.read_csv(Path(home) / "census" / "adult.data", names=names.split(), skipinitialspace=True)


def simulate_adult(n_rows=32_561):
    """Independent answers; married people with a long education, or with a capital gain, earn more."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(levels.split(), n_rows) for name, levels in LEVELS.items()})
    table["age"], table["education-num"] = rng.integers(17, 91, n_rows), rng.integers(1, 17, n_rows)
    table["capital-gain"] = np.where(rng.random(n_rows) < 0.1, rng.integers(0, 99_999, n_rows), 0)
    table["capital-loss"], table["hours-per-week"] = 0, rng.integers(1, 100, n_rows)
    score = 2.0 * (table["marital-status"] == "Married-civ-spouse") + 0.3 * (table["education-num"] - 10)
    score += 0.04 * (45 - (table["age"] - 45).abs()) + 3.0 * (table["capital-gain"] > 7_000) - 2.5
    earns_more = rng.random(n_rows) < 1 / (1 + np.exp(-score))
    return table.assign(income=np.where(earns_more, ">50K", "<=50K"))


skprivate.set_config(strict=True)
try:
    people, source = read_adult(), "Adult"
except FileNotFoundError:
    people, source = simulate_adult(), "SIMULATED Adult"
income = people.pop("income")
people = people[list(domain.names)]
X_train, X_test, y_train, y_test = train_test_split(people, income, test_size=0.2, random_state=0)
print(f"{source}: {len(people)} rows; {np.mean(income == '>50K'):.1%} above 50,000 dollars")
print(X_train.head(3).T)

# %%
# Models at three values of epsilon
# ---------------------------------
# The models receive epsilon, delta, domain and classes, nothing else. They derive bins, passes and steps from
# the number of rows and from the noise. The last line is not private.
public = {"delta": 1e-6, "domain": domain, "classes": ["<=50K", ">50K"]}


def scores(model, X):
    proba = model.predict_proba(X)[:, 1]
    accuracy = np.mean((proba > 0.5) == (y_test == ">50K"))
    return accuracy, roc_auc_score(y_test == ">50K", proba), log_loss(y_test == ">50K", proba)


print(f"{'':<28} accuracy    AUC  log loss")
for epsilon in (0.5, 1.0, 4.0):
    for kind in (DPBoostingClassifier, DPLogisticRegression):
        model = kind(epsilon, **public).fit(X_train, y_train)
        line = "{:>9.3f}{:>7.3f}{:>10.3f}".format(*scores(model, X_test))
        print(f"{kind.__name__:<21} {epsilon:>5g} {line}")
encoded = HistGradientBoostingClassifier(random_state=0).fit(domain.encode(X_train), y_train)
line = "{:>9.3f}{:>7.3f}{:>10.3f}".format(*scores(encoded, domain.encode(X_test)))
print(f"{'without privacy':<27} {line}")

# %%
# Reading the model
# -----------------
# The band is two standard deviations of the noise in the column's own steps. This noise scale is public. A
# bump that is smaller than the band may be noise alone. A curve is in units of log-odds: a step of 1
# multiplies the odds by 2.7.
boosting = DPBoostingClassifier(1.0, **public).fit(X_train, y_train)
order = np.argsort(boosting.feature_importances_)[::-1]
for j in order:
    print(f"{domain.names[j]:<16} {boosting.feature_importances_[j]:.3f}")

figure, axis = plt.subplots(layout="constrained")
ShapeFunctionDisplay.from_estimator(boosting, "age", ax=axis)
axis.set_title(f"{source}, epsilon 1")
plt.show()

# %%
# Three other columns:
figure, axes = plt.subplots(1, 3, figsize=(12, 5), layout="constrained")
for axis, name in zip(axes, ("education-num", "hours-per-week", "relationship"), strict=True):
    ShapeFunctionDisplay.from_estimator(boosting, name, ax=axis)
figure.suptitle(f"{source}, epsilon 1, delta 1e-6")
plt.show()

# %%
# The curve of age as numbers, for print or for a check by an expert of the subject:
age = next(shape for shape in boosting.shape_functions_ if shape.name == "age")
for label, value, std in zip(age.labels, age.values, age.std, strict=True):
    print(f"age {label:<22} {value:+.2f} ± {std:.2f}")

# %%
# What the fit claims
# -------------------
# One budget covers curves, intercept and numbers of rows. Reading the curves spends no further budget.
print(boosting.privacy_spent_)
