# SPDX-License-Identifier: BSD-3-Clause
"""What several tests of the room make, change or read: statements, ledgers' files and pages."""

import contextlib
import math
import sqlite3
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np

from skprivate.accounting import PrivacyReport, PrivacySpent, ReleaseRecord, StepReport
from skprivate.exceptions import BudgetExceededError
from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism

TENTH = Fraction(1, 10)
NASTY = "<script>alert('x')</script>\"& </td>"
#: Fields of a run that is not private.
EXPOSED = {"claim": "not-private", "reasons": ("bounds were read",)}
SEEDED = {"claim": "not-private", "reasons": ("seeded",), "noise_source": "seeded"}


def spend(epsilon=TENTH, delta=0, **changes):
    """What a private run spent, but for changes."""
    fields = {
        "mechanism": "discrete Laplace",
        "relation": "replace-one",
        "noise_scale": 4,
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
    }
    return PrivacySpent(epsilon=epsilon, delta=delta, **(fields | changes))


def charge(ledger, *amounts, **options):
    """Charge a tenth, or the amounts, and return the ledger."""
    ledger.charge(spend(*amounts), "Tree", **options)
    return ledger


def try_to_charge(ledger):
    """Return whether the ledger took a tenth."""
    try:
        charge(ledger)
    except BudgetExceededError:
        return False
    return True


def execute(path, *statements):
    """Change a ledger's file behind its back."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def step(spent, path="step"):
    return StepReport(path=path, estimator="E", status="covered", reason="covered", spent=spent)


def laplace(share, name="counts", **more):
    """A release of so much epsilon."""
    return ReleaseRecord.of(name, DiscreteLaplaceMechanism(share, sensitivity=2), Fraction(share), **more)


def gaussian(share, **more):
    """A release of so much rho."""
    mechanism = DiscreteGaussianMechanism(rho=share, squared_sensitivity=2)
    return ReleaseRecord.of("counts", mechanism, Fraction(share), **more)


UNCOVERED = StepReport(path="scaler", estimator="StandardScaler", status="uncovered", reason="read rows")


def report(*spents, uncovered=False):
    """A report on steps that spent this, and on one that paid nothing for its rows."""
    steps = [step(spent, f"step {number}") for number, spent in enumerate(spents)]
    return PrivacyReport((*steps, UNCOVERED) if uncovered else tuple(steps))


class Reader(HTMLParser):
    """Checks that tags are closed in order; collects tags, attributes and text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "link", "img", "br", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def words(page):
    """The text of a page, on one line."""
    return " ".join(" ".join(read(page).text).split())


def assert_loads_nothing(page):
    """A page whose parts can be named by everyone, and that runs and fetches nothing."""
    reader = read(page)
    names = {name for name, _ in reader.attributes}
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    assert not {"src", "href", "style"} & names
    assert not any(name.startswith("on") for name in names)
    assert {"title", "main", "h1", "caption"} <= set(reader.tags)
    assert reader.tags.count("th") == reader.attributes.count(("scope", "row")) > 0
    return reader


def random_case(seed, n_inputs=4, n_outputs=5):
    """A channel with zeros, and a prior."""
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.full(n_outputs, 0.7), n_inputs) * (rng.random((n_inputs, n_outputs)) > 0.2)
    channel[:, 0] += 1e-3
    prior = rng.dirichlet(np.ones(n_inputs)) * (rng.random(n_inputs) > 0.2) + 1e-3 * (np.arange(n_inputs) < 2)
    return channel / channel.sum(axis=1, keepdims=True), prior / prior.sum()


def response(epsilon, n):
    others = 1 / (math.exp(epsilon) + n - 1)
    return np.full((n, n), others) + np.eye(n) * (math.exp(epsilon) - 1) * others
