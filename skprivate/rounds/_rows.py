# SPDX-License-Identifier: BSD-3-Clause
"""Validated rows as plans read them: features, and labels, numbers or observations of lifetimes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import BoolArray, FloatArray, IndexArray
from ..domain._labels import refuse_label_types
from ..utils import as_column, as_labels, check_bounds, is_frame, is_structured
from ..utils._private_fit import public_errors
from ..utils._tables import kind_of_labels, numbers_of, within_bounds

#: Kinds of observation of a lifetime, which are public: event at a known time; event later than a time;
#: earlier; between two times; observation from an entry time on.
KINDS = ("exact", "right", "left", "interval", "entry")
#: Codes of an event column (`PreparedRows.event`), by kind; an entry may go with any of them.
CODES = {"right": 0, "exact": 1, "left": 2, "interval": 3}
_RIGHT, _EXACT, _LEFT, _INTERVAL = (CODES[kind] for kind in ("right", "exact", "left", "interval"))
#: A value counts as on a bound if it exceeds it by at most this many half-widths: logarithms are rounded.
BESIDE = 1e-9
_NAMES = {
    "exact": "rows of an event at a known time",
    "right": "right-censored rows",
    "left": "left-censored rows",
    "interval": "interval-censored rows",
}
# In strict mode, a row of an undeclared kind is read as the first of these kinds that is declared. It
# contains no more information than the row; the exception is an event in place of a one-sided observation.
_WEAKER = {
    _RIGHT: ("interval", "left", "exact"),
    _EXACT: ("interval", "right", "left"),
    _LEFT: ("interval", "right", "exact"),
    _INTERVAL: ("right", "left", "exact"),
}
# Limits of half the distance of bounds: its square, also times the noise of a tiny epsilon, is a finite
# float.
_NARROWEST, _WIDEST = 1e-135, 1e135
_LARGEST = np.finfo(np.float64).max
_FORM = "y must have two fields, the event (True or False) and then the time"
_FORMS = f"{_FORM}; or the fields lower and upper. It may also have a field entry"
_MAKE = "np.array(list(zip(event, time)), dtype=[('event', bool), ('time', float)])"


@dataclass(frozen=True, eq=False, repr=False)
class PreparedRows:
    """Validated rows of one batch. Attributes that the plan does not read may be None.

    Attributes
    ----------
    X : ndarray of float64 or float32 of shape (n, n_features)
    y : ndarray of float64 of shape (n,), or None
        Target on the scale of the model.
    event : ndarray of uint8 of shape (n,), or None
        Kind of observation (`CODES`). 1: the target is the time of the event; 0: the event comes later; 2: it
        came earlier; 3: it came after `start`, and not after the target.
    labels : ndarray of int of shape (n,), or None
        Positions among the classes.
    steps : ndarray of float64 of shape (n,), or None
        Integer weights.
    start : ndarray of float64 of shape (n,), or None
        Lower ends of intervals, on the scale of the model; used if `event` is 3.
    entry : ndarray of float64 of shape (n,), or None
        Time at which observation began, on the scale of the model; -inf: at the start. None: -inf for all
        rows.
    kept : ndarray of bool or int, or None
        Mask or positions of the rows that count; None: all.
    """

    X: NDArray[Any]
    y: FloatArray | None = None
    event: NDArray[np.uint8] | None = None
    labels: NDArray[Any] | None = None
    steps: FloatArray | None = None
    start: FloatArray | None = None
    entry: FloatArray | None = None
    kept: BoolArray | IndexArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        if self.kept is None:
            return len(self.X)
        return int(np.count_nonzero(self.kept)) if self.kept.dtype == bool else len(self.kept)

    def only_kept(self) -> "PreparedRows":
        """Return the rows that count; they are copied unless all do."""
        if self.kept is None:
            return self
        columns = {name: part for name, part in vars(self).items() if part is not None and name != "kept"}
        return PreparedRows(**{name: column[self.kept] for name, column in columns.items()})

    def keeping(self, kept: BoolArray | IndexArray | None) -> "PreparedRows":
        """Return the same rows, with another mask of those that count."""
        return replace(self, kept=kept)

    def times_and_events(self, n_features: int | None = None) -> tuple[FloatArray, NDArray[np.uint8]]:
        """Return the target of lifetimes; ValueError if there is none, or if X has other columns."""
        if self.y is None or self.event is None:
            raise ValueError("the rows have no times and events.")
        fits = n_features is None or self.X.shape == (len(self.y), n_features)
        if not fits or (n_features is not None and self.event.shape != self.y.shape):
            raise ValueError(f"X must have shape (n, {n_features}), and a target and an event per row.")
        return self.y, self.event


def check_observations(observations: Any, structured: bool, roles: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the declared kinds of observation in canonical order. They are public, never read from rows.

    Parameters
    ----------
    observations : None or iterable of {"exact", "right", "left", "interval", "entry"}
        None: numbers are exact; structured targets are exact or right-censored.
    structured : bool
        Whether the target is a structured one.
    roles : tuple of str, default=()
        Its fields, if they are known.

    Raises
    ------
    ValueError
        A kind is unknown, none is declared, numbers cannot have the declared kinds, or the kinds of the given
        fields are not declared.

    Examples
    --------
    >>> from skprivate.rounds._rows import check_observations
    >>> check_observations(None, structured=True), check_observations(["interval", "right"], structured=True)
    (('exact', 'right'), ('right', 'interval'))
    """
    if observations is None:
        if "lower" in roles:
            raise ValueError(
                "y has the fields lower and upper: declare the kinds of observation that may occur, such as "
                "observations=['right', 'interval']."
            )
        kinds: tuple[str, ...] = KINDS[:2] if structured else KINDS[:1]
    elif isinstance(observations, str):
        raise ValueError(f"observations must be a list of kinds, such as [{observations!r}].")
    else:
        given = set(observations)
        if not given <= set(KINDS) or not given - {"entry"}:
            raise ValueError(f"observations must name some of {', '.join(KINDS)}, and not 'entry' alone.")
        if not structured and given != {"exact"}:
            raise ValueError(
                "observations: a target of plain numbers is exact; other kinds need a structured y."
            )
        kinds = tuple(kind for kind in KINDS if kind in given)
    if "entry" in roles and "entry" not in kinds:
        raise ValueError("y has a field of entries: declare 'entry' among observations.")
    return kinds


