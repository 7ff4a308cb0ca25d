# SPDX-License-Identifier: BSD-3-Clause
"""What is known of each lifetime, by kind of observation: kinds that are declared, within declared bounds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._typing import BoolArray, FloatArray
from .._plans.observations import CODES

_RIGHT, _EXACT, _LEFT, _INTERVAL = (CODES[kind] for kind in ("right", "exact", "left", "interval"))
_NAMES = {
    "exact": "rows of an event at a known time",
    "right": "right-censored rows",
    "left": "left-censored rows",
    "interval": "interval-censored rows",
}
# What a row of an undeclared kind is read as in strict mode: the first of these that is declared. It says no
# more than the row, but for an event at a time that is known only from one side.
_WEAKER = {
    _RIGHT: ("interval", "left", "exact"),
    _EXACT: ("interval", "right", "left"),
    _LEFT: ("interval", "right", "exact"),
    _INTERVAL: ("right", "left", "exact"),
}


@dataclass(frozen=True, eq=False)
class Target:
    """A target on the scale of the model.

    Attributes
    ----------
    time_on_model_scale : ndarray of shape (n_samples,)
        Log time where the model is about log time, else the values as passed: that of the event, or of
        right-censoring; where the event came earlier, or between two times, the later end.
    event : ndarray of uint8 of shape (n_samples,), or None
        What is known (`CODES`); None for a numeric target.
    start : ndarray of shape (n_samples,), or None
        Where intervals begin, else -inf; None: there are none.
    entry : ndarray of shape (n_samples,), or None
        When watching began; -inf: from the start. None: all rows from the start.
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
        """Return the least and the greatest finite time; (0, 0) where there is none."""
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
        On any scale on which 0, or minus infinity, is before every time; lower is at most upper.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._reading.lives import codes_of
    >>> codes_of(np.array([2.0, 2.0, 0.0, 1.0]), np.array([2.0, np.inf, 3.0, 3.0]))
    array([1, 0, 2, 3], dtype=uint8)
    """
    codes = np.full(len(lower), _INTERVAL, dtype=np.uint8)
    codes[lower <= 0] = _LEFT
    codes[upper == np.inf] = _RIGHT
    codes[lower == upper] = _EXACT
    return codes


def refuse_undeclared(event: NDArray[np.uint8], kinds: tuple[str, ...]) -> None:
    """Refuse rows of a kind that is not declared; the message names the kind and nothing else."""
    for kind, code in CODES.items():
        if kind not in kinds and (event == code).any():
            raise ValueError(f"y holds {_NAMES[kind]}, which observations does not declare.")


def read_undeclared(target: Target, kinds: tuple[str, ...], bounds: tuple[float, float]) -> Target:
    """Read rows of undeclared kinds as declared ones, in strict mode; a row by itself decides.

    Parameters
    ----------
    target : Target
        Structured.
    kinds : tuple of str
        Declared.
    bounds : tuple of two floats
        Of the target, on the scale of the model.

    Returns
    -------
    target : Target
        A row of an undeclared kind is of the first declared one of these, with the ends that it has; an end
        that it lacks is a bound:

        - an event: an interval from the lower bound, right-censored, left-censored;
        - right-censored: an interval to the upper bound, left-censored (at the upper bound), an event;
        - left-censored: an interval from the lower bound, right-censored (at the lower bound), an event;
        - an interval: right-censored, left-censored, an event at its end.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._reading.lives import Target, read_undeclared
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
    """Put rows of declared kinds within the bounds of the target; kinds that are not declared do not arise.

    Parameters
    ----------
    target : Target
        Of declared kinds alone; numbers are events.
    kinds : tuple of str
        Declared.
    bounds : tuple of two floats
        Of the target, on the scale of the model.

    Returns
    -------
    target : Target
        Of events and times, where these two kinds are declared: an event after the upper bound is censored
        there, and times are as they were, to be clipped. Else times are within the bounds, and

        - an event after the upper bound is right-censored there if that is declared, one before the lower
          bound left-censored there if that is declared, and else at the bound;
        - an interval that ends after the upper bound is right-censored at its beginning; where that is not
          declared it ends at the bound, and one that begins after it is an event there, or says nothing;
        - an interval that begins before the lower bound is left-censored at its end; where that is not
          declared it begins at the bound, and one that ends before it is an event there, or says nothing;
        - an entry before the lower bound is none; a row that ends, then, before its entry says nothing.

        A row that says nothing is right-censored at the lower bound, or an interval between the bounds, or
        left-censored at the upper one, whichever is declared first, and has no entry. Where events alone are
        declared, it is an event without an entry.

    Notes
    -----
    **Privacy.** What becomes of a row depends on public facts and on that row alone: neighbouring tables stay
    neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._reading.lives import Target, within_target_bounds
    >>> target = Target(np.array([9.0, 2.0]), np.array([3, 3], dtype=np.uint8), np.array([4.0, 1.0]))
    >>> inside = within_target_bounds(target, ("right", "interval"), (0.0, 5.0))
    >>> inside.event, inside.start, inside.time_on_model_scale
    (array([0, 3], dtype=uint8), array([-inf,   1.]), array([4., 2.]))
    """
    low, high = bounds
    # Numbers are events; what becomes of those after the upper bound is for the fit to choose.
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
    # Ends that differ by less than their logarithms show.
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
    said = _say_nothing(kinds, bounds)
    if said is not None:
        event[nothing], time[nothing], start[nothing] = said
    return Target(time, event, start if "interval" in kinds else None, entry)


def event_within(time: FloatArray, event: BoolArray, last: float) -> NDArray[np.uint8]:
    """Return 1 for events at or before the upper bound of the target: what comes later is censored there."""
    # A row by itself decides: neighbours stay neighbours.
    return np.ascontiguousarray(np.asarray(event, dtype=np.bool_) & (time <= last)).view(np.uint8)


def _say_nothing(kinds: tuple[str, ...], bounds: tuple[float, float]) -> tuple[int, float, float] | None:
    """Return code, time and start of a row that says nothing; None where events alone are declared."""
    low, high = bounds
    if "right" in kinds:
        return _RIGHT, low, -np.inf
    if "interval" in kinds:
        return _INTERVAL, high, low
    return (_LEFT, high, -np.inf) if "left" in kinds else None


def _ends(target: Target) -> tuple[FloatArray, FloatArray]:
    """Ends between which every lifetime is known to be; they are equal for events."""
    time, event = target.time_on_model_scale, target.event
    begin = np.where((event == _EXACT) | (event == _RIGHT), time, -np.inf)
    if target.start is not None:
        begin = np.where(event == _INTERVAL, target.start, begin)
    return begin, np.where(event == _RIGHT, np.inf, time)
