# SPDX-License-Identifier: BSD-3-Clause
"""Bugs of kinds that an early battery missed: each is caught by the check that it names.

Nothing here is left to chance but noise that is missing once in a thousand fits: there the draw that decides
is made to be the lowest possible one.
"""

import contextlib
import contextvars
import itertools
import logging
import os
import random
import secrets
import sys
import tempfile
import threading
import time
import unittest
from fractions import Fraction

import numpy as np
import pytest
from numpy.random import bit_generator
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import validate_data

from skprivate import PrivacyLedger, PrivacySpent
from skprivate.audit import AuditCase, check_private_estimator, sensitivity_fuzz
from skprivate.audit._observation.recorder import EXTREME_DRAWS, frozen_randomness, run_within
from skprivate.audit._search import epsilon_of_gaussians
from skprivate.base import SHARED_CONSTRAINTS, PrivateEstimatorMixin, claim_of, private_fit
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
from tests.marks import slow_unless

EPSILON = Fraction(3, 2)
pytestmark = pytest.mark.usefixtures("short_searches")


class DPMean(PrivateEstimatorMixin, BaseEstimator):
    """The noisy mean of all cells of a table within [0, 1]; every step is a place for a bug."""

    _parameter_constraints = {
        **{name: SHARED_CONSTRAINTS[name] for name in ("epsilon", "random_state", "ledger")},
        "bounds": [tuple],
    }
    steps = 2**16

    def __init__(self, epsilon=EPSILON, *, bounds=(0, 1), random_state=None, ledger=None):
        self.epsilon, self.bounds = epsilon, bounds
        self.random_state, self.ledger = random_state, ledger

    @private_fit
    def fit(self, X, y=None):
        X = validate_data(self, X, dtype=np.float64)
        self.rows_ = values = np.clip(X, *self.bounds).mean(axis=1)
        entropy = check_entropy(self.random_state)
        mechanism = DiscreteLaplaceMechanism(self.epsilon, self.steps)
        spent = PrivacySpent(
            mechanism="discrete Laplace",
            epsilon=mechanism.epsilon,
            relation="replace-one",
            sensitivity=self.steps,
            noise_scale=mechanism.scale,
            noise_source=entropy.source,
            deployment="curator",
            unprotected={"rows": len(X)},
            **claim_of((), entropy.source),
        )
        self.pay(spent, values)
        self.keep(values)
        self.entropy_ = entropy
        exact = np.rint(self.exact(values) * self.steps).astype(np.int64)
        self.mean_ = float(self.add_noise(exact, mechanism)[0]) / self.steps / len(X)
        self.privacy_spent_ = spent
        del self.rows_, self.entropy_
        return self

    def pay(self, spent, values):
        self.charge(spent)

    def keep(self, values):
        """Nothing."""

    def exact(self, values):
        return np.array([values.sum()])

    def add_noise(self, exact, mechanism):
        return mechanism.randomize(exact, self.entropy_)


class CentredByTheMedian(DPMean):
    """Where half of the rows lie at either end, one row moves all of them."""

    def exact(self, values):
        return np.array([np.clip(values - np.median(values), -0.25, 0.25).sum()])


class ClippedAtAQuantile(DPMean):
    def exact(self, values):
        return np.array([np.minimum(values, np.quantile(values, 0.9)).sum()])


class LargestInside(DPMean):
    """The maximum of what a row adds lies inside the domain, and the sensitivity is that of its ends."""

    def exact(self, values):
        return np.array([(values + 3 * np.where(np.abs(values - 0.37) < 0.05, 1, 0)).sum()])


class RedrawnUntilInRange(DPMean):
    def add_noise(self, exact, mechanism):
        noisy = mechanism.randomize(exact, self.entropy_)
        while not 0 <= noisy[0] <= len(self.rows_) * self.steps:
            noisy = mechanism.randomize(exact, self.entropy_)
        return noisy


class ExactWhenFarOut(DPMean):
    def add_noise(self, exact, mechanism):
        noisy = mechanism.randomize(exact, self.entropy_)
        return noisy if abs(noisy[0] - exact[0]) < 30 * mechanism.scale else exact


