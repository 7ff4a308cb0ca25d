# SPDX-License-Identifier: BSD-3-Clause
"""The battery on every estimator of the suite, with what it may skip, and why.

Checks that count are run at 1 - 1e-9 and, where the noise can be seeded, with fixed seeds; those that repeat
unseeded fits stop at 1e-9. A right suite fails one of them with a probability below 1e-6.
"""

import contextlib
import importlib
import json
import re
import subprocess
import sys
from pkgutil import iter_modules
from unittest import SkipTest, mock

import numpy as np
import pytest

from skprivate import (
    DPLogisticRegression,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivateNashSolver,
    QuadraticAggregativeGame,
)
from skprivate.audit import AuditCase, _battery, check_private_estimator, parametrize_with_private_checks
from skprivate.audit._battery.battery import CHECKS
from skprivate.audit._observation.recorder import Recording
from skprivate.base import PrivateEstimatorMixin
from skprivate.games._rounds import SolverState
from skprivate.noise import DiscreteLaplaceMechanism
from tests.catalogue import INSTANCES, OF_EVERY_INSTANCE, ONE_OF_EACH, arguments, public_estimators
from tests.marks import slow, slow_unless

pytestmark = pytest.mark.usefixtures("brief_searches")
# Whole fits are counted if the battery is thorough, and where noise is not recorded.
X = np.zeros((24, 2))

ALWAYS = {"check_epsilon_of_whole_fits", "check_partial_fit_spends"}
LOCAL = {"check_noise_variance"}
REGRESSOR = {"check_labels_outside_the_classes"}
BY_RHO = REGRESSOR | {"check_low_bits"}
GROUPS = {"check_large_epsilon"}

RECORDING = {
    "check_releases",
    "check_releases_show_half_the_noise",
    "check_replay",
    "check_same_branches",
    "check_noise_variance",
    "check_no_redraws",
    "check_rare_draws",
    "check_many_fits",
    "check_fit_then_use",
    "check_ledger_entries",
    "check_refits_draw_again",
    "check_other_epsilons",
    "check_other_tables",
}
# What is drawn for the losers is dropped, so that no recording tells what is released; the audit of whole
# searches is in tests/model_selection/test_private_search_audit.py.
SEARCH = {
    "check_releases",
    "check_releases_show_half_the_noise",
    "check_refits_draw_again",
    "check_other_epsilons",
    "check_other_tables",
    "check_sensitivity_fuzz",
    "check_replay",
    "check_noise_meets_values",
    "check_no_redraws",
    "check_rare_draws",
    "check_many_fits",
    "check_fit_then_use",
    "check_same_branches",
    "check_noise_variance",
    "check_epsilon_audit",
    "check_audit_catches_half_the_noise",
    "check_low_bits",
    "check_large_epsilon",
}
EPSILON = {
    "check_sensitivity_fuzz",
    "check_number_of_rows",
    "check_epsilon_audit",
    "check_audit_catches_half_the_noise",
    "check_epsilon_of_whole_fits",
    "check_low_bits",
    "check_large_epsilon",
    "check_noise_is_fresh",
    "check_copies_repeat_nothing",
    "check_fork_repeats_nothing",
    "check_seeded_fit_is_not_private",
    "check_refit_spends_again",
    "check_ledger_total",
}
NO_NOISE = RECORDING | EPSILON | {"check_labels_outside_the_classes", "check_released_values_on_grid"}
HOLDS_ROWS = NO_NOISE | {
    "check_only_released_values_differ",
    "check_domain_is_declared",
    "check_pipeline_steps",
    "check_views",
    "check_process",
    "check_files",
    "check_nothing_survives",
}
LABELS_ONLY = {"check_nothing_survives"}