@dataclass(frozen=True, eq=False)
class Target:
    """A target on the scale of the model.

    Attributes
    ----------
    time_on_model_scale : ndarray of shape (n_samples,)
        Log time if the model is about log time, otherwise the values as passed. It is the time of the event
        or of right-censoring; for an event that came earlier, or between two times, the upper end.
    event : ndarray of uint8 of shape (n_samples,), or None
        Kind of observation (`CODES`); None for a numeric target.
    start : ndarray of shape (n_samples,), or None
        Lower ends of intervals, -inf for other rows; None: there are no intervals.
    entry : ndarray of shape (n_samples,), or None
        Time at which observation began; -inf: at the start. None: -inf for all rows.
    """

    time_on_model_scale: FloatArray
    event: NDArray[np.uint8] | None = None
    start: FloatArray | None = None
    entry: FloatArray | None = None

    @property
    def structured(self) -> bool:
        """Whether the target has fields."""
        return self.event is not None

    def range(self) -> tuple[float, float]:
        """Return the least and the greatest finite time; (0, 0) if there is none."""
        parts = [self.time_on_model_scale] + ([] if self.start is None else [self.start])
        finite = [part[np.isfinite(part)] for part in parts]
        low = min((float(part.min()) for part in finite if part.size), default=0.0)
        high = max((float(part.max()) for part in finite if part.size), default=0.0)
        return low, high


def codes_of(lower: FloatArray, upper: FloatArray) -> NDArray[np.uint8]:
    """Return the kind of observation of every pair of ends (`CODES`).

    Parameters
    ----------
    lower, upper : ndarray of shape (n,)
        Ends on a scale on which 0, or minus infinity, is before every time; lower is at most upper.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._rows import codes_of
    >>> codes_of(np.array([2.0, 2.0, 0.0, 1.0]), np.array([2.0, np.inf, 3.0, 3.0]))
    array([1, 0, 2, 3], dtype=uint8)
    """
    codes = np.full(len(lower), _INTERVAL, dtype=np.uint8)
    codes[lower <= 0] = _LEFT
    codes[upper == np.inf] = _RIGHT
    codes[lower == upper] = _EXACT
    return codes