def missing_once_in_a_thousand(draw):
    class Rarely(DPMean):
        def add_noise(self, exact, mechanism):
            return exact if draw() < 1e-3 else mechanism.randomize(exact, self.entropy_)

    return Rarely()


class ExactOnARareValue(DPMean):
    def add_noise(self, exact, mechanism):
        return exact if (self.rows_ == 0.734).any() else mechanism.randomize(exact, self.entropy_)


class SumInRepr(DPMean):
    def keep(self, values):
        type(self).total = values.sum()

    def __repr__(self):
        return f"SumInRepr(sum={self.total})"


class SumInPickle(DPMean):
    total = None

    def keep(self, values):
        type(self).total = float(values.sum())

    def __getstate__(self):
        return {**super().__getstate__(), "sum": type(self).total}


class SumInClone(DPMean):
    total = None

    def keep(self, values):
        type(self).total = float(values.sum())

    def __sklearn_clone__(self):
        copy = super().__sklearn_clone__()
        copy.sum = type(self).total
        return copy


class SumInNames(DPMean):
    total = None

    def keep(self, values):
        type(self).total = float(values.sum())

    def get_feature_names_out(self, input_features=None):
        return np.array([f"mean_{type(self).total}"], dtype=object)


class RowsInAClass(DPMean):
    seen = []

    def keep(self, values):
        self.seen.append(values.copy())


class SumInAModule(DPMean):
    def keep(self, values):
        TOTALS.append(float(values.sum()))


class RowsInAFile(DPMean):
    def keep(self, values):
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            np.save(file, values)


class SumInAFile(DPMean):
    def keep(self, values):
        with open(f"{tempfile.gettempdir()}/{time.time_ns()}.log", "w") as file:
            file.write(f"{values.sum():.3f}")


class Socket(DPMean):
    def keep(self, values):
        import socket

        with socket.socket(socket.AF_UNIX) as one:
            one.connect_ex("/nowhere/at/all")


class SumInTheLedger(DPMean):
    def pay(self, spent, values):
        if self.ledger is not None:
            with self.ledger.label(f"run {values.sum():.3f}"):
                self.charge(spent)


class ExactFitTransform(DPMean):
    def transform(self, X):
        return np.asarray(X) - self.mean_

    def fit_transform(self, X, y=None):
        self.fit(X)
        return np.asarray(X) - np.asarray(X).mean()


class RightAtOneEpsilon(DPMean):
    """A scale that is rounded: right at 3/2, too small at others."""

    def add_noise(self, exact, mechanism):
        scale = self.steps * Fraction(round(6 / self.epsilon), 6)
        return DiscreteLaplaceMechanism.from_scale(max(scale, 1)).randomize(exact, self.entropy_)


class RightForTwoColumns(DPMean):
    def exact(self, values):
        return np.array([values.sum() * max(1, self.n_features_in_ / 2)])


class WithinThirtyRows(DPMean):
    def add_noise(self, exact, mechanism):
        enough = len(self.rows_) <= 30
        return mechanism.randomize(exact if enough else 2 * exact, self.entropy_)


class SeededByTheTime(DPMean):
    def add_noise(self, exact, mechanism):
        return mechanism.randomize(exact, np.random.default_rng(time.time_ns()))


class KeepsItsNoise(DPMean):
    def add_noise(self, exact, mechanism):
        if not hasattr(self, "noise_"):
            self.noise_ = mechanism.randomize(np.zeros_like(exact), self.entropy_)
        return exact + self.noise_


class Deaf(DiscreteLaplaceMechanism):
    """Draws twice the noise that it is asked for: half of it is no less than what is claimed."""

    @classmethod
    def from_scale(cls, scale):
        return DiscreteLaplaceMechanism.from_scale(2 * scale)


class DeafToItsScale(DPMean):
    def add_noise(self, exact, mechanism):
        return Deaf(self.epsilon, self.steps).randomize(exact, self.entropy_)


