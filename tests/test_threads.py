# SPDX-License-Identifier: BSD-3-Clause
"""Threads that fit, predict and draw noise at once get what one alone gets, with the GIL or without."""

import itertools
import os
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import skprivate
from skprivate import DPTreeClassifier, PrivacyLedger
from skprivate.exceptions import BudgetExceededError
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
from skprivate.noise._sampling_kernels import fill_bits
from skprivate.noise._stream_kernels import WordStream
from tests.catalogue import INSTANCES, ONE_OF_EACH, SHALLOW, arguments
from tests.marks import slow_unless

TOP = Path(skprivate.__file__).parent
KERNELS = sorted(
    ".".join(path.relative_to(TOP.parent).with_suffix("").parts) for path in TOP.rglob("*_kernels.pyx")
)
N_THREADS = 8
# Searches draw how many runs they make from the operating system; secure sums need cryptography, and have
# tests of their own.
REPEATABLE = [name for name in INSTANCES if "search" not in name and "secure sum" not in name]


def at_once(function, *arguments):
    """Return what every thread gets; all call the function at the same time."""
    barrier = threading.Barrier(N_THREADS)

    def call(_):
        barrier.wait()
        return function(*arguments)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(call, range(N_THREADS)))


# The GIL


@pytest.mark.process
@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")
def test_no_kernel_turns_the_gil_on():
    imports = "; ".join(f"import {name}" for name in ("skprivate", *KERNELS))
    code = f"{imports}; from skprivate import *; import sys; print(sys._is_gil_enabled())"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    # Python warns when it turns the GIL on.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == ("False", "")
    assert len(KERNELS) > 10


# Results


def seeded(name):
    estimator = clone(INSTANCES[name].estimator)
    seeds = [key for key in estimator.get_params() if key.rpartition("__")[2] == "random_state"]
    return estimator.set_params(**dict.fromkeys(seeds, 0))


def results(fitted, X):
    if X is None:
        return [fitted.strategies_]
    found = [getattr(fitted, name, None) for name in ("predict", "predict_proba", "transform")]
    return [method(X) for method in found if method is not None]


def fit_and_use(name, rows):
    return results(seeded(name).fit(**rows), rows.get("X"))


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.DisclosureWarning")
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("name", slow_unless(ONE_OF_EACH, REPEATABLE))
def test_fits_in_threads_are_those_of_one_thread(name):
    rows = arguments(INSTANCES[name], n=240)
    alone = fit_and_use(name, rows)
    for found in at_once(fit_and_use, name, rows):
        np.testing.assert_equal(found, alone)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.DisclosureWarning")
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("name", slow_unless(ONE_OF_EACH, REPEATABLE))
def test_threads_share_a_fitted_estimator_while_another_fits_it_again(name):
    rows = arguments(INSTANCES[name], n=240)
    X = rows.get("X")
    fitted = seeded(name).fit(**rows)
    alone, turn = results(fitted, X), itertools.count()

    def use():
        # The same rows and seed: the second fit gives what the first gave.
        return results(fitted if next(turn) % N_THREADS else fitted.fit(**rows), X)

    for found in at_once(use):
        np.testing.assert_equal(found, alone)


# Noise


class Counted:
    """Hands out the words 0, 1, 2, ...; a word that is drawn twice, or not at all, shows."""

    private = True

    def __init__(self):
        self.first, self.lock = 0, threading.Lock()

    def random_bytes(self, n):
        with self.lock:
            first, self.first = self.first, self.first + n // 8
        return np.arange(first, first + n // 8, dtype="<u8").tobytes()


def draw_words(entropy, n_words, n_calls):
    drawn = np.empty((n_calls, n_words), dtype=np.uint64)
    for out in drawn:
        with WordStream(entropy, n_words) as stream:
            fill_bits(out, 64, stream)
    return drawn


@pytest.mark.parametrize("n_words", [5, 1000, 20_000])
def test_every_word_of_a_source_that_threads_share_is_drawn_once(n_words):
    entropy, n_calls = Counted(), 40_000 // n_words
    drawn = np.concatenate(at_once(draw_words, entropy, n_words, n_calls), axis=None)
    np.testing.assert_array_equal(np.sort(drawn), np.arange(N_THREADS * n_calls * n_words))
    assert entropy.first == drawn.size


def test_no_word_of_the_operating_system_comes_twice():
    # 2^16 words of 64 bits: two right ones are equal with probability below 2^-33.
    drawn = np.concatenate(at_once(draw_words, check_entropy(None), 512, 16), axis=None)
    assert len(np.unique(drawn)) == drawn.size == 2**16


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_threads_that_share_a_seeded_generator_divide_its_stream(make):
    n_calls = 200
    entropy, again = check_entropy(make(0)), check_entropy(make(0))
    drawn = at_once(lambda: [entropy.random_bytes(64) for _ in range(n_calls)])
    alone = [again.random_bytes(64) for _ in range(N_THREADS * n_calls)]
    assert sorted(itertools.chain(*drawn)) == sorted(alone)


def test_one_mechanism_draws_other_noise_in_every_thread():
    mechanism = DiscreteLaplaceMechanism(epsilon=2**-40)
    noise = at_once(lambda: mechanism.randomize(np.zeros(64, dtype=np.int64)).tobytes())
    assert len(set(noise)) == N_THREADS


# Accounts


def test_fits_in_threads_do_not_overspend_a_ledger(tmp_path):
    rows = arguments(INSTANCES["central"], n=240)
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=5 * SHALLOW["epsilon"])

    def fit():
        try:
            DPTreeClassifier(**SHALLOW, ledger=ledger).fit(**rows)
        except BudgetExceededError:
            return False
        return True

    assert sum(at_once(fit)) == 5
    assert len(ledger.entries()) == 5
    assert ledger.remaining()[0] == 0
