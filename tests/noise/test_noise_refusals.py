# SPDX-License-Identifier: BSD-3-Clause
"""Every input that the room refuses: what is called, the error, its message, and the wrong values."""

import copy
import math
import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from skprivate.noise import (
    DiscreteGaussianMechanism,
    DiscreteLaplaceMechanism,
    check_entropy,
    laplace_sum,
    zcdp_to_epsilon,
)
from skprivate.noise._rounding import grid_exponent, quantise, response_threshold
from skprivate.noise._sampling_kernels import (
    fill_below,
    fill_bernoulli,
    fill_binomial,
    fill_bits,
    fill_discrete_laplace,
    fill_laplace_sum,
)
from skprivate.noise._stream_kernels import WordStream
from tests.refusals import cases, give

NAN, INF = math.nan, math.inf
LAPLACE, GAUSSIAN = DiscreteLaplaceMechanism(0.5, 3), DiscreteGaussianMechanism(0.5, squared_sensitivity=9)
ONE, TWO, THREE = np.ones(1, dtype=np.int64), np.ones(2, dtype=np.int64), np.ones(3, dtype=np.int64)
HALF = np.array([2**63], dtype=np.uint64)


def on_a_stream(fill):
    """Fill an array from a stream of its own."""

    def call(*arguments):
        with WordStream(check_entropy(0), 4) as stream:
            fill(*arguments, stream)

    call.__qualname__ = fill.__name__
    return call


def sum_of(n, n_bits):
    return ONE, n, np.zeros((n_bits, 4), dtype=np.uint64)


