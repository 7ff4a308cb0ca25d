# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds on epsilon: the same violation is found in whatever order the two data sets are given.

Draws are seeded. At other seeds a right mechanism would be refuted with a probability of 1e-9 at most, and
each of the violations missed with one below 1e-6.
"""

import numpy as np
import pytest

from skprivate.audit import audit_epsilon, epsilon_lower_bound
from skprivate.noise import DiscreteLaplaceMechanism

CONFIDENCE = 1 - 1e-9
N = 30_000


def draws(scale, values, shape=N):
    mechanism = DiscreteLaplaceMechanism.from_scale(scale)
    return tuple(mechanism.randomize(np.full(shape, value), seed) for seed, value in enumerate(values))


@pytest.mark.parametrize("shape", [N, (N, 1), (N, 2)])
@pytest.mark.parametrize("values", [(300, 0), (0, 300)])
def test_both_orders_show_half_the_noise_and_pass_the_right_one(values, shape):
    n_values = shape[1] if isinstance(shape, tuple) else 1
    loss = 1.5 * n_values
    half = audit_epsilon(*draws(100, values, shape), predicted=loss, confidence=CONFIDENCE)
    assert half.epsilon > 1.2 * loss, half
    assert not half.passed
    right = audit_epsilon(*draws(200, values, shape), predicted=loss, confidence=CONFIDENCE)
    assert 0.7 * loss < right.epsilon <= loss, right
    assert right.passed


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("swap", [False, True])
def test_an_event_that_one_data_set_alone_has_is_found_at_either_end(sign, swap):
    generator = np.random.default_rng(3)
    often, never = (generator.normal(size=N) for _ in range(2))
    # Where the other never is; the means hardly differ.
    often[: N // 20] = sign * 9.0
    pair = (never, often) if swap else (often, never)
    audit = audit_epsilon(generator.permutation(pair[0]), generator.permutation(pair[1]), predicted=1.0)
    assert audit.epsilon > 3, audit
    assert not audit.passed


@pytest.mark.parametrize("swap", [False, True])
def test_names_have_no_order(swap):
    generator = np.random.default_rng(5)
    pair = [generator.choice([3, 7, 5], size=N, p=p) for p in ((0.6, 0.2, 0.2), (0.2, 0.6, 0.2))]
    first, second = pair[::-1] if swap else pair
    audit = audit_epsilon(first, second, predicted=np.log(2), categorical=True, confidence=CONFIDENCE)
    assert 0.9 < audit.epsilon <= np.log(3), audit
    assert not audit.passed


def test_the_bound_on_counts():
    assert epsilon_lower_bound(0, 0, 100) == 0
    assert epsilon_lower_bound(50, 500, 1000) == 0
    assert epsilon_lower_bound(500, 50, 1000) == pytest.approx(1.764, abs=1e-3)
    # (1 - confidence) / 2 on either side of an event that always, and never, happened.
    low, high = 0.005 ** (1 / 100), 1 - 0.005 ** (1 / 100)
    assert epsilon_lower_bound(100, 0, 100, 0.99) == pytest.approx(np.log(low / high), rel=1e-9)