#: Name of an instance -> checks that are skipped.
SKIPPED = {
    **{name: LOCAL for name in INSTANCES if name.startswith("tree")},
    **{name: LOCAL | REGRESSOR for name in INSTANCES if name.startswith("tree of numbers")},
    "tree, labels": LOCAL | LABELS_ONLY,
    "tree, persons": LOCAL | GROUPS,
    "tree of numbers, targets": LOCAL | REGRESSOR | LABELS_ONLY,
    "tree of numbers, persons": LOCAL | REGRESSOR | GROUPS,
    **{name: set() for name in INSTANCES if name.startswith("central")},
    "central, persons": GROUPS,
    "declared columns, central": set(),
    **{name: REGRESSOR for name in INSTANCES if "central, numbers" in name},
    "central, numbers, persons": REGRESSOR | GROUPS,
    **{name: set() for name in INSTANCES if "boosting" in name},
    "boosting, gaussian, add-remove": {"check_low_bits"},
    "boosting, persons": GROUPS,
    **dict.fromkeys(("boosting, numbers", "declared columns, boosting, numbers"), REGRESSOR),
    "boosting, numbers, gaussian, monotone": REGRESSOR | {"check_low_bits", "check_other_tables"},
    **{name: REGRESSOR for name in INSTANCES if name.startswith(("sev", "logistic", "normal", "aft"))},
    "declared columns, sev": REGRESSOR,
    "logistic, gaussian": BY_RHO,
    "logit": set(),
    "logit, gaussian": BY_RHO - REGRESSOR,
    "logit, three classes, persons": (BY_RHO - REGRESSOR) | GROUPS,
    "declared columns, logit": set(),
    "normal, persons": REGRESSOR | GROUPS,
    "aft, censored, gaussian, persons": BY_RHO | GROUPS,
    **dict.fromkeys(("label", "label, boosting, public rows", "label, three classes"), LOCAL | LABELS_ONLY),
    "label, persons": LOCAL | LABELS_ONLY | GROUPS,
    "label, numbers": REGRESSOR | LABELS_ONLY,
    "label, numbers, persons": REGRESSOR | LABELS_ONLY | GROUPS,
    "search": SEARCH,
    "search, persons, label": SEARCH | LABELS_ONLY,
    **dict.fromkeys(
        ("tqma", "bounds scaler", "swapping", "secure sum", "declared columns, encoder"), NO_NOISE
    ),
    **dict.fromkeys(
        ("local average, gaussian", "platform", "platform, preset", "platform, classes"), HOLDS_ROWS
    ),
}
# The moments of many columns share epsilon: no number of a fit loses enough. Splits of numbers at the second
# level, rounds of which no row is the worst case of both parts, mean predictions, which are seldom at their
# cap, and counts by level are left to `tests.test_whole_budget`.
TOO_WEAK_HERE = {
    "normal, persons": {"check_audit_catches_half_the_noise"},
    "declared columns, logit": {"check_audit_catches_half_the_noise"},
    "central, numbers": {"check_releases_show_half_the_noise"},
    "central, numbers, persons": {"check_releases_show_half_the_noise"},
    "aft": {"check_releases_show_half_the_noise"},
    "aft, censored": {"check_releases_show_half_the_noise"},
    "aft, censored, gaussian, persons": {"check_releases_show_half_the_noise"},
    "aft, censored, scale by level": {"check_releases_show_half_the_noise"},
    **{name: {"check_releases_show_half_the_noise"} for name in INSTANCES if "boosting" in name},
    "logit, gaussian": {"check_releases_show_half_the_noise"},
    # Searches as long as a user's see enough; these short ones do by luck.
    "logit": {"check_releases_show_half_the_noise"},
    "logistic, add-remove": {"check_releases_show_half_the_noise"},
}
#: The README runs the whole battery on a tree.
QUICK = {"tqma"}
#: Their releases come from code that others run: the randomizers are in trees of three classes,
#: declared columns in instances with persons.
SAME_WAY = {
    *(
        f"tree{kind}, {name}"
        for kind in ("", " of numbers")
        for name in ("hadamard", "krr", "subset", "unary")
    ),
    *("declared columns, central", "declared columns, sev", "declared columns, logit"),
    "label, numbers, persons",
}
#: Presets of a class that other instances of it stand for.
PRESETS = {"sev", "normal"}
EXPECTED_FAILURES = {
    "boosting, public model": dict.fromkeys(
        ("check_ledger_total", "check_pipeline_steps"), "they fit rows of which none is public"
    ),
    "central, numbers, public model": dict.fromkeys(
        ("check_ledger_total", "check_pipeline_steps"), "they fit rows of which none is public"
    ),
    **{
        key: {"check_large_epsilon": "targets are rounded at random, whatever epsilon is"}
        for key in ("tree of numbers, public rows", "tree of numbers, two phases")
    },
    "platform, classes": {
        "check_labels_outside_the_classes": "classes_ are those of all sites together, as its docs say"
    },
}


