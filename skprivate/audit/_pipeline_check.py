# SPDX-License-Identifier: BSD-3-Clause
"""The differential test of a pipeline: fits on other rows with the same noise may not differ.

A column keeps its type if the new values fit into it, as in memory. Otherwise it gets the type that NumPy or
the frame's library infers from them, as after reading a file.
"""

import functools
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier

from .._config import config_context
from ..accounting._statements.fields import escape_controls
from ..base import privacy_report
from ..utils._public_module import public_module
from ._cases import Arguments, extreme_targets, fit_with, make_rows, n_rows, private_rows, without_ledgers
from ._observation.fitted_objects import (
    DISPLAYS,
    FlatObject,
    differing_paths,
    display_values,
    fitted_steps,
    flatten_object,
    forms_of_values,
    kept_values,
    predictions_of,
    steps_by_file,
)
from ._observation.recorder import Recording, captured_output, record_releases

# Results of the check of a pipeline.


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class Hole:
    """A part of a fitted pipeline that one row of the data changes without noise.

    Attributes
    ----------
    step : str
        Path of the step, as in `privacy_report`.
    place : str
        The attribute or other part that differs: a text, names, a warning.
    neighbour : str
        The change of the row.

    Examples
    --------
    >>> from skprivate.audit import Hole
    >>> print(Hole(step="scaler", place="mean_", neighbour="zeros"))
    scaler: mean_ reveals one row (zeros)
    """

    step: str
    place: str
    neighbour: str

    def __str__(self) -> str:
        return escape_controls(f"{self.step}: {self.place} reveals one row ({self.neighbour})")


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class PipelineCheck:
    """The result of `check_private_pipeline`.

    Attributes
    ----------
    holes : tuple of Hole
        The holes found.
    failures : tuple of str
        Changes of rows on which the fit fails; a claim does not cover such failures.
    uncovered : tuple of str
        Steps that `privacy_report` already reports, which were not checked.
    n_fits : int
        Number of fits.

    Examples
    --------
    >>> from skprivate.audit import PipelineCheck
    >>> print(PipelineCheck(holes=(), failures=(), uncovered=(), n_fits=30))
    no hole found in 30 fits
    """

    holes: tuple[Hole, ...]
    failures: tuple[str, ...]
    uncovered: tuple[str, ...]
    n_fits: int

    @property
    def passed(self) -> bool:
        """Whether no hole was found."""
        return not self.holes

    def __str__(self) -> str:
        head = f"{len(self.holes)} holes" if self.holes else "no hole"
        lines = [f"{head} found in {self.n_fits} fits", *(f"- {hole}" for hole in self.holes)]
        lines += [f"- not checked, named by privacy_report: {step}" for step in self.uncovered]
        lines += [f"- the fit fails on {failure}" for failure in self.failures]
        return "\n".join(map(escape_controls, lines))


# The differential test of a pipeline: fits on other rows with the same noise may not differ.


