# SPDX-License-Identifier: BSD-3-Clause
"""The attribute attack: whom it links, in which units, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skprivate.audit import AttributeAttack
from skprivate.metrics import correct_orientation_score

PEOPLE = 200


@pytest.fixture
def far_apart():
    """People whose values are at least 1 apart in either column."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.permutation(PEOPLE), rng.permutation(PEOPLE)]).astype(float)


def brute_force(known, released, mu):
    distances = np.linalg.norm(released[:, np.newaxis] - known, axis=2)
    within = distances.min(axis=1) <= mu
    right = within & (distances.argmin(axis=1) == np.arange(len(known)))
    return 100 * within.mean(), 100 * right.mean()


def test_a_step_beyond_mu_hides_and_a_shift_links_the_wrong_person(far_apart):
    attack = AttributeAttack(mu=0.1, noise=0.0)
    beside = attack.run(far_apart, far_apart + [0.11, 0])
    assert beside.linked == beside.reidentified == 0
    assert beside.column_linked == {"column 0": 0.0, "column 1": 100.0}
    neighbour = attack.run(far_apart, (far_apart + [1, 0]) % PEOPLE, columns=[0])
    assert (neighbour.linked, neighbour.reidentified) == (100, 0)


@pytest.mark.parametrize("mu", [0.003, 0.02, 0.2])
def test_equals_brute_force(mu):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(300, 3))
    released = X + rng.normal(scale=0.02, size=X.shape)
    result = AttributeAttack(mu=mu, noise=0.0).run(X, released)
    assert (result.linked, result.reidentified) == pytest.approx(brute_force(X, released, mu))
    for j in range(3):
        expected = brute_force(X[:, [j]], released[:, [j]], mu)
        found = result.column_linked[f"column {j}"], result.column_reidentified[f"column {j}"]
        assert found == pytest.approx(expected)
    oriented = list(result.correct_orientation.values())
    assert oriented == pytest.approx(correct_orientation_score(X, released, mu=mu))


def test_the_attacker_knows_with_normal_noise():
    # Alone in the table, and released as it is: linked where |N(0, noise^2)| <= mu, .6827 for noise = mu.
    # 4,000 people: the share is off by .05 with probability below 1e-10 (Hoeffding).
    X = np.arange(4000.0)[:, np.newaxis]
    result = AttributeAttack(mu=0.01, noise=0.01, random_state=0).run(X, X)
    assert result.linked == result.reidentified == pytest.approx(68.27, abs=5)


def test_bounds_make_shares_of_the_range(far_apart):
    small = AttributeAttack(mu=[0.01, 0.02], noise=0.005, random_state=3)
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(500, 2))
    released = X + rng.normal(scale=0.01, size=X.shape)
    plain = small.run(X, released)
    wide = small.run(10 + X * [5, 300], 10 + released * [5, 300], bounds=(10, [15, 310]))
    by_name = small.run(10 + X * [5, 300], 10 + released * [5, 300], bounds={0: (10, 15), 1: (10, 310)})
    assert plain == wide == by_name
    assert plain.mu == {"column 0": 0.01, "column 1": 0.02}
    assert 0 < plain.reidentified < 100


def test_columns_of_data_frames():
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(100, 2))
    released = X + rng.normal(scale=1e-3, size=X.shape)
    attack = AttributeAttack(mu=1e-3, random_state=0)
    expected = attack.run(X[:, ::-1], released[:, ::-1])
    for frame in (pd.DataFrame, pl.DataFrame):
        asked, answer = (
            frame({"age": Z[:, 0], "name": ["someone"] * 100, "weight": Z[:, 1]}) for Z in (X, released)
        )
        for columns in (["weight", "age"], [2, 0]):
            for table in (answer, answer.to_numpy()):
                result = attack.run(asked, table, columns=columns)
                assert list(result.correct_orientation) == ["weight", "age"]
                assert result.reidentified == expected.reidentified
                assert list(result.column_linked.values()) == list(expected.column_linked.values())


def test_incomplete_queries_are_left_out(far_apart):
    X = far_apart.copy()
    X[: PEOPLE // 2, 1] = np.nan
    result = AttributeAttack(mu=0.1, noise=0.0).run(X, X)
    assert result.linked == result.reidentified == 100
    with pytest.raises(ValueError, match="no query has a value in every column"):
        AttributeAttack().run(np.full((3, 1), np.nan), np.zeros((3, 1)))


def test_seeds():
    # Shares of 500 rows are equal with probability 0.05 at most, those of ten columns below 1e-12.
    X = np.random.default_rng(5).uniform(size=(500, 10))
    runs = [AttributeAttack(random_state=seed).run(X, X) for seed in (0, 0, 1, None)]
    assert runs[0] == runs[1]
    assert len({tuple(run.column_linked.values()) for run in runs[1:]}) == 3
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    AttributeAttack().run(X, X)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize(
    ("parameters", "options", "error", "message"),
    [
        ({"mu": 0}, {}, ValueError, "mu must be finite and above 0"),
        ({"mu": [1, 2, 3]}, {}, ValueError, "one per column"),
        ({"mu": "near"}, {}, TypeError, "mu must be a number"),
        ({"noise": -1}, {}, ValueError, "noise must be finite and at least 0"),
        ({"noise": float("nan")}, {}, ValueError, "noise must be finite"),
        ({}, {"columns": []}, ValueError, "at least one column"),
        ({}, {"columns": [0, 0]}, ValueError, "none twice"),
        ({}, {"columns": ["age"]}, ValueError, "no column 'age'"),
        ({}, {"columns": [2]}, ValueError, "no column 2"),
        ({}, {"bounds": (1, 0)}, ValueError, "lower must be below upper"),
        ({"random_state": "seed"}, {}, TypeError, "random_state"),
    ],
)
def test_refusals(parameters, options, error, message):
    X = np.zeros((4, 2))
    with pytest.raises(error, match=message):
        AttributeAttack(**parameters).run(X, X, **options)


def test_rows_must_agree_and_no_value_is_repeated():
    with pytest.raises(ValueError, match="same rows"):
        AttributeAttack().run(np.zeros((4, 2)), np.zeros((3, 2)))
    secret = np.array([["forty-two"], ["1"]], dtype=object)
    with pytest.raises(ValueError, match="column 0 must hold numbers") as caught:
        AttributeAttack().run(secret, secret)
    assert "forty" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
