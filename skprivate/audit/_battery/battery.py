# SPDX-License-Identifier: BSD-3-Clause
"""Run every check on one estimator, directly or as a parametrisation of pytest."""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal
from unittest import SkipTest

from .._cases import AuditCase
from .._observation.recorder import run_within
from . import fits, noise_statistics, parameter_variations, repeated_fits, side_channels, statements
from .requirements import NotApplicable

Check = Callable[[AuditCase], None]

#: Every check, in the order in which they run: cheap checks that find much come first.
CHECKS: tuple[Check, ...] = (
    fits.check_fit,
    statements.check_privacy_spent,
    repeated_fits.check_sensitivity_fuzz,
    repeated_fits.check_releases,
    repeated_fits.check_releases_show_half_the_noise,
    repeated_fits.check_runs_of_a_search,
    repeated_fits.check_replay,
    repeated_fits.check_noise_meets_values,
    repeated_fits.check_no_redraws,
    repeated_fits.check_same_branches,
    noise_statistics.check_only_released_values_differ,
    noise_statistics.check_released_values_on_grid,
    statements.check_number_of_rows,
    noise_statistics.check_noise_variance,
    noise_statistics.check_epsilon_audit,
    noise_statistics.check_audit_catches_half_the_noise,
    noise_statistics.check_epsilon_of_whole_fits,
    noise_statistics.check_low_bits,
    parameter_variations.check_large_epsilon,
    repeated_fits.check_noise_is_fresh,
    repeated_fits.check_copies_repeat_nothing,
    repeated_fits.check_fork_repeats_nothing,
    repeated_fits.check_seeded_fit_is_not_private,
    fits.check_parameters_unchanged,
    statements.check_refit_spends_again,
    repeated_fits.check_refits_draw_again,
    statements.check_partial_fit_spends,
    statements.check_ledger_total,
    fits.check_domain_is_declared,
    fits.check_sample_weight,
    statements.check_pipeline_steps,
    fits.check_rows_outside_the_domain,
    fits.check_labels_outside_the_classes,
    fits.check_missing_values,
    side_channels.check_sentinels,
    side_channels.check_views,
    side_channels.check_process,
    side_channels.check_files,
    side_channels.check_nothing_survives,
    statements.check_ledger_entries,
    fits.check_fit_then_use,
    repeated_fits.check_rare_draws,
    repeated_fits.check_many_fits,
    parameter_variations.check_other_epsilons,
    parameter_variations.check_other_tables,
)


def check_private_estimator(
    estimator: Any,
    data: Mapping[str, Any] | None = None,
    *,
    expected_failed_checks: Mapping[str, str] | None = None,
    only: Iterable[str] | None = None,
    thorough: bool = False,
    time_limit: float = 120.0,
    on_fail: Literal["raise"] | None = "raise",
) -> list[dict[str, Any]]:
    """Run every privacy check on an estimator, as scikit-learn's ``check_estimator`` runs its own.

    Parameters
    ----------
    estimator : estimator or AuditCase
        Unfitted, with a declared domain (bounds, classes) as a private fit needs it. An epsilon near 1.5 is
        best, because too little noise then shows soonest.
    data : mapping, default=None
        Arguments of ``fit`` from which neighbours are made, see `AuditCase.of`. None: random rows.
    expected_failed_checks : mapping, default=None
        Name of a check -> why it fails. Its status is then "xfail", and there is no error.
    only : iterable of str, default=None
        Names of the checks to run. None: all.
    thorough : bool, default=False
        As in `AuditCase`: up to a minute for an estimator, not ten seconds.
    time_limit : float, default=120.0
        Seconds for each check. A check that has not ended by then fails, and later checks do not run. So a
        fit that hangs is reported too.
    on_fail : {"raise"} or None, default="raise"
        "raise": the first failure is raised. None: failures are only returned.

    Returns
    -------
    results : list of dict
        One for every check: ``estimator``, ``check_name``, ``status``, ``reason`` and ``seconds``. The status
        is "passed", "failed", "xfail", "skipped" or "too weak". "skipped": the check does not apply. "too
        weak": the check cannot distinguish a right estimator from a wrong one with these data or this
        epsilon. The reason explains the status, and what would be enough.

    Raises
    ------
    AssertionError
        A check failed, and `on_fail` is "raise". The message begins with the name of the check.
    TypeError, ValueError
        ``estimator`` is not an unfitted estimator, or an argument is not as described.
    TimeoutError
        A trial fit, which determines the neighbours, has not ended in time.

    See Also
    --------
    parametrize_with_private_checks : The same for pytest.
    AuditCase : For your own data sets, or another way of reading the released numbers.

    Notes
    -----
    Most checks need only ``fit``. Checks that record the calls of mechanisms need estimators that take their
    noise from `skprivate.noise` or `skprivate.randomizers`. Other estimators are judged by the state of
    fitted objects. So are private searches, which drop the draws of candidates that lose. A check that does
    not apply is skipped with a reason: read the reasons. "too weak" is neither a pass nor a failure. It means
    that a row changes no number by enough, or that epsilon is so large that noise is mostly 0. A right
    estimator fails one comparison with a probability below 1e-9.

    **Privacy**: a passed battery is no proof. It means that these bugs were searched for and not found. Never
    pass private rows.

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.audit import check_private_estimator
    >>> tree = DPTreeClassifier(epsilon=1.5, max_depth=2, bounds=(0, 1), classes=[0, 1])
    >>> results = check_private_estimator(tree, only=["check_sensitivity_fuzz", "check_replay"])
    >>> [(result["check_name"], result["status"]) for result in results]
    [('check_sensitivity_fuzz', 'passed'), ('check_replay', 'passed')]
    """
    _check_options(expected_failed_checks, only, time_limit, on_fail)
    case = run_within(time_limit, functools.partial(as_case, estimator, data))
    if thorough:
        case = dataclasses.replace(case, thorough=True)
    known = {check.__name__: check for check in CHECKS}
    wanted = set(known if only is None else only)
    if unknown := wanted - known.keys():
        raise ValueError(f"no such check: {', '.join(sorted(unknown))}.")
    results: list[dict[str, Any]] = []
    # Reason why later checks are useless, "" if they are not.
    stopped = ""
    for check in (check for name, check in known.items() if name in wanted):
        result = _run(check, case, dict(expected_failed_checks or {}), time_limit, stopped)
        results.append(result)
        if result["status"] != "failed":
            continue
        if on_fail == "raise":
            raise AssertionError(f"{check.__name__}: {result['reason']}")
        if check is fits.check_fit:
            stopped = stopped or "not run: fit fails, see check_fit"
        elif result["reason"].startswith("TimeoutError"):
            stopped = stopped or "not run: an earlier check has not ended"
    return results


