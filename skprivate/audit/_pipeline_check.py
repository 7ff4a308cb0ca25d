# SPDX-License-Identifier: BSD-3-Clause
"""A differential test of what a pipeline leaves beside its noise: other rows, the same noise."""

import functools
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from .._config import config_context
from ..accounting import PrivacyLedger
from ..base import privacy_report
from ..utils._public_module import public_module
from ._neighbours import Arguments, extreme_targets, fit_with, make_rows, private_rows
from ._observation.object_views import (
    SHOWS,
    form_of,
    outputs_of,
    owners_of_files,
    state_of,
    steps_inside,
    views_of,
)
from ._observation.object_walk import Leaves, differences, leaves
from ._observation.recorder import Recording, listening, record_releases
from ._row_changes import changed_tables, mixed_table


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class Hole:
    """Something on a fitted pipeline that one row of the data changes without noise.

    Attributes
    ----------
    step : str
        Path of the step, as in `privacy_report`.
    place : str
        The attribute, or what else tells: a text, names, a warning.
    neighbour : str
        What was put into the row.

    Examples
    --------
    >>> from skprivate.audit import Hole
    >>> print(Hole(step="scaler", place="mean_", neighbour="zeros"))
    scaler: mean_ tells of one row (zeros)
    """

    step: str
    place: str
    neighbour: str

    def __str__(self) -> str:
        return f"{self.step}: {self.place} tells of one row ({self.neighbour})"


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class PipelineCheck:
    """What `check_private_pipeline` found.

    Attributes
    ----------
    holes : tuple of Hole
    failures : tuple of str
        Changes of rows on which the fit fails: a claim does not cover that it fails.
    unpaid : tuple of str
        Steps that `privacy_report` names already, and that were not looked at.
    n_fits : int

    Examples
    --------
    >>> from skprivate.audit import PipelineCheck
    >>> print(PipelineCheck(holes=(), failures=(), unpaid=(), n_fits=30))
    no hole found in 30 fits
    """

    holes: tuple[Hole, ...]
    failures: tuple[str, ...]
    unpaid: tuple[str, ...]
    n_fits: int

    @property
    def passed(self) -> bool:
        """Whether no hole was found."""
        return not self.holes

    def __str__(self) -> str:
        head = f"{len(self.holes)} holes" if self.holes else "no hole"
        lines = [f"{head} found in {self.n_fits} fits", *(f"- {hole}" for hole in self.holes)]
        lines += [f"- not looked at, named by privacy_report: {step}" for step in self.unpaid]
        return "\n".join([*lines, *(f"- the fit fails on {failure}" for failure in self.failures)])


def check_private_pipeline(
    pipeline: Any,
    X: Any = None,
    y: Any = None,
    *,
    fit_params: Mapping[str, Any] | None = None,
    every_step: bool = False,
    on_fail: str | None = "raise",
) -> PipelineCheck:
    """Look for what a fitted pipeline tells about one row without noise, beyond what `privacy_report` names.

    The pipeline is fitted on the data and on changed data, each time with the same noise: what the mechanisms
    returned at first is handed out again. Then nothing may differ: no attribute of any step, text, pickle,
    clone, name of a column, output for fixed rows, warning or print.

    Changed are one row, and all of them: zeros, halves, whole, negative, far and infinite numbers, missing
    values, unseen text, copies of one row, other targets. From a data set to one without a common row one
    gets by changing row after row; what differs between the ends differs between two neighbours on the way,
    and these are searched for. So what depends on a share of the rows, a density say, is found wherever its
    threshold lies.

    Parameters
    ----------
    pipeline : estimator
        Unfitted: a pipeline, a private search, or any estimator.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Data made for the purpose, with columns of the types that the real ones have. None: random numbers.
    y : array-like of shape (n_samples,), default=None
        Targets.
    fit_params : mapping, default=None
        Further arguments of ``fit``; rows that ``is_public`` marks are not changed.
    every_step : bool, default=False
        Look at the steps that `privacy_report` names as unpaid, too: it shows what they keep.
    on_fail : {"raise"} or None, default="raise"
        Whether a hole is raised, or only returned.

    Returns
    -------
    check : PipelineCheck
        Its ``str()`` names every hole by step and attribute.

    Raises
    ------
    AssertionError
        A hole was found, and `on_fail` is "raise".
    ValueError, TypeError
        The pipeline cannot be fitted on the data as they are.

    See Also
    --------
    check_private_estimator : Every check on one private estimator.
    skprivate.privacy_report : Names the steps that are known to read rows, from a list.

    Notes
    -----
    Noise that comes from elsewhere than skprivate cannot be replayed: of a step with such noise, form and
    names are compared, and not its numbers. Fits run with seeds, and without ledgers.

    **Privacy**: a passed check is no proof: it says that these changes were tried. It fits dozens of times,
    and a hole that it names shows no value: still, never give it private rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skprivate import BoundsScaler, DPTreeClassifier
    >>> from skprivate.audit import check_private_pipeline
    >>> X = np.random.default_rng(0).uniform(size=(20, 2))
    >>> tree = DPTreeClassifier(max_depth=1, bounds=(0, 1), classes=[0, 1])
    >>> check_private_pipeline(make_pipeline(BoundsScaler((0, 1)), tree), X, np.arange(20) % 2).passed
    True
    >>> pipe = make_pipeline(StandardScaler(), tree)
    >>> found = check_private_pipeline(pipe, X, np.arange(20) % 2, every_step=True, on_fail=None)
    >>> [hole.place for hole in found.holes if hole.step == "standardscaler" and "mean_" in hole.place]
    ['attribute mean_']
    """
    if on_fail not in ("raise", None):
        raise ValueError('on_fail must be "raise" or None.')
    rows = make_rows(pipeline) if X is None else {"X": X} if y is None else {"X": X, "y": y}
    search = _Search(pipeline, {**rows, **(fit_params or {})}, every_step)
    check = search.run()
    if on_fail == "raise" and not check.passed:
        raise AssertionError(str(check))
    return check


