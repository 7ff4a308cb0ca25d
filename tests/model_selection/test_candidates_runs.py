# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a private search: what happens when some of them fail."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from sklearn.utils.parallel import delayed

from skprivate.exceptions import PrivateSearchError
from skprivate.model_selection import _candidates
from skprivate.model_selection._candidates import Failure, SearchRun, best_run
from skprivate.model_selection._scoring import ScoreShapeError

GOOD = SearchRun(Fraction(1, 2), "a model", {})


def finish(monkeypatch, *runs):
    monkeypatch.setattr(_candidates, "_in_silence", lambda jobs, n_jobs: list(runs))
    return best_run(None, [(f"candidate {k}", {}) for k in range(len(runs))], [None] * len(runs), None)


def test_the_first_of_the_best_runs_is_kept(monkeypatch):
    better = SearchRun(Fraction(3, 4), "another", {})
    assert finish(monkeypatch, GOOD, better, better._replace(estimator="later")) == (better, "candidate 1")


def test_one_failure_among_many_runs_releases_nothing(monkeypatch):
    with pytest.raises(PrivateSearchError, match=r"announced: KeyError\. Nothing is released"):
        finish(monkeypatch, GOOD, Failure(False, "KeyError"), GOOD)


def test_a_worker_that_died_releases_nothing(monkeypatch):
    with pytest.raises(PrivateSearchError, match="Nothing is released"):
        finish(monkeypatch)


def test_a_wrong_shape_is_told(monkeypatch):
    with pytest.raises(ScoreShapeError, match="one score per row"):
        finish(monkeypatch, GOOD, Failure(True, "ScoreShapeError"), Failure(False, "KeyError"))


def filters():
    return list(getattr(warnings, "_get_filters", lambda: warnings.filters)())


def test_overlapping_searches_of_threads_leave_the_filters_as_they_were():
    """The search that began last ends last: by then the one before it has ended."""
    before = filters()
    begun, ended = threading.Event(), threading.Event()

    def last():
        begun.set()
        ended.wait(60)
        warnings.warn("This counts a run.", UserWarning, stacklevel=1)

    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        inside = filters()
        other = []

        def begin_another():
            other.append(pool.submit(_candidates._in_silence, [delayed(last)()], None))
            begun.wait(60)

        assert _candidates._in_silence([delayed(begin_another)()], None) == [None]
        ended.set()
        assert other[0].result() == [None]
        assert filters() == inside
    assert not told
    assert filters() == before
