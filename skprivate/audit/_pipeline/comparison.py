# SPDX-License-Identifier: BSD-3-Clause
"""Fits of a pipeline on changed rows with the noise of the first fit, and where they differ from it."""

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from ..._config import config_context
from ...accounting import PrivacyLedger
from ...base import privacy_report
from .._cases.case import fit_with
from .._cases.domain import extreme_targets
from .._cases.units import Arguments, n_rows, private_rows
from .._observation.flat_objects import FlatObject, differing_paths, flatten_object
from .._observation.object_views import (
    DISPLAYS,
    display_values,
    fitted_steps,
    forms_of_values,
    kept_values,
    predictions_of,
    steps_by_file,
)
from .._observation.recorder import Recording, captured_output, record_releases
from .changed_tables import changed_tables, mixed_table
from .results import Hole, PipelineCheck

# What shows of a fitted object is made of its state, which is compared for every change; beyond that, of what
# a class or a module keeps. It is slow, so it is looked at for some changes only.
_SHOWN_FOR = ("zeros", "whole numbers", "copies of one row")


@dataclass(eq=False)
class _PipelineFit:
    """The state of a fitted pipeline by step, and its messages; of a fit that failed, the warnings alone."""

    parts: dict[str, FlatObject]
    outputs: list[Any]
    failed: bool = False
    shown: bool = True


class PipelineComparison:
    """The fits of one check, and what they differ in from the first.

    `skipped_steps` are those that the report names already; of `noisy_steps`, whose noise cannot be replayed,
    the form of values is compared and not the values.
    """

    def __init__(self, pipeline: Any, rows: Arguments, every_step: bool) -> None:
        self.pipeline, self.rows, self.every_step = _ready(pipeline), rows, every_step
        self.n_fits = 0
        self.holes: dict[tuple[str, str], Hole] = {}
        self.failures: set[str] = set()
        self.step_of_file: dict[Any, str] = {}
        self.started = False
        # A first fit may import, fill a cache or warn once.
        model, _ = self._fit(rows, None)
        # Before the fit that is compared: its warnings are put down to the same steps as those of the others.
        self.step_of_file = steps_by_file(model)
        model, recording = self._fit(rows, None)
        self.started = True
        report = privacy_report(model)
        self.unpaid = () if every_step else tuple(str(step) for step in report.unpaid)
        self.skipped_steps = set() if every_step else {step.path for step in report.unpaid}
        self.replayed = bool(recording.releases) and not recording.drawn_in_other_threads
        self.noisy_steps = (
            set() if self.replayed else {step.path for step in report.steps if step.status == "paid"}
        )
        self.first = _PipelineFit(self._look(model, recording), recording.outputs)

    def run(self) -> PipelineCheck:
        """Try every change."""
        private = np.flatnonzero(private_rows(self.rows))
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

    def _is_between(self, between: Callable[[int], _PipelineFit], step: str, place: str) -> bool:
        """Whether two neighbours on the way from the data to changed data, both of them fitted, differ."""
        low, high = 0, n_rows(self.rows["X"])
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

    def _attempt(self, rows: Arguments, *, shown: bool) -> _PipelineFit:
        """Return a fit with the noise of the first."""
        model, recording = self._fit(rows, self.first.outputs if self.replayed else None)
        if model is not None:
            return _PipelineFit(self._look(model, recording, shown=shown), recording.outputs, shown=shown)
        # Warnings of a step before the error; those of checks belong to it.
        own = {
            f"warning: {text}"
            for text in recording.messages
            if text.partition(": ")[0] in self.step_of_file.values()
        }
        return _PipelineFit({"estimator": FlatObject(dict.fromkeys(own, True))}, [], failed=True)

    def _fit(self, rows: Arguments, given_outputs: Any) -> tuple[Any, Recording]:
        """Return a fitted copy, None if it fails, and what it released and said."""
        self.n_fits += 1
        model = None
        with (
            record_releases(given_outputs) as recording,
            captured_output() as heard,
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
        recording.messages = [
            f"{self.step_of_file.get(one.filename, 'a check')}: {one.message}" for one in told
        ]
        # Progress shows the time, which is documented.
        recording.messages += [re.sub(r"[0-9.]+ ?(s|min)\b", "", heard())]
        return model, recording

    def _look(self, model: Any, recording: Recording, *, shown: bool = True) -> dict[str, FlatObject]:
        """Return everything that can be seen of a fitted object, step by step."""
        parts = {}
        for path, step in fitted_steps(model, ""):
            if path not in self.skipped_steps:
                seen = {**dict(kept_values(step)), **(dict(display_values(step)) if shown else {})}
                parts[path] = FlatObject(forms_of_values(seen) if path in self.noisy_steps else seen)
        whole = {f"warning: {text}": True for text in recording.messages if text and self._is_ours(text)}
        if shown and not self.noisy_steps and not self.skipped_steps:
            whole |= flatten_object(predictions_of(model, self.rows["X"]), "output")
        form = (recording.diverged, [release.form for release in recording.releases])
        whole |= flatten_object(form if self.replayed else None, "what is released")
        parts["estimator"] = FlatObject({**parts.get("estimator", {}), **whole})
        return parts

    def _is_ours(self, text: str) -> bool:
        """Whether a warning is not that of a step that is left alone, nor of what such a step calls."""
        owner = text.partition(": ")[0]
        if owner not in self.step_of_file.values():
            return not self.skipped_steps and not self.noisy_steps
        return not set(owner.split(" or ")) <= self.skipped_steps

    def _differences(self, fit: _PipelineFit) -> set[tuple[str, str]]:
        """Return steps and places at which a fit differs from the first."""
        if fit.failed:
            said = {path for path in fit.parts["estimator"] if path not in self.first.parts["estimator"]}
            return {_home_of_warning(path) for path in said}
        found = set()
        for step in self.first.parts.keys() | fit.parts.keys():
            mine, theirs = self.first.parts.get(step, FlatObject()), fit.parts.get(step, FlatObject())
            if not fit.shown:
                mine = FlatObject(
                    {path: leaf for path, leaf in mine.items() if not path.startswith(DISPLAYS)}
                )
            paths = differing_paths(mine, theirs)
            found |= {_home_of_warning(p) if p.startswith("warning") else (step, _place(p)) for p in paths}
        return found


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