def refuse_undeclared(event: NDArray[np.uint8], kinds: tuple[str, ...]) -> None:
    """Raise ValueError for rows of an undeclared kind; the message names only the kind."""
    for kind, code in CODES.items():
        if kind not in kinds and (event == code).any():
            raise ValueError(f"y holds {_NAMES[kind]}, which observations does not declare.")


def read_undeclared(target: Target, kinds: tuple[str, ...], bounds: tuple[float, float]) -> Target:
    """Read rows of undeclared kinds as declared ones, in strict mode; each row is read by itself.

    Parameters
    ----------
    target : Target
        Structured target.
    kinds : tuple of str
        Declared kinds of observation.
    bounds : tuple of two floats
        Bounds of the target, on the scale of the model.

    Returns
    -------
    target : Target
        A row of an undeclared kind gets the first declared kind of its line below. It keeps its ends; a bound
        replaces an end that it lacks:

        - an event: an interval from the lower bound, right-censored, left-censored;
        - right-censored: an interval to the upper bound, left-censored (at the upper bound), an event;
        - left-censored: an interval from the lower bound, right-censored (at the lower bound), an event;
        - an interval: right-censored, left-censored, an event at its end.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._rows import Target, read_undeclared
    >>> target = Target(np.array([1.5]), np.array([2], dtype=np.uint8))
    >>> read = read_undeclared(target, ("exact", "interval"), (0.0, 5.0))
    >>> read.event, read.start, read.time_on_model_scale
    (array([3], dtype=uint8), array([0.]), array([1.5]))
    """
    assert target.event is not None
    missing = [code for kind, code in CODES.items() if kind not in kinds and (target.event == code).any()]
    if not missing:
        return target
    low, high = bounds
    begin, end = _ends(target)
    event, time = target.event.copy(), target.time_on_model_scale.copy()
    start = np.full(len(time), -np.inf) if target.start is None else target.start.copy()
    for code in missing:
        rows = target.event == code
        kind = next(kind for kind in _WEAKER[code] if kind in kinds)
        first, last = begin[rows], end[rows]
        event[rows] = CODES[kind]
        if kind == "interval":
            start[rows] = np.where(np.isfinite(first) & (first < last), first, low)
            time[rows] = np.where(np.isfinite(last), last, high)
        elif kind == "right":
            time[rows] = np.where(np.isfinite(first), first, low)
        elif kind == "left":
            time[rows] = np.where(np.isfinite(last), last, high)
        else:
            time[rows] = np.where(np.isfinite(last), last, np.where(np.isfinite(first), first, low))
    start[event != _INTERVAL] = -np.inf
    return Target(time, event, start, target.entry)