def shown_by(method, text=str):
    """Return an estimator, a method of which shows the exact sum that a module's dict keeps."""

    def show(self, *args, **kwargs):
        shown = text(SHOWN.get("sum"))
        return {"text/plain": shown} if method == "_repr_mimebundle_" else f"<DPMean at {shown}>"

    def keep(self, values):
        SHOWN["sum"] = int(values.sum() * self.steps)

    return type("Shown", (DPMean,), {"keep": keep, method: show, "__module__": __name__})()


def kept_in_a_cell():
    total = None

    class InACell(DPMean):
        def keep(self, values):
            nonlocal total
            total = float(values.sum())

    return InACell()


class SumInADefault(DPMean):
    def keep(self, values, *, sums={}):  # noqa: B006
        sums["last"] = float(values.sum())


class SumInAFunction(DPMean):
    def keep(self, values):
        SumInAFunction.keep.total = float(values.sum())


class SumInAContext(DPMean):
    def keep(self, values):
        CONTEXT.set(float(values.sum()))


class SumInAThread(DPMean):
    def keep(self, values):
        THREAD.total = float(values.sum())


SHOWN = {}
CONTEXT = contextvars.ContextVar("total")
THREAD = threading.local()
TOTALS = []

MISSED_BEFORE = {
    "centred by the median": (CentredByTheMedian(), "check_sensitivity_fuzz"),
    "clipped at a private quantile": (ClippedAtAQuantile(), "check_sensitivity_fuzz"),
    "largest inside the domain": (LargestInside(), "check_sensitivity_fuzz"),
    "redrawn until in range": (RedrawnUntilInRange(), "check_no_redraws"),
    "exact when the noise is far out": (ExactWhenFarOut(), "check_replay"),
    "no noise once in 1000, Python": (missing_once_in_a_thousand(random.random), "check_rare_draws"),
    "no noise once in 1000, NumPy": (
        missing_once_in_a_thousand(np.random.random_sample),
        "check_rare_draws",
    ),
    "no noise once in 1000, a generator": (
        missing_once_in_a_thousand(lambda: np.random.default_rng().random()),
        "check_rare_draws",
    ),
    "no noise once in 1000, the system": (
        missing_once_in_a_thousand(lambda: secrets.randbelow(1000) / 1000),
        "check_rare_draws",
    ),
    "no noise once in 37": (
        missing_once_in_a_thousand(itertools.cycle([*[1] * 36, 0]).__next__),
        "check_many_fits",
    ),
    "exact on a rare value": (ExactOnARareValue(), "check_replay"),
    "a sum in the repr": (SumInRepr(), "check_views"),
    **{
        f"a sum of a dict, {method}": (shown_by(method), "check_views")
        for method in ("__repr__", "__str__", "__format__", "_repr_html_", "_repr_mimebundle_")
    },
    "a sum like an address": (shown_by("__repr__", hex), "check_views"),
    "a sum in a class": (SumInClone(), "check_process"),
    "a sum in a cell": (kept_in_a_cell(), "check_process"),
    "a sum in a default": (SumInADefault(), "check_process"),
    "a sum in a function": (SumInAFunction(), "check_process"),
    "a sum in a context": (SumInAContext(), "check_process"),
    "a sum in a thread": (SumInAThread(), "check_process"),
    "a sum in the pickle": (SumInPickle(), "check_views"),
    "a sum in the clone": (SumInClone(), "check_views"),
    "a sum in the names of columns": (SumInNames(), "check_views"),
    "rows in a class": (RowsInAClass(), "check_process"),
    "rows that survive in a class": (RowsInAClass(), "check_nothing_survives"),
    "a sum in a module": (SumInAModule(), "check_process"),
    "rows in a temporary file": (RowsInAFile(), "check_files"),
    "a sum in a file": (SumInAFile(), "check_files"),
    "a socket": (Socket(), "check_files"),
    "a sum in the ledger": (SumInTheLedger(), "check_ledger_entries"),
    "fit_transform without noise": (ExactFitTransform(), "check_fit_then_use"),
    "a scale that is right at one epsilon": (RightAtOneEpsilon(), "check_other_epsilons"),
    "a sensitivity for two columns": (RightForTwoColumns(), "check_other_tables"),
    "a sensitivity for thirty rows": (WithinThirtyRows(), "check_other_tables"),
    "a seed of the clock": (SeededByTheTime(), "check_noise_is_fresh"),
    "deaf to the scale": (DeafToItsScale(), "check_audit_catches_half_the_noise"),
    "noise for zeros": (KeepsItsNoise(), "check_noise_meets_values"),
}


