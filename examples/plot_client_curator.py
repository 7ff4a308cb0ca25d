# SPDX-License-Identifier: BSD-3-Clause
"""
From phones to a tree: clients, gateways, curators
==================================================

Here nobody collects the private rows. A curator plans a tree on public rows and publishes a small JSON file.
Each phone answers once, and gateways write the answers into files. Two workers add up the files; one of them
is killed and resumed. The curator releases the tree after each day. The people are SIMULATED.
"""

# %%
# Plan on public rows
# -------------------
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from skprivate import LocallyPrivateTreeClassifier
from skprivate.collection import ReportWriter, TreeClient, TreeCurator, TreeSpecification
from skprivate.datasets import make_posterior_drift
from skprivate.inspection import PartitionDisplay

folder = Path(tempfile.mkdtemp())
X, y, is_public = make_posterior_drift(20_000, 200, gamma=2.0, random_state=0)
X_test, y_test, _ = make_posterior_drift(5_000, 0, random_state=1)
plan = LocallyPrivateTreeClassifier(epsilon=2.0, bounds=(0, 1))
curator = TreeCurator(plan, X[is_public], y[is_public], n_clients=20_000)
(folder / "study.json").write_text(curator.specification.to_json())
print(curator.specification)
print(f"{(folder / 'study.json').stat().st_size} bytes of JSON")

# %%
# A phone answers once
# --------------------
# The client needs numpy, the JSON file, and a file that stores its answer.
specification = TreeSpecification.from_json(folder / "study.json")
client = TreeClient(specification, memory=folder / "phone.memory")
report = client.randomize([0.2, 0.9], 1)
print(f"{len(report)} bytes; asked again, the same: {client.randomize([0.2, 0.9], 1) == report}")

# %%
# Gateways write files
# --------------------
# There are ten days with 2,000 people each.
people = list(zip(X[~is_public], y[~is_public].tolist(), strict=True))
days = []
for day in range(10):
    days.append(folder / f"day-{day}.bin")
    with ReportWriter(days[-1], specification) as gateway:
        for x, label in people[2000 * day : 2000 * (day + 1)]:
            gateway.write(TreeClient(specification).randomize(x, label))
print(f"{days[0].stat().st_size} bytes a day")

# %%
# Two workers, one of them killed
# -------------------------------
# Both workers start from the state of a curator that has counted no report. The second one is killed before
# its last two files and continues from its checkpoint. A file that a worker receives twice counts once.
workers = [TreeCurator.from_bytes(curator.to_bytes()) for _ in range(2)]
checkpoint = folder / "second.state"
sizes, accuracies = [], []
for number, path in enumerate(days):
    workers[number % 2].update_file(path, checkpoint=checkpoint if number % 2 else None)
    if number == 6:
        workers[1].close()
        workers[1] = TreeCurator.from_file(checkpoint)
        print(f"Resumed with {workers[1].n_reports} reports; again: {workers[1].update_file(days[1])}")
    # Releases spend no budget: they are functions of reports that are private already.
    whole = TreeCurator.from_bytes(curator.to_bytes())
    for worker in workers:
        whole.merge(worker)
    sizes.append(whole.n_reports)
    accuracies.append(whole.release().score(X_test, y_test))

tree = whole.release()
print(tree.privacy_spent_)

# %%
# Accuracy grows with the reports
# -------------------------------
public_only = plan.set_params(public_weight=1e12)
fitted = public_only.fit(X, y, is_public=is_public)
figure, axis = plt.subplots(layout="constrained")
axis.plot(sizes, accuracies, marker="o", label="released after each day")
axis.axhline(fitted.score(X_test, y_test), color="grey", linestyle=":", label="public rows only")
axis.set(xlabel="reports", ylabel="accuracy", title="Epsilon 2, two bytes a person")
axis.set_xticks(range(0, 20_001, 5000))
axis.legend()
plt.show()

# %%
# The tree after ten days
# -----------------------
figure, axis = plt.subplots(layout="constrained")
PartitionDisplay.from_estimator(tree, ax=axis)
axis.set(xlabel="$x_1$", ylabel="$x_2$")
plt.show()