def within_target_bounds(target: Target, kinds: tuple[str, ...], bounds: tuple[float, float]) -> Target:
    """Put rows of declared kinds within the bounds of the target; the result has only declared kinds.

    Parameters
    ----------
    target : Target
        Rows of declared kinds; numbers are events.
    kinds : tuple of str
        Declared kinds of observation.
    bounds : tuple of two floats
        Bounds of the target, on the scale of the model.

    Returns
    -------
    target : Target
        If "exact" and "right" are the declared kinds, an event after the upper bound is censored there, and
        times are unchanged, to be clipped later. Otherwise times are within the bounds, and:

        - An event after the upper bound is right-censored there, one before the lower bound left-censored
          there, if that kind is declared. Otherwise it is an event at the bound.
        - An interval that ends after the upper bound is right-censored at its lower end. If that is not
          declared, it ends at the bound; if it also begins after the bound, it is an event there, or carries
          no information.
        - An interval that begins before the lower bound is left-censored at its upper end. If that is not
          declared, it begins at the bound; if it also ends before the bound, it is an event there, or carries
          no information.
        - An entry before the lower bound is ignored. A row whose end, within the bounds, is not after its
          entry carries no information.

        A row without information has no entry. It is right-censored at the lower bound, or an interval
        between the bounds, or left-censored at the upper bound: the first of these kinds that is declared. If
        only events are declared, it is an event.

    Notes
    -----
    **Privacy.** The result for a row depends only on public facts and on that row: neighbouring tables stay
    neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._rows import Target, within_target_bounds
    >>> target = Target(np.array([9.0, 2.0]), np.array([3, 3], dtype=np.uint8), np.array([4.0, 1.0]))
    >>> inside = within_target_bounds(target, ("right", "interval"), (0.0, 5.0))
    >>> inside.event, inside.start, inside.time_on_model_scale
    (array([0, 3], dtype=uint8), array([-inf,   1.]), array([4., 2.]))
    """
    low, high = bounds
    # Numbers are events; the fit decides about those after the upper bound.
    time = target.time_on_model_scale
    exact = np.ones(len(time), dtype=bool) if target.event is None else target.event == _EXACT
    plain = kinds == ("exact", "right") and target.start is None and target.entry is None
    if target.event is None or plain:
        return Target(time, event_within(time, exact, high))
    begin, end = _ends(target)
    event, time = target.event.copy(), time.copy()
    nothing = np.zeros(len(event), dtype=bool)
    late = (event == _INTERVAL) & (begin >= high)
    if "right" in kinds:
        late = np.isin(event, (_EXACT, _INTERVAL)) & (end > high)
        event[late], time[late] = _RIGHT, begin[late]
    elif "exact" in kinds:
        event[late] = _EXACT
    else:
        nothing |= late
    early = (event == _INTERVAL) & (end <= low)
    if "left" in kinds:
        event[early | (np.isin(event, (_EXACT, _INTERVAL)) & (begin < low))] = _LEFT
    elif "exact" in kinds:
        event[early] = _EXACT
    else:
        nothing |= early
    time = np.clip(time, low, high)
    start = np.where(event == _INTERVAL, np.maximum(begin, low), -np.inf)
    # Ends that differ, and whose logarithms do not.
    narrow = (start >= time) & ~nothing
    if "exact" in kinds:
        event[narrow], start[narrow] = _EXACT, -np.inf
    else:
        start[narrow] = np.nextafter(time[narrow], -np.inf)
    entry = None
    if target.entry is not None:
        entry = np.where((target.entry > low) & (event != _LEFT), target.entry, -np.inf)
        nothing |= entry >= time
        entry[nothing] = -np.inf
    # Code, time and start of a row without information; no such kind if only events are declared.
    uninformative = {
        "right": (_RIGHT, low, -np.inf),
        "interval": (_INTERVAL, high, low),
        "left": (_LEFT, high, -np.inf),
    }
    for kind, row in uninformative.items():
        if kind in kinds:
            event[nothing], time[nothing], start[nothing] = row
            break
    return Target(time, event, start if "interval" in kinds else None, entry)


def event_within(time: FloatArray, event: BoolArray, last: float) -> NDArray[np.uint8]:
    """Return 1 for events at or before the upper bound of the target; later events are censored there."""
    # The result depends on the row alone: neighbours stay neighbours.
    return np.ascontiguousarray(np.asarray(event, dtype=np.bool_) & (time <= last)).view(np.uint8)


def _ends(target: Target) -> tuple[FloatArray, FloatArray]:
    """Return the ends between which each lifetime is known to be; they are equal for events."""
    time, event = target.time_on_model_scale, target.event
    begin = np.where((event == _EXACT) | (event == _RIGHT), time, -np.inf)
    if target.start is not None:
        begin = np.where(event == _INTERVAL, target.start, begin)
    return begin, np.where(event == _RIGHT, np.inf, time)