#: One of a kind is enough for a quick look.
MORE_OF_A_KIND = {
    *(f"a sum of a dict, {method}" for method in ("__str__", "__format__", "_repr_mimebundle_")),
    *(f"a sum in a {place}" for place in ("cell", "default", "function", "context")),
    *(f"no noise once in 1000, {source}" for source in ("NumPy", "a generator")),
    "a sum like an address",
}


@pytest.mark.parametrize("bug", slow_unless(MISSED_BEFORE.keys() - MORE_OF_A_KIND, MISSED_BEFORE))
def test_it_is_caught_by_name(bug, assert_caught):
    assert_caught(__name__, "MISSED_BEFORE", bug)


@pytest.mark.parametrize("bug", ["no noise once in 1000, the system", "exact on a rare value"])
def test_the_old_ways_do_not_see_it(bug):
    """Else the tests above would not show what they are there for."""
    case = AuditCase.of(MISSED_BEFORE[bug][0])
    models = [case.record(k)[1] for k in range(len(case.data_sets))]
    assert all(recording.releases for recording in models)


@pytest.mark.slow
class TestHonestAndUnusual:
    class Unusual(DPMean):
        """Times, names drawn at random, a counter on the class, a public cache, a public line in a log."""

        n_fits = 0

        def keep(self, values):
            type(self).n_fits += 1
            self.fitted_at_ = time.time()
            self.run_ = secrets.token_hex(8)
            self.address_ = id(self)
            print(f"fitted {self.run_} at {self.fitted_at_}")

    def test_is_not_reported(self):
        results = check_private_estimator(self.Unusual(), on_fail=None)
        assert {one["check_name"]: one["reason"] for one in results if one["status"] == "failed"} == {}

    def test_the_plain_one_neither(self):
        results = check_private_estimator(DPMean(), on_fail=None)
        assert {one["check_name"]: one["reason"] for one in results if one["status"] == "failed"} == {}


class Hangs(DPMean):
    def keep(self, values):
        while True:
            time.sleep(0.01)


class HangsOnSomeRows(DPMean):
    def keep(self, values):
        while (values == values[0]).all():
            time.sleep(0.01)


class Raises(DPMean):
    def keep(self, values):
        raise RuntimeError("out of luck")


class NeedsGroups(DPMean):
    def fit(self, X, y=None, *, groups):
        return super().fit(X, y)


class TestWhatCannotBeChecked:
    def failures(self, estimator, **options):
        results = check_private_estimator(estimator, on_fail=None, **options)
        assert not any(one["status"] == "passed" for one in results[1:]) or "time_limit" in options
        return {one["check_name"]: one["reason"] for one in results if one["status"] == "failed"}

    def test_a_fit_that_raises(self):
        reason = self.failures(Raises())["check_fit"]
        assert reason == "fit raises on rows within the declared domain: RuntimeError: out of luck"

    def test_a_fit_that_hangs(self):
        with pytest.raises(TimeoutError, match=r"has not ended within 0.2 seconds: a fit hangs"):
            check_private_estimator(Hangs(), time_limit=0.2)

    def test_a_fit_that_hangs_on_some_rows(self):
        failures = self.failures(HangsOnSomeRows(), time_limit=2.0)
        assert list(failures) == ["check_sensitivity_fuzz"]
        assert failures["check_sensitivity_fuzz"].startswith(
            "TimeoutError: it has not ended within 2 seconds"
        )
        # What had been replaced meanwhile is put back: other fits are recorded, and noise is fresh.
        assert secrets.token_hex(8) != secrets.token_hex(8)
        assert check_private_estimator(DPMean(), only=["check_replay"])[0]["status"] == "passed"

    def test_a_fit_that_needs_more(self):
        reason = self.failures(NeedsGroups())["check_fit"]
        assert reason.startswith("NeedsGroups.fit needs groups: pass data that hold them")

    def test_no_claim(self):
        with pytest.raises(
            AssertionError, match=r"^check_privacy_spent: LinearRegression has no privacy_spent_"
        ):
            check_private_estimator(LinearRegression())

    def test_no_estimator(self):
        class OnlyFits:
            def fit(self, X):
                return self

        with pytest.raises(TypeError, match="must be an unfitted estimator, not OnlyFits"):
            check_private_estimator(OnlyFits())

    @pytest.mark.parametrize("limit", [0, -1.0, float("nan")])
    def test_no_limit(self, limit):
        with pytest.raises(ValueError, match="time_limit must be a positive number"):
            check_private_estimator(DPMean(), time_limit=limit)

    def test_errors_and_configurations_pass_through_the_thread(self):
        import sklearn

        import skprivate

        with sklearn.config_context(enable_metadata_routing=True), skprivate.config_context(strict=True):
            seen = run_within(5, lambda: (sklearn.get_config(), skprivate.get_config()))
        assert seen[0]["enable_metadata_routing"]
        assert seen[1]["strict"]
        with pytest.raises(KeyError, match="here"):
            run_within(5, lambda: {}["here"])