#: No message shows a value.
BEYOND = r"^values must be at most 2\^62 in magnitude$"
REFUSED = [
    (check_entropy, TypeError, "random_state must be None, a non-negative int", True, 1.0, "0", b"seed", [1]),
    (check_entropy, ValueError, "non-negative", -1),
    (zcdp_to_epsilon, ValueError, "delta", (0.5, 0), (0.5, 1), (0.5, -0.1), (0.5, NAN)),
    (zcdp_to_epsilon, ValueError, "rho", (0, 0.1), (-1, 0.1), (INF, 0.1)),
    (LAPLACE.randomize, TypeError, "quantise each row", 1.0, [0.5], np.ones(2), [True], ["1"], [Fraction(1)]),
    (GAUSSIAN.randomize, TypeError, "quantise each row", [0.5]),
    (LAPLACE.randomize, OverflowError, BEYOND, 2**62 + 1, -(2**62) - 1, 2**200, np.uint64(2**63)),
    (DiscreteLaplaceMechanism, ValueError, "epsilon", 0, -1.0, INF, NAN, 1e-300),
    (DiscreteLaplaceMechanism, TypeError, "epsilon", True, "1", None, 1j),
    (DiscreteLaplaceMechanism, ValueError, "too small for the sensitivity", Fraction(1, 2**52 + 1)),
    (DiscreteLaplaceMechanism, TypeError, "int", (1, 1.0), (1, True), (1, Fraction(3))),
    (DiscreteLaplaceMechanism, ValueError, "at least 1", (1, 0)),
    (DiscreteLaplaceMechanism.from_scale, ValueError, "positive", 0, -1, 2**52 + 1, Fraction(1, 2**53)),
    (DiscreteLaplaceMechanism.from_scale, TypeError, "Fraction", 1.5, True),
    (DiscreteGaussianMechanism.from_sigma, ValueError, "positive", 0, 2**52 + 1, Fraction(1, 2**53)),
    (DiscreteGaussianMechanism.from_sigma, TypeError, "Fraction", 1.5, True),
    (DiscreteGaussianMechanism.from_sigma, ValueError, "at least 1", (1, 0)),
    (partial(DiscreteGaussianMechanism, 1), TypeError, "int", {"squared_sensitivity": 1.0}),
    (partial(DiscreteGaussianMechanism, 1), TypeError, "int", {"squared_sensitivity": True}),
    (DiscreteGaussianMechanism, ValueError, "either rho", {}, {"rho": 1, "epsilon": 1}, {"epsilon": 1}),
    (DiscreteGaussianMechanism, ValueError, "either rho", {"delta": 0.1}, {"rho": 1, "delta": 0.1}),
    (DiscreteGaussianMechanism, ValueError, "delta must be between", {"epsilon": 1, "delta": 1}),
    (DiscreteGaussianMechanism, ValueError, "too small", {"rho": 1e-40}, {"epsilon": 1e-17, "delta": 1e-30}),
    (laplace_sum, ValueError, "must be", (-1, 1), (2**41, 1), (5, 2**52), (1, 0)),
    (laplace_sum, TypeError, "must be", (1.0, 1), (True, 1), (1, 0.5)),
    (partial(quantise, [12345.0, NAN]), ValueError, "^values contain NaN$", (3, 0.0, 1e6)),
    (partial(quantise, 0.5, 0), ValueError, "bounds|lower", (1.0, 0.0), (0.0, INF), (NAN, 1.0)),
    (partial(quantise, 0.5, 0), ValueError, "bounds", (0, 2**53 + 1), (-(2**60), 0)),
    *((quantise, ValueError, "exponent", (0.5, it, 0.0, 1.0)) for it in (-1, 0.5)),
    *((quantise, TypeError, "real numbers", (it, 0, 0.0, 1.0)) for it in (["a"], [1j], np.longdouble([1]))),
    # Whatever the values.
    *((quantise, OverflowError, "2\\^62", (it, 62, -1.0, 1.0)) for it in (0.0, 1e300)),
    (quantise, OverflowError, "2\\^62", (0.0, 2000, -1.0, 1.0)),
    (grid_exponent, ValueError, "epsilon is too small", (1, Fraction(1, 2**52 + 1))),
    (grid_exponent, ValueError, "does not fit", (1, Fraction(1), 2**61 + 1)),
    (grid_exponent, ValueError, "positive", (0, Fraction(1))),
    (response_threshold, ValueError, "must be", (Fraction(0), 2), (Fraction(-1), 2)),
    *((response_threshold, ValueError, "must be", (Fraction(1), it)) for it in (0, 2**64, Fraction(1, 2))),
    # 2^64 / 3 is no integer: the nearest threshold below it favours the other answers by 1 in 2^64.
    (response_threshold, ValueError, "too small", (Fraction(1, 10**30), 2)),
    (on_a_stream(fill_below), ValueError, "at least 1", (TWO, np.array([3, 0]))),
    (on_a_stream(fill_below), ValueError, "same length", (TWO, THREE)),
    (on_a_stream(fill_bits), ValueError, "between 0 and 64", (HALF.copy(), 65)),
    (on_a_stream(fill_bernoulli), ValueError, "same length", (np.uint8([0, 0]), np.repeat(HALF, 3))),
    (on_a_stream(fill_discrete_laplace), ValueError, "2\\^52", (ONE, 0, 1), (ONE, 1, 0)),
    (on_a_stream(fill_discrete_laplace), ValueError, "2\\^52", (ONE, 2**52 + 1, 1), (ONE, 1, 2**52 + 1)),
    (on_a_stream(fill_binomial), ValueError, "same length", (TWO, THREE, HALF)),
    (on_a_stream(fill_binomial), ValueError, "negative", (ONE, -ONE, HALF)),
    (on_a_stream(fill_laplace_sum), ValueError, "at most 62 bits", sum_of(-1, 4), sum_of(1, 63)),
    *((pickle.dumps, TypeError, "cannot be pickled", check_entropy(it)) for it in (None, 0)),
    *((pickle.dumps, TypeError, "cannot be pickled", (check_entropy(0), it)) for it in range(5)),
    (copy.deepcopy, TypeError, "cannot be pickled", check_entropy(0)),
    (pickle.dumps, TypeError, "cannot be pickled", WordStream(check_entropy(0), 4)),
]


@pytest.mark.parametrize(("call", "error", "match", "wrong"), cases(REFUSED))
def test_it_is_refused(call, error, match, wrong):
    with pytest.raises(error, match=match):
        give(call, wrong)