def refuse_other_forms(y: Any) -> None:
    """Refuse text, pairs without field names, and dates and durations, which would be read as nanoseconds.

    Parameters
    ----------
    y : array-like
        A target as passed by the user, without fields.

    Raises
    ------
    TypeError
        `y` holds dates or durations, or is an array or a column of text.
    ValueError
        `y` has several columns, or a text that is not a number.

    Examples
    --------
    >>> from skprivate.rounds._rows import refuse_other_forms
    >>> refuse_other_forms([1.0, 2.5])
    """
    refuse_text(y)
    values = np.asarray(y)
    if values.dtype.kind in "OUS":
        is_text = [isinstance(cell, str | bytes) for cell in values.ravel().tolist()]
        if np.isnan(numbers_of(values, "y").ravel()[np.array(is_text, dtype=bool)]).any():
            raise ValueError("y holds text that is not a number: turn it into numbers of one unit.")
    if values.dtype.kind in "mM":
        raise TypeError("y holds dates or durations; turn them into numbers of one unit, such as days.")
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got {values.shape[1]} columns. Pass censored times as a structured "
            f"array: {_MAKE}."
        )


def refuse_text(y: Any) -> None:
    """Raise TypeError if the type of a target, which is public, is text; a list has no type."""
    if kind_of_labels(y) == "text":
        raise TypeError("y holds text, not numbers: pass y.astype(float), or pandas.to_numeric(y).")


def find_roles(y: Any) -> tuple[str, ...]:
    """Return the roles of a structured target's fields, by their public names and number.

    Parameters
    ----------
    y : structured array, record array or data frame
        Two fields "lower" and "upper", in any order; or two fields of other names, the event and then the
        time, as in scikit-survival. A third field may be named "entry".

    Returns
    -------
    roles : tuple of str
        Roles of the fields in their order: "event", "time", "lower", "upper", "entry".

    Raises
    ------
    TypeError
        `y` is a masked array.
    ValueError
        `y` has other fields.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._rows import find_roles
    >>> find_roles(np.empty(0, dtype=[("failed", bool), ("days", float), ("entry", float)]))
    ('event', 'time', 'entry')
    """
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError("y must not be a masked array: a hidden time is neither an event nor censored.")
    names = _names(y)
    others = [name for name in names if name != "entry"]
    if len(others) != 2 or len(names) > 3:
        raise ValueError(f"{_FORMS}; it has {len(names)}.")
    roles = dict(zip(others, others if set(others) == {"lower", "upper"} else ("event", "time"), strict=True))
    return tuple(roles.get(name, "entry") for name in names)


def _names(y: Any) -> list[Any]:
    return list(y.columns) if is_frame(y) else list(y.dtype.names)


def read_target(y: Any, log_target: bool, kinds: tuple[str, ...] | None = None) -> Target:
    """Read a target in any of its forms.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Finite numbers, already validated; or a structured array, a record array or a data frame with the
        fields of `find_roles`. The event is boolean (True: it happened at the time), the others are numbers.
        With the fields lower and upper, the event happened after lower, and not after upper: at upper if both
        are equal; after lower if upper is infinite; before upper if lower is 0 (or minus infinity). An entry
        of 0 or less means that the row was observed from the start.
    log_target : bool
        Whether the model is about log time. The times of a structured target are always put on log scale.
    kinds : tuple of str, default=None
        Declared kinds of observation. None: rows of any kind are read.

    Returns
    -------
    target : Target
        The event of a left-censored row with an entry came after that entry: the row has the kind "interval",
        and its interval begins at the entry.

    Raises
    ------
    TypeError
        The event is not boolean (0 and 1 are refused: fields may be in the wrong order), or a time is not
        a number.
    ValueError
        `y` has other fields, or is not one-dimensional; a time is missing, infinite or not above 0; lower is
        above upper; an entry is not before the end of its row; a row is of an undeclared kind.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._rows import read_target
    >>> y = np.array([(True, 1.0), (False, np.e)], dtype=[("event", bool), ("time", float)])
    >>> target = read_target(y, log_target=True)
    >>> target.time_on_model_scale, target.event
    (array([0., 1.]), array([1, 0], dtype=uint8))
    """
    if not is_structured(y):
        values = np.asarray(y, dtype=np.float64)
        if not log_target:
            return Target(values)
        _refuse_early(values)
        # Contiguous: the logarithm of a value must not depend on its position.
        return Target(np.log(np.ascontiguousarray(values)))
    fields = _fields(y)
    if "event" in fields:
        event = fields["event"]
        if event.dtype == object and all(isinstance(value, bool | np.bool_) for value in event):
            event = event.astype(bool)
        if event.dtype != bool:
            raise TypeError(f"{_FORM}; the event is of type {event.dtype}, not boolean. {_declare_events(y)}")
        lower = upper = times = _check_times(fields["time"], "time")
        _refuse_early(times)
        codes = np.ascontiguousarray(event).view(np.uint8)
    else:
        lower, upper = _check_ends(fields["lower"], fields["upper"])
        codes, times = codes_of(lower, upper), np.where(upper == np.inf, lower, upper)
    entry = None
    if "entry" in fields:
        entry = np.maximum(_check_times(fields["entry"], "entry", lowest=-np.inf), 0.0)
        if (entry >= times).any():
            raise ValueError("y holds an entry that is not before the end of its row.")
    target = _on_log_scale(times, codes, lower if "lower" in fields else None, entry)
    if kinds is not None:
        refuse_undeclared(target.event, kinds)  # type: ignore[arg-type]
    return target


