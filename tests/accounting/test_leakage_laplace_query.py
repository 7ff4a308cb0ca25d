# SPDX-License-Identifier: BSD-3-Clause
"""What queries with Laplace noise leak under every prior with a floor: brute force, closed forms, limits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skprivate.accounting import max_information, pml_from_ldp, pml_laplace, pml_laplace_query
from tests.accounting.laplace_queries import KINDS, draw_case


@pytest.mark.parametrize("kind", KINDS)
def test_no_prior_and_no_outcome_on_the_grid_leaks_more_and_one_leaks_as_much(kind):
    rng = np.random.default_rng(1)
    for _ in range(60):
        case = draw_case(rng, kind)
        assert case.largest_leakage(case.vertices()) == pytest.approx(case.formula, abs=1e-12)
        assert case.largest_leakage(case.interior_priors(rng)) <= case.formula + 1e-12
        assert case.formula < case.epsilon
        assert case.formula <= pml_from_ldp(case.epsilon, case.floors.min()) + 1e-12


@given(data=st.data(), m=st.integers(1, 5), d=st.integers(1, 3), share=st.floats(0.01, 1))
def test_no_real_outcome_leaks_more(data, m, d, share):
    entries = st.lists(st.floats(-2, 2), min_size=d, max_size=d)
    values = np.array(data.draw(st.lists(entries, min_size=m, max_size=m)))
    scales = np.array(data.draw(st.lists(st.floats(0.1, 5), min_size=d, max_size=d)))
    found = pml_laplace_query(scales, values, share / m)
    outcomes = np.concatenate([values, np.random.default_rng(0).uniform(-4, 4, (300, d))])
    log_density = -(np.abs(outcomes - values[:, None]) / scales).sum(axis=2)
    ratios = np.exp(log_density - log_density.max(axis=0))
    leakage = -np.log(share / m * ratios.sum(axis=0) + (1 - share) * ratios.min(axis=0))
    assert leakage.max() <= found + 1e-12
    # The values stand first among the outcomes.
    assert leakage[:m].max() == pytest.approx(found, abs=1e-12)


@given(weights=st.lists(st.integers(1, 9), min_size=1, max_size=6), data=st.data(), scale=st.floats(0.01, 99))
def test_floors_that_add_up_to_one_are_one_prior(weights, data, scale):
    prior = np.array(weights) / sum(weights)
    values = data.draw(st.lists(st.integers(-4, 4), min_size=len(prior), max_size=len(prior)))
    one = pml_laplace(scale, (values, prior))
    assert pml_laplace_query(scale, values, prior) == pytest.approx(one, abs=1e-12)


def test_leakages_of_two_queries_do_not_add_up():
    queries = np.array([[60, 0], [0, 60], [0, 0]])
    leakages = [pml_laplace_query(1, values, [0.44, 0.44, 0.12]) for values in (*queries.T, queries)]
    assert [round(value, 3) for value in leakages] == [0.821, 0.821, 2.12]


def test_limits():
    assert pml_laplace_query(1, [5], 0.3) == 0
    assert pml_laplace_query(1, [5, 5, 5], 0.3) == 0
    assert pml_laplace_query(1e-3, np.eye(4), 0.2) == pytest.approx(max_information([0.2] * 5), abs=1e-12)
    assert pml_laplace_query(1e-300, [0, 1e300], 0.25) == pytest.approx(math.log(4))
    assert pml_laplace_query(1, [-1e308, 1e308], 0.25) == pytest.approx(math.log(4))
    # Almost no floor, almost no noise: below epsilon as floats are, and not by more than the floor.
    assert pml_laplace_query(1, [0, 600], 1e-300) == 600
    assert pml_laplace_query(1, [0, 900], 5e-324) == pytest.approx(-math.log(5e-324))
    assert pml_laplace_query(10**12, [0, 1], 0.25) == pytest.approx(0.75e-12, rel=1e-9, abs=0)
    thirds = pml_laplace_query(Fraction(1, 2), [0, 1, 2], Fraction(1, 3))
    assert thirds == pytest.approx(-math.log((1 + math.exp(-2) + math.exp(-4)) / 3), abs=1e-12)
    assert pml_laplace_query(1, [2**53 - 1, 2**53], 0.1) == pml_laplace_query(1, [0, 1], 0.1)
    assert pml_laplace_query(1, np.array([1, 2], dtype=np.uint8), 0.1) == pml_laplace_query(1, [0, 1], 0.1)
    # Floors that add up to 1 but for rounding, of a table of probabilities, say, are a prior.
    rounded = pml_laplace_query(1, [0, 1], [0.3 + 4e-10, 0.7 + 4e-10])
    assert rounded == pytest.approx(pml_laplace_query(1, [0, 1], [0.3 + 1.6e-10, 0.7 - 1.6e-10]), abs=1e-12)
    for m in range(2, 60):
        assert pml_laplace_query(1, np.arange(m) * 50, 1 / m) == pytest.approx(math.log(m), abs=1e-9)
