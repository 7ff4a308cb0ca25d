# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of whole fits, and of fits that are handed what others released.

Everything that a fit releases passes through `NoiseScales.randomize`, or (counts, probabilities) through
the noise of `NoiseShares`. A `Recording` there keeps the exact integers, and can hand out recorded outputs
instead of drawing: then a fit on a neighbour must end in the same object.
"""

import functools
import warnings
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from skprivate.linear_model._moments import released_moments
from skprivate.rounds import _rates

# A right fit fails an audit with a probability below this.
FALSE_ALARM = 1e-7
# Scales of the noise of counts are multiples of 1 / UNIT.
UNIT = 2**10


class Recording:
    """Stands for `NoiseScales.randomize` during a fit; with a script, hands out its outputs."""

    def __init__(self, draw, script=None):
        self.draw, self.script = draw, script
        self.plans, self.exact, self.outputs = [], [], []

    def __call__(self, plan, values, entropy):
        if self.script is None:
            outputs = self.draw(plan, values, entropy)
        else:
            outputs = np.resize(self.script[len(self.exact)], values.shape)
        self.plans.append(plan)
        self.exact.append(np.array(values))
        self.outputs.append(outputs)
        return outputs

    def in_units(self, mechanism, values, entropy):
        """Release integers whose scale is a multiple of 1 / UNIT: they are recorded in such units."""
        scale = mechanism.scale if hasattr(mechanism, "scale") else mechanism.sigma
        scales = np.full(values.shape, int(scale * UNIT), dtype=np.int64)
        kind = "laplace" if hasattr(mechanism, "scale") else "gaussian"
        plan = released_moments.NoiseScales(kind, scales, Fraction(1), Fraction(1))
        released = self(plan, values * UNIT, entropy)
        self.outputs[-1] = released if self.script is not None else released // UNIT * UNIT
        return self.outputs[-1] // UNIT

    @property
    def scales(self):
        return np.concatenate([plan.scales.ravel() for plan in self.plans])

    @property
    def values(self):
        return np.concatenate([exact.ravel() for exact in self.exact])


def recording_of(fit, script=None):
    recording = Recording(released_moments.NoiseScales.randomize, script)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patch.setattr(released_moments.NoiseScales, "randomize", lambda *args: recording(*args))
        honest = _rates.NoiseShares._noise

        def recorded(shares, *args):
            noise = honest(shares, *args)
            draw = functools.partial(recording.in_units, noise)
            return SimpleNamespace(randomize=draw, variance=noise.variance, honest=noise)

        patch.setattr(_rates.NoiseShares, "_noise", recorded)
        described = _rates.NoiseShares.describe
        patch.setattr(
            _rates.NoiseShares,
            "describe",
            lambda shares, name, noise, share: described(shares, name, noise.honest, share),
        )
        model = fit()
    return recording, model, [str(warning.message) for warning in caught]


def exact_loss(recording, other):
    """Return epsilon, or rho, of one pair, over everything released."""
    differences = [abs(int(a) - int(b)) for a, b in zip(recording.values, other.values, strict=True)]
    if recording.plans[0].mechanism == "laplace":
        return sum(Fraction(a, int(t)) for a, t in zip(differences, recording.scales, strict=True))
    return sum(Fraction(a * a, 2 * int(t) ** 2) for a, t in zip(differences, recording.scales, strict=True))


def draw_ratios(recording, other, trials, generator):
    """Log likelihood ratios, in nominal scales, of fresh outputs of the first of two data sets."""
    differ = recording.values != other.values
    mine, theirs = (t.values[differ] for t in (recording, other))
    # Of the scales that the fit had; what is drawn may have others.
    plan = replace(recording.plans[0], scales=np.tile(recording.scales[differ], (trials, 1)))
    drawn = plan.randomize(np.tile(mine, (trials, 1)), generator)
    if plan.mechanism == "laplace":
        return ((np.abs(drawn - theirs) - np.abs(drawn - mine)) / plan.scales).sum(axis=1)
    nearer = (drawn - theirs).astype(float) ** 2 - (drawn - mine).astype(float) ** 2
    return (nearer / (2.0 * plan.scales.astype(float) ** 2)).sum(axis=1)


def count_hits(recording, other, trials, threshold, generator):
    """How often the ratio passes a threshold on either data set."""
    likely = (draw_ratios(recording, other, trials, generator) >= threshold).sum()
    return int(likely), int((-draw_ratios(other, recording, trials, generator) >= threshold).sum())


def half_the_noise(monkeypatch):
    draw = released_moments.NoiseScales.randomize

    def randomize(plan, values, entropy):
        return draw(replace(plan, scales=plan.scales // 2), values, entropy)

    monkeypatch.setattr(released_moments.NoiseScales, "randomize", randomize)