def check_private_pipeline(
    pipeline: Any,
    X: Any = None,
    y: Any = None,
    *,
    fit_params: Mapping[str, Any] | None = None,
    every_step: bool = False,
    on_fail: Literal["raise"] | None = "raise",
) -> PipelineCheck:
    """Search for parts of a fitted pipeline that reveal a row without noise and are not in `privacy_report`.

    The pipeline is fitted on the data and on changed data, each time with the same noise. Then nothing may
    differ: no attribute of any step, text, pickle, clone, name of a column, output for fixed rows, warning or
    printed text.

    First one row is changed, then all rows: to zeros, halves, whole, negative, far and infinite numbers,
    missing values, unseen text, copies of one row, other targets. If fits on two data sets without a common
    row differ, rows are changed one after the other until two neighbours differ. So values that depend on a
    share of the rows, such as a density, are found for any threshold.

    Parameters
    ----------
    pipeline : estimator
        Unfitted: a pipeline, a private search, or any estimator.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Data made for this purpose, with columns of the same types as the real data. None: random numbers.
    y : array-like of shape (n_samples,), default=None
        Targets.
    fit_params : mapping, default=None
        Further arguments of ``fit``. Rows that ``is_public`` marks are not changed.
    every_step : bool, default=False
        Whether to check also the steps that `privacy_report` reports as uncovered: it shows what they keep.
    on_fail : {"raise"} or None, default="raise"
        "raise": a hole is raised. None: holes are only returned.

    Returns
    -------
    check : PipelineCheck
        Its ``str()`` names every hole by step and attribute.

    Raises
    ------
    AssertionError
        A hole was found, and `on_fail` is "raise".
    ValueError, TypeError
        The pipeline cannot be fitted on the unchanged data.

    See Also
    --------
    check_private_estimator : Every check on one private estimator.
    skprivate.privacy_report : Names the steps that read rows, from a list.

    Notes
    -----
    Noise from sources outside skprivate cannot be replayed. For a step with such noise, form and names are
    compared, but not its numbers. Fits run with seeds, and without ledgers.

    **Privacy**: a passed check is no proof. It means that these changes were tried. Never pass private rows.

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
    search = PipelineComparison(pipeline, {**rows, **(fit_params or {})}, every_step)
    check = search.run()
    if on_fail == "raise" and not check.passed:
        raise AssertionError(str(check))
    return check


# Fits of a pipeline on changed rows with the noise of the first fit, and their differences from it.

# Displays of a fitted object depend on its state, which is compared for every change, and on the state of
# classes and modules. As they are slow, they are compared only for these changes.
_SHOWN_FOR = ("zeros", "whole numbers", "copies of one row")


@dataclass(eq=False)
class _PipelineFit:
    """The state of a fitted pipeline by step, and its messages; for a failed fit, only the warnings."""

    parts: dict[str, FlatObject]
    failed: bool = False
    shown: bool = True


class PipelineComparison:
    """The fits of one check, and their differences from the first fit.

    `skipped_steps` are the steps that the report already names. The noise of `noisy_steps` cannot be
    replayed, so the form of their values is compared and not the values.
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
        # Before the first compared fit, so that its warnings are assigned to steps like those of other fits.
        self.step_of_file = steps_by_file(model)
        model, recording = self._fit(rows, None)
        self.started = True
        report = privacy_report(model)
        self.uncovered = () if every_step else tuple(str(step) for step in report.uncovered)
        self.skipped_steps = set() if every_step else {step.path for step in report.uncovered}
        self.replayed = bool(recording.releases) and not recording.drawn_in_other_threads
        noisy = {step.path for step in report.steps if step.status == "covered"}
        self.noisy_steps = set() if self.replayed else noisy
        self.outputs = recording.outputs if self.replayed else None
        self.first = _PipelineFit(self._look(model, recording))

    def run(self) -> PipelineCheck:
        """Try every change."""
        private = np.flatnonzero(private_rows(self.rows))
        for rows in (private[-1:], private):
            for what, changed in self._changes(rows):
                self._try(what, changed, one_row=len(rows) == 1)
        return PipelineCheck(
            holes=tuple(self.holes.values()),
            failures=tuple(sorted(self.failures)),
            uncovered=self.uncovered,
            n_fits=self.n_fits,
        )

    def _changes(self, rows: Any) -> Iterator[tuple[str, Arguments]]:
        for what, table in changed_tables(self.rows["X"], rows):
            yield what, {**self.rows, "X": table}
        if self.rows.get("y") is None:
            return
        y = np.asarray(self.rows["y"])
        targets: Iterable[Any] = ()
        if is_classifier(self.pipeline) or y.dtype.kind in "OU":
            targets = np.unique(y)[:2]
        elif y.dtype.names is None:
            targets = list(extreme_targets(self.pipeline, self.rows))[:2]
        for target in targets:
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
        """Return whether two fitted neighbours between the data and the changed data differ."""
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
        model, recording = self._fit(rows, self.outputs)
        if model is not None:
            return _PipelineFit(self._look(model, recording, shown=shown), shown=shown)
        # Warnings of steps before the error; warnings of checks belong to the error.
        steps = self.step_of_file.values()
        own = {f"warning: {text}": True for text in recording.messages if text.partition(": ")[0] in steps}
        return _PipelineFit({"estimator": FlatObject(own)}, failed=True)

    def _fit(self, rows: Arguments, given_outputs: Any) -> tuple[Any, Recording]:
        """Return a fitted copy, or None if it fails, and its releases and messages."""
        self.n_fits += 1
        model = None
        with (
            record_releases(given_outputs) as recording,
            captured_output() as heard,
            warnings.catch_warnings(record=True) as warned,
            # The seeds belong to this check, and no fit is kept.
            config_context(allow_seeds=True),
        ):
            warnings.simplefilter("always")
            try:
                model = fit_with(clone(self.pipeline), rows)
            except Exception:
                if not self.started:
                    raise
        said = [f"{self.step_of_file.get(one.filename, 'a check')}: {one.message}" for one in warned]
        # Progress messages show times, which is documented.
        recording.messages = [*said, re.sub(r"[0-9.]+ ?(s|min)\b", "", heard())]
        return model, recording

    def _look(self, model: Any, recording: Recording, *, shown: bool = True) -> dict[str, FlatObject]:
        """Return all visible values of a fitted object, step by step."""
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
        """Return whether a warning comes from a compared step and not from a skipped one or its callees."""
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
            for path in differing_paths(mine, theirs):
                # The attribute or view of a leaf, without the path below it.
                place = step, re.split(r"[.\[{]", path)[0]
                found.add(_home_of_warning(path) if path.startswith("warning") else place)
        return found