# What shows of a fitted object is made of its state, which is compared for every change; beyond that, of what
# a class or a module keeps. It is slow, so it is looked at for some changes only.
_SHOWN_FOR = ("zeros", "whole numbers", "copies of one row")


@dataclass(eq=False)
class _Fit:
    """What one fit left and said; of one that failed, the warnings of its steps."""

    parts: dict[str, Leaves]
    outputs: list[Any]
    failed: bool = False
    shown: bool = True


class _Search:
    """The fits of one check."""

    def __init__(self, pipeline: Any, rows: Arguments, every_step: bool) -> None:
        self.pipeline, self.rows, self.every_step = _ready(pipeline), rows, every_step
        self.n_fits = 0
        self.holes: dict[tuple[str, str], Hole] = {}
        self.failures: set[str] = set()
        self.owners: dict[Any, str] = {}
        self.started = False
        # A first fit may import, fill a cache or warn once.
        model, _ = self._fit(rows, None)
        # Before the fit that is compared: its warnings are put down to the same steps as those of the others.
        self.owners = owners_of_files(model)
        model, recording = self._fit(rows, None)
        self.started = True
        report = privacy_report(model)
        self.unpaid = () if every_step else tuple(str(step) for step in report.unpaid)
        self.closed = set() if every_step else {step.path for step in report.unpaid}
        self.replayed = bool(recording.releases) and not recording.missed
        self.loose = set() if self.replayed else {step.path for step in report.steps if step.status == "paid"}
        self.base = _Fit(self._look(model, recording), recording.outputs)

    def run(self) -> PipelineCheck:
        """Try every change."""
        private = np.flatnonzero(private_rows({**self.rows, "X": _Sized(self.rows["X"])}))
        for rows in (private[-1:], private):
            for what, changed in self._changes(rows):
                self._try(what, changed, one_row=len(rows) == 1)
        return PipelineCheck(
            holes=tuple(self.holes.values()),
            failures=tuple(sorted(self.failures)),
            unpaid=self.unpaid,
            n_fits=self.n_fits,
        )

    def _changes(self, rows: Any) -> Iterator[tuple[str, Arguments]]:
        for what, table in changed_tables(self.rows["X"], rows):
            yield what, {**self.rows, "X": table}
        if self.rows.get("y") is None:
            return
        for target in _other_targets(self.pipeline, self.rows):
            y = np.array(self.rows["y"])
            y = y.astype(np.result_type(y.dtype, np.asarray(target).dtype)) if y.dtype.kind in "Uiuf" else y
            y[rows] = target
            yield "another target", {**self.rows, "y": y}

    def _try(self, what: str, changed: Arguments, *, one_row: bool) -> None:
        shown = what in _SHOWN_FOR and (not one_row or what == _SHOWN_FOR[0])
        fit = self._attempt(changed, shown=shown)
        if fit.failed:
            self.failures.add(what)
        between = functools.cache(lambda n_rows: self._attempt(self._mixed(changed, n_rows), shown=shown))
        for step, place in sorted(self._differences(fit)):
            known = (step, place) in self.holes
            if not known and (one_row or self._is_between(between, step, place)):
                self.holes[step, place] = Hole(step=step, place=place, neighbour=what)

    def _is_between(self, between: Callable[[int], _Fit], step: str, place: str) -> bool:
        """Whether two neighbours on the way from the data to changed data, both of them fitted, differ."""
        low, high = 0, _length(self.rows["X"])
        while high - low > 1:
            middle = (low + high) // 2
            fit = between(middle)
            if fit.failed:
                return False
            differs = (step, place) in self._differences(fit)
            low, high = (low, middle) if differs else (middle, high)
        return True

    def _mixed(self, changed: Arguments, n_rows: int) -> Arguments:
        mixed = {**changed, "X": mixed_table(self.rows["X"], changed["X"], n_rows)}
        if changed.get("y") is not None:
            mixed["y"] = np.concatenate([changed["y"][:n_rows], np.asarray(self.rows["y"])[n_rows:]])
        return mixed

    def _attempt(self, rows: Arguments, *, shown: bool) -> _Fit:
        """Return a fit with the noise of the first."""
        model, recording = self._fit(rows, self.base.outputs if self.replayed else None)
        if model is not None:
            return _Fit(self._look(model, recording, shown=shown), recording.outputs, shown=shown)
        # Warnings of a step before the error; those of checks belong to it.
        own = {
            f"warning: {text}" for text in recording.said if text.partition(": ")[0] in self.owners.values()
        }
        return _Fit({"estimator": Leaves(dict.fromkeys(own, True))}, [], failed=True)

    def _fit(self, rows: Arguments, script: Any) -> tuple[Any, Recording]:
        """Return a fitted copy, None if it fails, and what it released and said."""
        self.n_fits += 1
        model = None
        with (
            record_releases(script) as recording,
            listening() as heard,
            warnings.catch_warnings(record=True) as told,
            # The seeds are this check's, and no fit is kept.
            config_context(allow_seeds=True),
        ):
            warnings.simplefilter("always")
            try:
                model = fit_with(clone(self.pipeline), rows)
            except Exception:
                if not self.started:
                    raise
        recording.said = [f"{self.owners.get(one.filename, 'a check')}: {one.message}" for one in told]
        # Progress shows the time, which is documented.
        recording.said += [re.sub(r"[0-9.]+ ?(s|min)\b", "", heard())]
        return model, recording

    def _look(self, model: Any, recording: Recording, *, shown: bool = True) -> dict[str, Leaves]:
        """Return everything that can be seen of a fitted object, step by step."""
        parts = {}
        for path, step in steps_inside(model, ""):
            if path not in self.closed:
                seen = {**dict(state_of(step)), **(dict(views_of(step)) if shown else {})}
                parts[path] = Leaves(form_of(seen) if path in self.loose else seen)
        whole = {f"warning: {text}": True for text in recording.said if text and self._is_ours(text)}
        if shown and not self.loose and not self.closed:
            whole |= leaves(outputs_of(model, self.rows["X"]), "output")
        form = (recording.diverged, [release.form for release in recording.releases])
        whole |= leaves(form if self.replayed else None, "what is released")
        parts["estimator"] = Leaves({**parts.get("estimator", {}), **whole})
        return parts

    def _is_ours(self, text: str) -> bool:
        """Whether a warning is not that of a step that is left alone, nor of what such a step calls."""
        owner = text.partition(": ")[0]
        if owner not in self.owners.values():
            return not self.closed and not self.loose
        return not set(owner.split(" or ")) <= self.closed

    def _differences(self, fit: _Fit) -> set[tuple[str, str]]:
        """Return steps and places at which a fit differs from the first."""
        if fit.failed:
            said = {path for path in fit.parts["estimator"] if path not in self.base.parts["estimator"]}
            return {_home_of_warning(path) for path in said}
        found = set()
        for step in self.base.parts.keys() | fit.parts.keys():
            mine, theirs = self.base.parts.get(step, Leaves()), fit.parts.get(step, Leaves())
            if not fit.shown:
                mine = Leaves({path: leaf for path, leaf in mine.items() if not path.startswith(SHOWS)})
            paths = differences(mine, theirs)
            found |= {_home_of_warning(p) if p.startswith("warning") else (step, _place(p)) for p in paths}
        return found