def test_every_private_estimator_is_there():
    private = {one for one in public_estimators() if issubclass(one, PrivateEstimatorMixin)}
    assert len(private) >= 15
    # The solver's rows are players: it has a test of its own below.
    assert private <= {type(INSTANCES[name].estimator) for name in SKIPPED} | {PrivateNashSolver}


def case_of(name, n_trials=0):
    """The case of an instance: the battery makes plain rows itself."""
    instance = INSTANCES[name]
    data = None
    if instance.beside == "sites":
        # Every site has the same rows, so that no answer depends on who is active.
        data = arguments(instance, 30)
        data |= {key: np.tile(data[key][:6], (5, 1)[: data[key].ndim]) for key in ("X", "y")}
    elif instance.beside or instance.target in ("life", "spans") or name.startswith("local average"):
        data = arguments(instance)
    return AuditCase.of(instance.estimator, data, n_trials=n_trials)


def run_battery(name, n_trials=0, **options):
    """Return the battery's results without estimators, and whether its case is more than a table X, y."""
    case = case_of(name, n_trials)
    expected = EXPECTED_FAILURES.get(name, {})
    results = check_private_estimator(case, expected_failed_checks=expected, on_fail=None, **options)
    has_more = case.relation == "add-remove" or bool(set(case.data_sets[0]) - {"X", "y"})
    return [{**one, "estimator": None} for one in results], has_more


# Of a tree that pays for splits, or a regression of several rounds, few fits show no noise of half the scale:
# each release has a part of epsilon. Whole regressions of one release, and with half their noise, are
# counted in `tests.linear_model.test_linear_model_audit`.
@pytest.mark.slow
def test_whole_fits_are_counted_a_thousand_times(lean_process):
    results, _ = lean_process(
        run_battery, "tree, public rows", 1000, only=["check_epsilon_of_whole_fits"], thorough=True
    )
    assert results[0]["status"] == "passed"


@pytest.mark.parametrize("name", slow_unless(QUICK, [name for name in SKIPPED if name not in SAME_WAY]))
def test_every_check_passes(name, lean_process):
    skipped, expected = SKIPPED[name] | ALWAYS, EXPECTED_FAILURES.get(name, {})
    checks = {check.__name__ for check in CHECKS}
    if name not in ONE_OF_EACH or name in PRESETS:
        checks &= OF_EVERY_INSTANCE | set(expected)
    results, has_more = lean_process(run_battery, name, only=sorted(checks))
    by_status = {
        status: {one["check_name"]: one["reason"] for one in results if one["status"] == status}
        for status in ("failed", "skipped", "xfail", "too weak")
    }
    print(f"{name}: {len(results)} checks, {sum(one['seconds'] for one in results):.1f} s")
    assert by_status["failed"] == {}
    assert set(by_status["xfail"]) == set(expected)
    if has_more:
        skipped = skipped | {"check_other_tables"}
    if not name.startswith("search"):
        skipped = skipped | {"check_runs_of_a_search"}
    assert set(by_status["skipped"]) == (skipped & checks) - set(expected)
    # Searches end by the clock: on a fast machine they may see enough.
    assert set(by_status["too weak"]) <= TOO_WEAK_HERE.get(name, set())
    assert all(by_status["skipped"].values())


@contextlib.contextmanager
def record_broadcasts(given_outputs=None):
    """The solver adds its noise round by round: what is recorded are its broadcasts."""
    recording = Recording(given_outputs=given_outputs)
    broadcast = SolverState._broadcast

    def recorded(self, players, grid, k, noise, stream):
        def draw():
            return np.rint(broadcast(self, players, grid, k, noise, stream) * grid.steps).astype(np.int64)

        mechanism = DiscreteLaplaceMechanism.from_scale(int(grid.scales[k]))
        sent = np.trunc(players.private_part * grid.steps) + np.trunc(players.public_part * grid.steps)
        return recording.record_call(mechanism, sent.astype(np.int64), draw) / grid.steps

    with mock.patch.object(SolverState, "_broadcast", recorded):
        yield recording