def _check_ends(lower: NDArray[Any], upper: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    lower, upper = _numbers(lower, "lower"), _numbers(upper, "upper")
    if np.isnan(lower).any() or np.isnan(upper).any():
        raise ValueError(
            "y holds NaN: write an unknown lower end as 0, and an unknown upper end as infinity."
        )
    if (np.isfinite(lower) & (lower < 0)).any() or (upper <= 0).any():
        raise ValueError("y holds times that are below 0, or upper ends that are not above 0.")
    if (lower == np.inf).any():
        raise ValueError("y holds lower ends that are infinite.")
    if (lower > upper).any():
        raise ValueError("y holds rows whose lower end is above their upper end.")
    return np.maximum(lower, 0.0), upper


def _on_log_scale(
    times: FloatArray, codes: NDArray[np.uint8], lower: FloatArray | None, entry: FloatArray | None
) -> Target:
    """Put ends and entries on log scale; the interval of a left-censored row begins at its entry."""
    start = None
    # Contiguous: the logarithm of a value must not depend on its position.
    with np.errstate(divide="ignore"):
        if lower is not None:
            begin = lower if entry is None else np.maximum(lower, entry)
            codes = np.where((codes == CODES["left"]) & (begin > 0), np.uint8(CODES["interval"]), codes)
            start = np.where(codes == CODES["interval"], np.log(begin), -np.inf)
        entry = None if entry is None else np.log(np.ascontiguousarray(entry))
        return Target(np.log(np.ascontiguousarray(times)), codes, start, entry)


def replace_target(
    y: Any, bounds: tuple[float, float], log_target: bool, kinds: tuple[str, ...] = KINDS[:2]
) -> Target:
    """Read a target in strict mode: no value in it causes an error.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        As for `read_target`, not validated.
    bounds : tuple of two floats
        Declared bounds, in the units of `y`; above 0 with `log_target`.
    log_target : bool
        Whether the model is about log time.
    kinds : tuple of str, default=("exact", "right")
        Declared kinds of observation of a structured target.

    Returns
    -------
    target : Target
        Values are replaced by these rules.

        - A time that is not above 0 becomes the lower bound, an infinite one the largest float. For targets
          that are not times, infinities become the bounds.
        - A missing value, or one that is not a number, becomes the middle of the bounds on the scale of the
          model. In a structured target, the row is censored at the lower bound instead, which carries no
          information. A row whose event is neither True nor False is treated in the same way.
        - A lower or upper end that is missing or not a number is unknown (0 or infinity). An upper end that
          is not above 0 becomes the lower bound. If both ends are infinite, the row is right-censored at the
          upper bound. Ends in the wrong order are exchanged.
        - An entry that is missing, not a number, or not before the end of its row is ignored.
        - Rows of undeclared kinds are read by `read_undeclared`.

    Raises
    ------
    TypeError, ValueError
        The target as a whole has none of the forms and types of `read_target`.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._rows import replace_target
    >>> replace_target(["text", -1.0, np.e], (1.0, np.exp(2.0)), log_target=True).time_on_model_scale
    array([1., 0., 1.])
    """
    low, high = bounds
    if not is_structured(y):
        refuse_text(y)
        values = _one_column(numbers_of(as_column(y), "y"))
        if log_target:
            times = np.where(np.isnan(values), np.sqrt(low) * np.sqrt(high), _positive(values, low))
            return Target(np.log(np.ascontiguousarray(times)))
        return Target(within_bounds(values, low, high))
    fields = _fields(y)
    if "event" in fields:
        times = _strict_numbers(fields["time"], "time")
        event, known = _strict_event(fields["event"], y)
        times = np.where(known, times, np.nan)
        codes = (event & ~np.isnan(times)).view(np.uint8)
        # A finite event beyond the bounds is treated as outside strict mode.
        lower = upper = times = _positive(times, low)
    else:
        lower, upper = _strict_ends(fields["lower"], fields["upper"], bounds)
        codes, times = codes_of(lower, upper), np.where(upper == np.inf, lower, upper)
    entry = None
    if "entry" in fields:
        entry = _strict_numbers(fields["entry"], "entry")
        entry = np.where((entry > 0) & (entry < times), entry, 0.0)
    target = _on_log_scale(times, codes, lower if "lower" in fields else None, entry)
    return read_undeclared(target, kinds, on_model_scale(bounds, log_target))


def _strict_ends(
    lower: NDArray[Any], upper: NDArray[Any], bounds: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    ends = _strict_numbers(lower, "lower"), _strict_numbers(upper, "upper")
    first = np.where(ends[0] > 0, ends[0], 0.0)
    last = np.where(np.isnan(ends[1]), np.inf, np.where(ends[1] > 0, ends[1], bounds[0]))
    first, last = np.minimum(first, last), np.maximum(first, last)
    return np.where(first == np.inf, bounds[1], first), last


def _positive(times: FloatArray, low: float) -> FloatArray:
    """Return finite times above 0; `low` replaces missing times and those not above 0."""
    return np.where(times > 0, np.minimum(times, _LARGEST), low)


def _strict_event(event: NDArray[Any], y: Any) -> tuple[BoolArray, BoolArray]:
    """Return which events happened, and for which rows this is known."""
    if event.dtype == bool:
        return event, np.ones(len(event), dtype=bool)
    if event.dtype != object:
        # The message does not name its type: a missing cell turns integers of pandas into floats.
        raise TypeError(f"{_FORM}; the event is not boolean. {_declare_events(y)}")
    # Cells are recognised by their types: other objects may refuse to be compared.
    known = np.array([type(cell) in (bool, np.bool_) for cell in event], dtype=bool)
    happened = np.zeros(len(event), dtype=bool)
    happened[known] = event[known].astype(bool)
    return happened, known


def _declare_events(y: Any) -> str:
    """Return the remedy for events that are not boolean, with the names of the fields."""
    named = dict(zip(find_roles(y), _names(y), strict=True))
    if np.asarray(y[named["time"]][:0]).dtype.kind == "b":  # in the wrong order
        return (
            f"Pass life_data(time=y[{named['event']!r}], event=y[{named['time']!r}]): the event comes first."
        )
    return (
        "Declare the value which means that the event happened (2 if 1 means censored, 1 if 0 does): "
        f"life_data(time=y[{named['time']!r}], event=y[{named['event']!r}], happened=...), or "
        "TableSource(..., happened=...). The event comes first."
    )


def _strict_numbers(times: NDArray[Any], role: str) -> FloatArray:
    # Nullable booleans with a missing cell are objects: both types are read as numbers.
    if times.dtype.kind not in "biufO":
        raise TypeError(f"{_FORMS}; the {role} is of type {times.dtype}, not a number.")
    return numbers_of(times, "y")


def _one_column(values: Any) -> FloatArray:
    from sklearn.utils import column_or_1d

    if isinstance(values, list | tuple):
        raise ValueError("y should be a 1d array; its rows are of different lengths.")
    if values.ndim == 2 and values.shape[1] > 1:
        refuse_other_forms(values)
    return values if values.ndim == 1 else column_or_1d(values, warn=True)


def check_form(no_targets: Any, log_target: bool, *, strict: bool) -> None:
    """Raise an error if the form or the type of a target is wrong; it is passed without rows."""
    if strict:
        replace_target(no_targets, (1.0, 2.0), log_target)
    elif is_structured(no_targets):
        read_target(no_targets, log_target)
    else:
        refuse_other_forms(no_targets)


def check_target_bounds(bounds: Any, log_target: bool) -> tuple[float, float]:
    """Return declared bounds of the target as two floats, in their own units."""
    lower, upper = check_bounds(bounds, 1, name="bounds_y")
    if log_target and lower[0] <= 0:
        raise ValueError("bounds_y must be above 0: the target is a time, modelled by its logarithm.")
    return float(lower[0]), float(upper[0])


def check_target_width(bounds: tuple[float, float]) -> None:
    """Raise ValueError if the square of the distance of bounds is no finite float above 0."""
    if not _NARROWEST <= bounds[1] / 2 - bounds[0] / 2 <= _WIDEST:
        raise ValueError("bounds_y are too close together or too far apart for floats.")


def on_model_scale(bounds: tuple[float, float], log_target: bool) -> tuple[float, float]:
    """Put bounds of the target on the scale of the model."""
    low, high = bounds
    return (float(np.log(low)), float(np.log(high))) if log_target else (low, high)


def _fields(y: Any) -> dict[str, NDArray[Any]]:
    """Return the fields as arrays, by their roles."""
    fields = {role: np.asarray(y[name]) for role, name in zip(find_roles(y), _names(y), strict=True)}
    if any(field.ndim != 1 for field in fields.values()):
        raise ValueError("y must be one-dimensional, one value of every field per row.")
    return fields


def _numbers(times: NDArray[Any], role: str) -> FloatArray:
    if times.dtype.kind not in "iuf":
        raise TypeError(f"{_FORMS}; the {role} is of type {times.dtype}, not a number.")
    with np.errstate(over="ignore"):
        return times.astype(np.float64)


def _check_times(times: NDArray[Any], role: str, lowest: float = 0.0) -> FloatArray:
    values = _numbers(times, role)
    if not (np.isfinite(values) | (values == lowest)).all():
        raise ValueError("Input y contains NaN or infinity: every time must be a finite number.")
    return values


def _refuse_early(times: FloatArray) -> None:
    if not (times > 0).all():
        raise ValueError(
            "y holds times that are not above 0, but the model is about log time. Replace a time of 0 "
            "by half a unit: times.clip(lower=0.5). Distributions 'sev', 'logistic' and 'normal' accept "
            "numbers of any sign."
        )


def read_labelled_rows(model: Any, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any]]:
    """Validate X and labels; in strict mode, no cell causes an error."""
    # Imported here: it needs scikit-learn, a client does not.
    from ..utils._tables import validate_data

    with public_errors():
        refuse_label_types(y, model.classes)
    X = model._encode_rows(X)
    if model.is_strict():
        X = model.read_numbers(X)
        y = model.read_labels(y, len(X))
    else:
        X, y = validate_data(model, X, as_labels(y), dtype=np.float64, order="C")
    model._name_columns()
    return X, y


def read_numbered_rows(model: Any, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any]]:
    """Validate X and numbers; in strict mode, no cell causes an error."""
    from sklearn.utils import check_consistent_length

    from ..utils._tables import validate_data

    if is_structured(y):
        raise ValueError("y must be numbers, and no times with events.")
    X = model._encode_rows(X)
    if model.is_strict():
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        X = model.read_numbers(X)
        # Half of the largest float, so that the width is finite.
        largest = float(_LARGEST) / 2
        bounds = (-largest, largest) if model.bounds_y is None else check_target_bounds(model.bounds_y, False)
        y = replace_target(y, bounds, False).time_on_model_scale
        check_consistent_length(X, y)
    else:
        refuse_other_forms(y)
        X, y = validate_data(model, X, y, dtype=np.float64, order="C", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
    model._name_columns()
    return X, y