class _Sized(np.ndarray[Any, Any]):
    """Stands for a table of which only the number of rows matters."""

    def __new__(cls, X: Any) -> "_Sized":
        return np.empty((_length(X), 0)).view(cls)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _ready(pipeline: Any) -> Any:
    """Return an unfitted copy that is seeded, so that all but the noise repeats, and charges no ledger."""
    copy = clone(pipeline)
    known = copy.get_params(deep=True)
    changes: dict[str, Any] = {
        name: None for name, value in known.items() if isinstance(value, PrivacyLedger)
    }
    changes |= {
        name: 0 for name, value in known.items() if name.split("__")[-1] == "random_state" and value is None
    }
    return copy.set_params(**changes)


def _other_targets(pipeline: Any, rows: Arguments) -> Iterator[Any]:
    y = np.asarray(rows["y"])
    if is_classifier(pipeline) or y.dtype.kind in "OU":
        yield from np.unique(y)[:2]
    elif y.dtype.names is None:
        yield from list(extreme_targets(pipeline, rows))[:2]


def _home_of_warning(path: str) -> tuple[str, str]:
    """Return the step that a warning came from, and the warning."""
    step, _, text = path.removeprefix("warning: ").partition(": ")
    return step, f"warning {text!r}"


def _place(path: str) -> str:
    """Return the attribute or view of a leaf, without what lies below it."""
    return re.split(r"[.\[{]", path)[0]