def game_with(r):
    """A game in which the private vector of the first player is given."""
    others = np.array([[0.1, 0.0], [0.4, -0.2], [0.9, 0.5]])
    return QuadraticAggregativeGame(P=1.0, Q=0.5, r=np.vstack([r, others]), r_bounds=(-1, 1))


def test_the_solver_of_games():
    """Its rows are the players; its object stays with them, and its broadcasts are what leaves."""
    corners = [(1, 1), (-1, -1), (1, -1), (-1, 1), (0, 0)]
    solver = PrivateNashSolver(max_iter=3, noise_scale=0.75, step_size=0.1, store="observations")
    case = AuditCase(
        estimator=solver,
        data_sets=tuple({"game": game_with(np.array(r, dtype=float))} for r in corners),
        released=lambda fitted: fitted.observations_,
        recorder=record_broadcasts,
    )
    results = check_private_estimator(case, on_fail=None)
    told = {one["check_name"]: (one["status"], one["reason"]) for one in results}
    print({name: one for name, one in told.items() if one[0] != "passed"})
    assert {name for name, (status, _) in told.items() if status == "failed"} == set()
    assert {name for name, (status, _) in told.items() if status == "skipped"} == {
        "check_runs_of_a_search",
        "check_large_epsilon",
        "check_epsilon_of_whole_fits",
        "check_ledger_total",
        "check_labels_outside_the_classes",
        "check_missing_values",
        "check_number_of_rows",
        "check_pipeline_steps",
        "check_sentinels",
        "check_views",
        "check_process",
        "check_files",
        "check_nothing_survives",
        "check_fit_then_use",
        "check_other_epsilons",
        "check_other_tables",
    }


SMALL = DPTreeClassifier(epsilon=1.5, max_depth=1, bounds=(0, 1), classes=[0, 1])