def _check_options(
    expected_failed_checks: Mapping[str, str] | None,
    only: Iterable[str] | None,
    time_limit: float,
    on_fail: str | None,
) -> None:
    if on_fail not in ("raise", None):
        raise ValueError('on_fail must be "raise" or None.')
    if isinstance(only, str):
        raise TypeError(f"only must be a list of names of checks, such as [{only!r}].")
    if expected_failed_checks is not None and not isinstance(expected_failed_checks, Mapping):
        raise TypeError("expected_failed_checks must be a mapping of names of checks to reasons.")
    if not time_limit > 0:
        raise ValueError("time_limit must be a positive number of seconds.")


def _run(
    check: Check, case: AuditCase, expected: Mapping[str, str], time_limit: float, stopped: str
) -> dict[str, Any]:
    start, reason = time.perf_counter(), ""
    try:
        if stopped:
            raise NotApplicable(stopped)
        apply_within(time_limit, check, case)
        status = "passed"
    except NotApplicable as skip:
        status, reason = skip.status, str(skip)
    except Exception as error:
        known = check.__name__ in expected
        status = "xfail" if known else "failed"
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        reason = expected[check.__name__] if known else f"{kind}{error}"
    return {
        "estimator": case.estimator,
        "check_name": check.__name__,
        "status": status,
        "reason": reason,
        "seconds": time.perf_counter() - start,
    }


def apply_within(time_limit: float, check: Check, case: AuditCase) -> None:
    """Run one check for a limited time, unless the notes of the case give a reason to skip it."""
    if check.__name__ in case.notes:
        raise NotApplicable(case.notes[check.__name__])
    try:
        run_within(time_limit, functools.partial(check, case))
    except NotApplicable:
        raise
    except SkipTest as error:
        raise AssertionError("a fit raises SkipTest: no estimator decides which checks apply") from error


def as_case(estimator: Any, data: Mapping[str, Any] | None = None) -> AuditCase:
    """Return the case of an estimator."""
    return estimator if isinstance(estimator, AuditCase) else AuditCase.of(estimator, data)


def parametrize_with_private_checks(
    estimators: Iterable[Any],
    *,
    expected_failed_checks: Callable[[Any], Mapping[str, str]] | None = None,
    ids: Callable[[AuditCase], str] | None = None,
    thorough: bool = False,
    time_limit: float = 120.0,
) -> Any:
    """Return a decorator that runs a test for every estimator and every privacy check.

    Parameters
    ----------
    estimators : iterable of estimator or AuditCase
    expected_failed_checks : callable, default=None
        Takes an estimator and returns the checks that it fails, with the reasons. They become strict xfails.
    ids : callable, default=None
        Takes the case and returns its part of the test's name. None: the estimator's class.
    thorough, time_limit : bool, float
        As in `check_private_estimator`.

    Returns
    -------
    decorator : pytest.mark.parametrize

    Raises
    ------
    ImportError
        pytest is not installed.

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.audit import parametrize_with_private_checks
    >>> tree = DPTreeClassifier(epsilon=1.5, max_depth=2, bounds=(0, 1), classes=[0, 1])
    >>> @parametrize_with_private_checks([tree])
    ... def test_privacy(estimator, check):
    ...     check(estimator)
    """
    try:
        import pytest
    except ImportError as error:
        raise ImportError("parametrize_with_private_checks needs pytest: pip install pytest.") from error

    if not isinstance(estimators, Iterable):
        raise TypeError(f"estimators must be a list of estimators, not {type(estimators).__name__}.")
    cases = [run_within(time_limit, functools.partial(as_case, estimator)) for estimator in estimators]
    cases = [dataclasses.replace(case, thorough=thorough or case.thorough) for case in cases]
    parameters = []
    for position, case in enumerate(cases):
        expected = expected_failed_checks(case.estimator) if expected_failed_checks else {}
        label = ids(case) if ids else type(case.estimator).__name__
        for check in CHECKS:
            name = check.__name__
            marks = [pytest.mark.xfail(reason=expected[name], strict=True)] if name in expected else []
            run = functools.partial(apply_within, time_limit, check)
            parameters.append(pytest.param(case, run, marks=marks, id=f"{label}-{position}-{name}"))
    return pytest.mark.parametrize(("estimator", "check"), parameters)