class EndsTheProgram(DPMean):
    def keep(self, values):
        if not hasattr(type(self), "calls"):
            type(self).calls = 0
        type(self).calls += 1
        if type(self).calls > 3:
            sys.exit(0)


class SkipsItself(DPMean):
    def keep(self, values):
        if len(np.unique(values)) == 1:
            raise unittest.SkipTest("not today")


class SwallowsEverything(DPMean):
    def keep(self, values):
        while (values == values[0]).all() and len(values) > 3:
            with contextlib.suppress(BaseException):
                time.sleep(0.01)


@pytest.mark.slow
class TestTheProgramAround:
    """A battery leaves the process as it was: nobody else's noise can be foretold, no budget is spent."""

    def test_what_ends_the_program_is_a_failure(self):
        result = check_private_estimator(EndsTheProgram(), only=["check_sensitivity_fuzz"], on_fail=None)[0]
        assert result["status"] == "failed"
        assert "SystemExit, which stops whole programs" in result["reason"]

    def test_an_estimator_does_not_skip_checks(self):
        case = AuditCase(estimator=SkipsItself(), data_sets=({"X": np.ones((9, 2))}, {"X": np.zeros((9, 2))}))
        result = check_private_estimator(case, only=["check_only_released_values_differ"], on_fail=None)[0]
        assert result["status"] == "failed"
        assert "no estimator decides which checks apply" in result["reason"]

    def test_who_swallows_the_end_replaces_nothing_any_more(self):
        before = sys.stdout, logging.getLogger().level, os.urandom
        results = check_private_estimator(
            SwallowsEverything(),
            only=["check_replay", "check_sensitivity_fuzz"],
            time_limit=1.0,
            on_fail=None,
        )
        assert [one["status"] for one in results] == ["failed", "skipped"]
        for _ in range(20):
            assert before == (sys.stdout, logging.getLogger().level, os.urandom)
            time.sleep(0.01)

    def test_two_batteries_at_once(self):
        before = os.urandom, bit_generator.randbits, random.getstate()
        found = []

        def audit():
            only = ["check_sensitivity_fuzz", "check_replay"]
            found.extend(one["status"] for one in check_private_estimator(DPMean(), only=only, on_fail=None))

        threads = [threading.Thread(target=audit) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == ["passed"] * 4
        assert before == (os.urandom, bit_generator.randbits, random.getstate())

    def test_a_ledger_inside_a_pipeline_is_not_charged(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "real.ledger")
        pipe = make_pipeline(FunctionTransformer(), DPMean(ledger=ledger))
        check_private_estimator(pipe, only=["check_replay", "check_same_branches"], on_fail=None)
        assert ledger.entries() == []

    def test_a_generator_that_a_first_fit_makes_is_not_made_repeatable(self):
        class Lazy(DPMean):
            generator = None

            def keep(self, values):
                if type(self).generator is None:
                    type(self).generator = np.random.default_rng()

        seen = []
        for _ in range(2):
            Lazy.generator = None
            sensitivity_fuzz(Lazy())
            seen.append(Lazy.generator.bytes(8))
        assert seen[0] != seen[1]

    def test_few_fits_are_no_pass(self):
        class Slow(DPMean):
            def add_noise(self, exact, mechanism):
                return exact + mechanism.randomize(np.zeros_like(exact), self.entropy_) // 3

        case = AuditCase.of(Slow(), n_trials=110)
        result = check_private_estimator(case, only=["check_epsilon_of_whole_fits"], on_fail=None)[0]
        assert result["status"] == "too weak"
        assert "do not show noise of half the scale" in result["reason"]


def test_weights_between_zero_and_one_of_added_rows_pass():
    class Weighted(DPMean):
        def fit(self, X, y=None, sample_weight=None):
            self.weight_ = np.ones(len(X)) if sample_weight is None else np.clip(sample_weight, 0, 1)
            super().fit(X)
            del self.weight_
            return self

        def exact(self, values):
            return np.array([(values * self.weight_).sum()])

    result = check_private_estimator(Weighted(), only=["check_sample_weight"])[0]
    assert result["status"] == "passed"


def test_noise_that_is_added_outside_is_judged_from_outside():
    """Zeros meet the recorded noise: what is released is not recorded, and no sum is called exact."""

    class Apart(DPMean):
        def add_noise(self, exact, mechanism):
            return exact + mechanism.randomize(np.zeros_like(exact), self.entropy_)

    results = check_private_estimator(
        AuditCase.of(Apart()),
        only=["check_sensitivity_fuzz", "check_replay", "check_noise_meets_values"],
        on_fail=None,
    )
    assert [one["status"] for one in results] == ["skipped", "skipped", "failed"]
    assert "pass them the exact values" in results[0]["reason"]


def test_the_epsilon_of_gaussian_noise_counts_with_its_delta():
    # Balle and Wang's curve, at epsilon mu^2 / 2, where its first term is 1/2.
    delta = norm.cdf(0) - np.exp(0.5) * norm.cdf(-1)
    assert epsilon_of_gaussians(1.0, float(delta)) == pytest.approx(0.5, rel=1e-5)
    assert epsilon_of_gaussians(0.0, 1e-6) == 0


@pytest.mark.slow
def test_a_thorough_battery_audits_whole_fits():
    case = AuditCase.of(DPMean(), n_trials=1000)
    only = ["check_epsilon_of_whole_fits"]
    plain, thorough = (check_private_estimator(case, only=only, thorough=it)[0] for it in (False, True))
    assert plain["status"] == "skipped"
    assert thorough["status"] == "passed"


class TestRandomness:
    def test_other_threads_read_the_real_bytes(self):
        """A service may fit in another thread while the battery runs: its noise must stay a secret."""
        seen = []
        with frozen_randomness(1):
            mine = [os.urandom(8), np.random.default_rng().bytes(8), secrets.token_bytes(8)]
            thread = threading.Thread(
                target=lambda: seen.extend(
                    [os.urandom(8), np.random.default_rng().bytes(8), secrets.token_bytes(8)]
                )
            )
            thread.start()
            thread.join()
        with frozen_randomness(1):
            again = [os.urandom(8), np.random.default_rng().bytes(8), secrets.token_bytes(8)]
        assert mine == again
        assert not set(mine) & set(seen)
        with frozen_randomness(1):
            assert os.urandom(8) == mine[0]
        assert os.urandom(8) not in mine

    def test_everything_is_put_back(self):
        before = os.urandom, random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
        with pytest.raises(KeyError), frozen_randomness(1, "highest 2"):
            raise KeyError
        assert before == (os.urandom, random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002

    @pytest.mark.parametrize("extreme", EXTREME_DRAWS)
    def test_extremes(self, extreme):
        end, which = extreme.split()
        with frozen_randomness(extreme=extreme):
            draws = [random.random(), np.random.default_rng().random(4)[int(which)]]
        distance = [draw if end == "lowest" else 1 - draw for draw in draws]
        assert max(distance) < 1e-3