HALF = "check_audit_catches_half_the_noise"
TREE = {"max_depth": 1, "bounds": (0, 1), "classes": [0, 1]}
ONE_ROW = {"X": np.array([[0.1, 0.2]]), "y": np.array([0])}
PERSONS = {"X": X, "y": np.arange(24) % 2, "groups": np.arange(24) // 2}
#: Right estimators on data, or with an epsilon, that tell too little: the check, and what would be enough.
TOO_WEAK = [
    (
        DPTreeClassifier(0.01, **TREE),
        None,
        HALF,
        r"loses 0\.\d+ to .* is 0\.0\d+: .* or \d+ times the epsilon",
    ),
    (DPTreeClassifier(60, **TREE), None, HALF, r"or 0\.\d+ times the epsilon"),
    (DPTreeClassifier(60, **TREE), None, "check_noise_variance", "choose a smaller epsilon"),
    (
        DPLogisticRegression(0.5, bounds=(-1, 1), classes=[0, 1], max_rows_per_group=2),
        PERSONS,
        HALF,
        "use data in which one unit changes a number by more, or",
    ),
    *(
        (LocallyPrivateTreeClassifier(14, **TREE), None, name, "choose epsilon 1.5")
        for name in (
            "check_noise_is_fresh",
            "check_copies_repeat_nothing",
            "check_fork_repeats_nothing",
        )
    ),
    (SMALL, ONE_ROW, "check_ledger_total", "takes 2 rows"),
]


@pytest.mark.parametrize(
    ("estimator", "data", "name", "enough"),
    [TOO_WEAK[0], *(slow(*case) for case in TOO_WEAK[1:-1]), TOO_WEAK[-1]],
)
def test_too_weak_to_tell_is_a_result_of_its_own(estimator, data, name, enough):
    result = check_private_estimator(estimator, data, only=[name])[0]
    assert result["status"] == "too weak"
    assert re.search(enough, result["reason"])


@pytest.mark.slow
def test_a_parametrisation_runs_every_check_by_name():
    case = AuditCase.of(DPTreeClassifier(0.01, **TREE), n_trials=0)
    tests = [one for one in parametrize_with_private_checks([case]).mark.args[1]]
    assert [one.id.rpartition("-")[2] for one in tests] == [check.__name__ for check in CHECKS]
    runs = {one.id.rpartition("-")[2]: one.values for one in tests}
    case, check = runs["check_privacy_spent"]
    check(case)
    case, check = runs[HALF]
    with pytest.raises(SkipTest, match="times the epsilon"):
        check(case)


class TestInterface:
    def test_results(self):
        results = check_private_estimator(SMALL, only=["check_privacy_spent", "check_large_epsilon"])
        assert [one["status"] for one in results] == ["passed"] * 2
        assert set(results[0]) == {"estimator", "check_name", "status", "reason", "seconds"}

    def test_every_check_has_a_name_and_says_what_it_does(self):
        names = [check.__name__ for check in CHECKS]
        assert len(set(names)) == len(names) >= 25
        assert all(name.startswith("check_") for name in names)
        assert all(check.__doc__ for check in CHECKS)

    def test_every_check_of_every_topic_runs_once(self):
        topics = [
            importlib.import_module(f"{_battery.__name__}.{one.name}")
            for one in iter_modules(_battery.__path__)
            if one.name != "battery"
        ]
        written = [
            function
            for topic in topics
            for name, function in vars(topic).items()
            if name.startswith("check_") and function.__module__ == topic.__name__
        ]
        assert len(CHECKS) == len(written) == len(set(CHECKS) & set(written))

    def test_the_first_failure_is_raised_by_name(self):
        silent = DPTreeClassifier(max_depth=1)
        with pytest.raises(AssertionError, match=r"^check_privacy_spent: .*does not claim"):
            check_private_estimator(silent)

    def test_expected_failures(self):
        results = check_private_estimator(
            DPTreeClassifier(max_depth=1),
            only=["check_privacy_spent"],
            expected_failed_checks={"check_privacy_spent": "a demo"},
        )
        assert (results[0]["status"], results[0]["reason"]) == ("xfail", "a demo")

    def test_a_note_is_the_reason_of_a_skip(self):
        case = AuditCase.of(SMALL, notes={"check_replay": "not now"})
        result = check_private_estimator(case, only=["check_replay"])[0]
        assert (result["status"], result["reason"]) == ("skipped", "not now")

    @pytest.mark.parametrize("estimator", [None, "tree", DPTreeClassifier])
    def test_no_estimator(self, estimator):
        with pytest.raises(TypeError, match="estimator must be an unfitted estimator, not"):
            check_private_estimator(estimator)

    @pytest.mark.parametrize("data", [(X, X[:, 0]), {"y": X[:, 0]}, X])
    def test_data_without_names(self, data):
        with pytest.raises(TypeError, match="data must be a mapping of arguments of fit"):
            check_private_estimator(SMALL, data)

    def test_one_where_several_are_asked_for(self):
        with pytest.raises(TypeError, match="only must be a list of names"):
            check_private_estimator(SMALL, only="check_replay")
        with pytest.raises(TypeError, match="expected_failed_checks must be a mapping"):
            check_private_estimator(SMALL, expected_failed_checks=["check_replay"])
        with pytest.raises(TypeError, match="estimators must be a list"):
            parametrize_with_private_checks(SMALL)

    def test_unknown_names(self):
        with pytest.raises(ValueError, match="no such check: check_all"):
            check_private_estimator(SMALL, only=["check_all"])
        with pytest.raises(ValueError, match="on_fail must be"):
            check_private_estimator(SMALL, on_fail="warn")

    def test_expected_failures_of_a_parametrisation_are_strict(self):
        mark = parametrize_with_private_checks(
            [SMALL], expected_failed_checks=lambda estimator: {"check_replay": "a demo"}
        )
        marked = [one for one in mark.mark.args[1] if one.marks]
        assert [one.id for one in marked] == ["DPTreeClassifier-0-check_replay"]
        assert marked[0].marks[0].kwargs == {"reason": "a demo", "strict": True}


def test_nothing_heavy_is_imported_with_the_room():
    code = (
        "import json, sys, skprivate.audit; skprivate.audit.parametrize_with_private_checks; "
        "print(json.dumps('pytest' in sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) is False