def _ready(pipeline: Any) -> Any:
    """Return a seeded unfitted copy without ledgers, so that everything except the noise repeats."""
    copy = clone(pipeline)
    known = copy.get_params(deep=True)
    seeds = [name for name in known if name.split("__")[-1] == "random_state" and known[name] is None]
    return without_ledgers(copy).set_params(**dict.fromkeys(seeds, 0))


def _home_of_warning(path: str) -> tuple[str, str]:
    """Return the step that a warning came from, and the warning."""
    step, _, text = path.removeprefix("warning: ").partition(": ")
    return step, f"warning {text!r}"


# Tables in which one or all rows are changed: numbers, text and missing values, in arrays and frames.

Cells = list[list[Any]]  # column by column

# A number beyond every bound, but so far below a double's 1.8e308 that sums of some rows stay finite.
_FAR = 1e300
#: Replacements of a number and of a text; some depend on the row's position.
_CHANGES: dict[str, tuple[Callable[[Any, int], Any], Callable[[Any, int], Any]]] = {
    "zeros": (lambda value, _: 0, lambda value, _: ""),
    "halves": (lambda value, _: 0.5, lambda value, _: "0.5"),
    "negative numbers": (lambda value, _: -3, lambda value, _: "-3"),
    "whole numbers": (lambda value, place: place % 3, lambda value, place: str(place % 3)),
    "far numbers": (lambda value, place: _FAR if place % 2 else -_FAR, lambda value, _: "unseen" * 9),
    "missing values": (lambda value, _: np.nan, lambda value, _: None),
    "infinite numbers": (lambda value, place: np.inf if place % 2 else -np.inf, lambda value, _: "inf"),
}


