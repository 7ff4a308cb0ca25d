# SPDX-License-Identifier: BSD-3-Clause
"""Interrupted sites mask one answer under an id at most; a query that was cut short is asked anew."""

import contextlib
from types import SimpleNamespace

import numpy as np

from skprivate import SecureSumAggregator
from skprivate.collaborative import ConsentBox, MaskedSum
from skprivate.exceptions import ConsentError

NAMES = ["north", "south", "west"]
VALUES = {name: [float(place), 1.0] for place, name in enumerate(NAMES)}
ROWS = np.arange(4.0).reshape(2, 2)


def begin(roster):
    def start(folder):
        gate, keys, receiver = roster.simulate(NAMES)
        query = gate.new_query(ROWS)
        return SimpleNamespace(gate=gate, keys=keys, receiver=receiver, query=query, messages={}, sent=[])

    return start


def test_a_masked_sum(interrupted, operation):
    def mask_all(objects):
        for name, key in objects.keys.items():
            if name not in objects.messages:
                message = objects.gate.mask(name, key, objects.query, VALUES[name])
                objects.sent.append((name, objects.query))
                objects.messages[name] = message
        objects.sums = objects.gate.open(objects.receiver, objects.query, objects.messages)

    def check(objects):
        assert len(set(objects.sent)) == len(objects.sent), "two answers under one id"

    def retry(objects):
        try:
            mask_all(objects)
        except ConsentError:  # a message was lost with its id
            objects.query, objects.messages = objects.gate.new_query(ROWS), {}
            mask_all(objects)

    interrupted(
        operation(
            "MaskedSum.mask and open",
            begin(MaskedSum),
            mask_all,
            check,
            retry,
            lambda objects: np.array(objects.sums).tolist(),
            about=("collaborative/_protocols/keys.py",),
        )
    )


def test_a_consent(interrupted, operation):
    def run(objects):
        gate, keys, query = objects.gate, objects.keys, objects.query
        sealed = {name: gate.seal(name, keys[name], query, VALUES[name]) for name in NAMES}
        objects.consents = {name: gate.consent(name, keys[name], query, sealed) for name in NAMES}
        objects.opened = gate.open(objects.receiver, query, sealed, objects.consents)

    def retry(objects):
        with contextlib.suppress(ConsentError):
            return run(objects)
        # Consent to other columns under the same id is refused.
        objects.query = objects.gate.new_query(ROWS)
        return run(objects)

    interrupted(
        operation(
            "ConsentBox.seal, consent and open",
            begin(ConsentBox),
            run,
            lambda objects: None,
            retry,
            lambda objects: objects.opened.tolist(),
            about=("collaborative/_protocols/keys.py",),
        )
    )


def test_a_synthesis(interrupted, operation):
    answers = np.array([[1.0, 2.0, 4.0], [0.5, 3.0, 6.0]])

    def predict(objects):
        objects.answer = objects.platform.predict(answers)

    interrupted(
        operation(
            "SecureSumAggregator.predict",
            lambda folder: SimpleNamespace(platform=SecureSumAggregator().fit(answers)),
            predict,
            lambda objects: None,
            predict,
            lambda objects: objects.answer.tolist(),
            about=("collaborative/_aggregators.py",),
        )
    )
