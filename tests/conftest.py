# SPDX-License-Identifier: BSD-3-Clause
"""Settings of the whole suite; statistics and scripted entropy for the tests of noise and randomizers."""

import os

# Set before numpy is imported: two workers of pytest-xdist share the machine.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import gc  # noqa: E402
import math  # noqa: E402
from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from scipy import stats  # noqa: E402

# No test asserts a time: an example that meets a busy machine is not a failure.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

# What is collected stays, and the collector would look at all of it again and again: a tenth of the time.
gc.disable()


def pytest_collection_finish(session):
    gc.enable()


def pytest_collection_modifyitems(items):
    for item in items:
        if "assert_fits" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.statistical)


class ScriptedEntropy:
    """Hands out given bytes, then zeros; remembers the requests and the chunks themselves."""

    def __init__(self, script: bytes = b"") -> None:
        self.script = script
        self.requests: list[int] = []
        self.chunks: list[bytes] = []

    def random_bytes(self, n: int) -> bytes:
        chunk = (self.script[:n] + bytes(n))[:n]
        chunk = bytes(bytearray(chunk))  # fresh: the stream overwrites it
        self.script = self.script[n:]
        self.requests.append(n)
        self.chunks.append(chunk)
        return chunk


@pytest.fixture
def scripted_entropy() -> type[ScriptedEntropy]:
    return ScriptedEntropy


@pytest.fixture
def bit_script() -> Callable[[list[tuple[int, int]]], bytes]:
    """Bytes from (value, width) fields, in the order in which a stream reads them."""

    def pack(fields: list[tuple[int, int]]) -> bytes:
        text = "".join(f"{value:0{width}b}"[::-1] for value, width in fields)
        text += "0" * (-len(text) % 64)
        return int(text[::-1], 2).to_bytes(len(text) // 8, "little")

    return pack


class Bits:
    """What a stream hands out from a script, for references: bits, the lowest first, and whole words."""

    def __init__(self, script: bytes) -> None:
        self.words = iter(np.frombuffer(script, dtype="<u8").tolist())
        self.left, self.n_left = 0, 0

    def word(self) -> int:
        return next(self.words)

    def __call__(self, k: int) -> int:
        if k > self.n_left:
            self.left |= self.word() << self.n_left
            self.n_left += 64
        value = self.left & ((1 << k) - 1)
        self.left >>= k
        self.n_left -= k
        return value

    def below(self, n: int) -> int:
        while (value := self((n - 1).bit_length())) >= n:
            pass
        return value

    def bernoulli(self, threshold: int) -> bool:
        head, tail = divmod(threshold, 2**48)
        first = self(16)
        return first < head or (first == head and self(48) < tail)


@pytest.fixture
def bit_reader() -> type[Bits]:
    return Bits


@pytest.fixture
def assert_fits() -> Callable[[str, np.ndarray, np.ndarray], None]:
    """Chi-square test; a right sampler fails with probability 1e-7 (over the choice of the seed)."""

    def check(name: str, counts: np.ndarray, probabilities: np.ndarray) -> None:
        expected = counts.sum() * np.asarray(probabilities, dtype=float)
        assert expected.min() > 10
        assert math.isclose(expected.sum(), counts.sum(), rel_tol=1e-9)
        statistic = float(((counts - expected) ** 2 / expected).sum())
        p_value = stats.chi2.sf(statistic, counts.size - 1)
        print(f"{name}: chi-square {statistic:.1f} on {counts.size - 1} degrees, p = {p_value:.3g}")
        assert p_value > 1e-7

    return check


@pytest.fixture
def epsilon_lower_bound() -> Callable[..., float]:
    """Clopper-Pearson lower bound on epsilon from the counts of one event on two neighbours."""

    from skprivate.audit import epsilon_lower_bound as bound

    return bound


@pytest.fixture
def tenth():
    """What a private run of epsilon 1/10 spent."""
    from tests.accounting.records import spend

    return spend()


@pytest.fixture
def short_searches(monkeypatch):
    """End searches after so many looks in every battery, however slow the machine is."""
    from tests.audit.search_seconds import SEARCHES, FewLooks

    for search in SEARCHES:
        monkeypatch.setattr(search, "Deadline", FewLooks)


@pytest.fixture
def brief_searches(monkeypatch):
    """End searches in every battery after a fraction of a second: estimators that are right need no more."""
    from tests.audit.search_seconds import SEARCH_SECONDS, SHORT

    for seconds in SEARCH_SECONDS:
        for length in seconds:
            monkeypatch.setitem(seconds, length, SHORT)