def changed_tables(X: Any, rows: NDArray[np.intp]) -> Iterator[tuple[str, Any]]:
    """Yield descriptions of changes of some rows of a table, and the changed tables."""
    cells = _cells_of(X)
    for what, change in _CHANGES.items():
        yield what, _rebuild(X, [_changed(column, rows, change) for column in cells])
    yield "copies of one row", _rebuild(X, [_with(column, rows, repeat(column[0])) for column in cells])
    # One cell alone: a fit may accept a row that is unusual in one column only.
    for position, column in enumerate(cells if len(rows) == 1 and len(cells) > 1 else ()):
        for what in ("zeros", "halves", "missing values"):
            changed = [*cells[:position], _changed(column, rows, _CHANGES[what]), *cells[position + 1 :]]
            yield f"{what} in column {position}", _rebuild(X, changed)


def mixed_table(X: Any, other: Any, n_rows: int) -> Any:
    """Return a table whose first rows come from another table."""
    pairs = zip(_cells_of(X), _cells_of(other), strict=True)
    return _rebuild(X, [theirs[:n_rows] + mine[n_rows:] for mine, theirs in pairs])


def _changed(column: list[Any], rows: NDArray[np.intp], change: Any) -> list[Any]:
    number, text = change
    new = text if any(isinstance(value, str) for value in column) else number
    return _with(column, rows, (new(column[row], int(row)) for row in rows))


def _with(column: list[Any], rows: NDArray[np.intp], values: Iterable[Any]) -> list[Any]:
    result = list(column)
    for row, value in zip(rows, values, strict=False):
        result[row] = value
    return result


def _cells_of(X: Any) -> Cells:
    if hasattr(X, "columns"):
        return [list(X[name].to_list()) for name in X.columns]
    return [column.tolist() for column in np.asarray(X.toarray() if sparse.issparse(X) else X).T]


def _rebuild(X: Any, cells: Cells) -> Any:
    """Return cells as a table of the same kind as X."""
    if hasattr(X, "columns"):
        library = sys.modules[type(X).__module__.partition(".")[0]]
        build = _pandas_column if hasattr(X, "iloc") else _polars_column
        columns = {name: build(library, X[name], cells[k]) for k, name in enumerate(X.columns)}
        return library.DataFrame(columns, **({"index": X.index} if hasattr(X, "iloc") else {}))
    old = X if sparse.issparse(X) else np.asarray(X)
    table = _fitting(old.dtype, cells)
    return type(X)(table) if sparse.issparse(X) else table


def _fitting(dtype: Any, cells: Cells) -> NDArray[Any]:
    """Return cells as an array of a type, or of the next type that can hold them."""
    objects = np.empty((len(cells[0]), len(cells)), dtype=object)
    objects[:] = list(zip(*cells, strict=True))
    for candidate in (dtype, np.float64):
        if np.dtype(candidate).kind in "iufb" and _holds(objects, candidate):
            return objects.astype(candidate)
    if np.dtype(dtype).kind == "U" and all(isinstance(value, str) for value in objects.flat):
        return objects.astype(str)
    return objects


def _holds(objects: NDArray[Any], dtype: Any) -> bool:
    try:
        with np.errstate(all="ignore"):
            values = objects.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return False
    same = all(a == b or (a != a and b != b) for a, b in zip(values.flat, objects.flat, strict=True))
    return same and not any(isinstance(value, str) for value in objects.flat)


def _pandas_column(pandas: Any, old: Any, values: list[Any]) -> Any:
    inferred = pandas.Series(values, index=old.index)
    try:
        same = inferred.astype(old.dtype)
    except (TypeError, ValueError, OverflowError):
        return inferred
    return same if _are_equal(same, values) else inferred


def _are_equal(column: Any, values: list[Any]) -> bool:
    return all(
        a == b or (_is_missing(a) and _is_missing(b)) for a, b in zip(column.to_list(), values, strict=True)
    )


def _is_missing(value: Any) -> bool:
    # None, NaN, and pandas.NA, whose comparisons have no truth value.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _polars_column(polars: Any, old: Any, values: list[Any]) -> Any:
    try:
        same = polars.Series(values, dtype=old.dtype)
        if _are_equal(same, values):
            return same
    except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError):
        pass
    return polars.Series(values, strict=False)
