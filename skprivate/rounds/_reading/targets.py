# SPDX-License-Identifier: BSD-3-Clause
"""Reading and checking of targets: numbers, or times of which some are censored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from ..._typing import BoolArray, FloatArray
from ...utils import as_column, check_bounds, is_frame, is_structured
from ...utils._replacements import numbers_of, within_bounds

# Of half the distance of bounds: its square, and that times the noise of a tiny epsilon, is a float.
_NARROWEST, _WIDEST = 1e-135, 1e135
_FORM = "y must have two fields, the event (True or False) and then the time"
_MAKE = "np.array(list(zip(event, time)), dtype=[('event', bool), ('time', float)])"


@dataclass(frozen=True, eq=False)
class Target:
    """A target on the scale of the model.

    Attributes
    ----------
    time_on_model_scale : ndarray of shape (n_samples,)
        Log time where the model is about log time, else the values as passed.
    event : ndarray of bool of shape (n_samples,), or None
        Whether the time is that of the event, not of censoring; None for a numeric target.
    """

    time_on_model_scale: FloatArray
    event: BoolArray | None = None

    @property
    def structured(self) -> bool:
        """Whether the target distinguishes events from censored times."""
        return self.event is not None


def refuse_other_forms(y: Any) -> None:
    """Refuse pairs without field names, and dates and durations, which would be read as nanoseconds.

    Parameters
    ----------
    y : array-like
        A target as passed by the user, not structured.

    Raises
    ------
    TypeError
        Dates or durations.
    ValueError
        Several columns.

    Examples
    --------
    >>> from skprivate.rounds._reading.targets import refuse_other_forms
    >>> refuse_other_forms([1.0, 2.5])
    """
    values = np.asarray(y)
    if values.dtype.kind in "mM":
        raise TypeError("y holds dates or durations; turn them into numbers of one unit, such as days.")
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got {values.shape[1]} columns. Times of which some are censored are a "
            f"structured array: {_MAKE}."
        )


def read_target(y: Any, log_target: bool) -> Target:
    """Read a target in any of its forms.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Finite numbers, already validated; or a structured array, a record array or a data frame with two
        fields, the first boolean (True: the event happened at the time), the second a number, in this order
        as in scikit-survival. Names do not matter.
    log_target : bool
        Whether the model is about log time. The times of a structured target are always put on log scale.

    Returns
    -------
    target : Target

    Raises
    ------
    TypeError
        The event is not boolean (0 and 1 are refused: fields may be in the wrong order), or the time is not
        a number.
    ValueError
        Not two fields; not one-dimensional; a time is missing, infinite or not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._reading.targets import read_target
    >>> y = np.array([(True, 1.0), (False, np.e)], dtype=[("event", bool), ("time", float)])
    >>> target = read_target(y, log_target=True)
    >>> target.time_on_model_scale, target.event
    (array([0., 1.]), array([ True, False]))
    """
    if not is_structured(y):
        values = np.asarray(y, dtype=np.float64)
        return Target(_log_times(values) if log_target else values)
    event, times = _fields(y)
    event = _check_event(event)
    return Target(_log_times(_check_times(times)), event)


def replace_target(y: Any, bounds: tuple[float, float], log_target: bool) -> Target:
    """Read a target in strict mode: no value of it makes this fail.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        As for `read_target`, not validated.
    bounds : tuple of two floats
        Declared, in the units of `y`; above 0 with `log_target`.
    log_target : bool
        Whether the model is about log time.

    Returns
    -------
    target : Target
        Infinities, and times that are not above 0, are at the bounds. What is missing or no number is in the
        middle of the bounds, on the scale of the model; a time of a structured target is then censored at the
        lower bound, which carries no information, and so is an event that is neither True nor False.

    Raises
    ------
    TypeError, ValueError
        The form or the type of the whole target is none of those of `read_target`.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.rounds._reading.targets import replace_target
    >>> replace_target(["text", -1.0, np.inf], (1.0, np.exp(2.0)), log_target=True).time_on_model_scale
    array([1., 0., 2.])
    """
    low, high = bounds
    event = None
    if is_structured(y):
        found, times = _fields(y)
        values = _strict_times(times)
        # What comes after the upper bound is censored there, as outside strict mode; NaN compares as False.
        event = _strict_event(found) & (values <= high)
        values = np.where(np.isnan(values), low, values)
    else:
        values = _one_column(numbers_of(as_column(y), "y"))
    if log_target:
        return Target(within_bounds(np.log(np.clip(values, low, high)), np.log(low), np.log(high)), event)
    return Target(within_bounds(values, low, high), event)


def _strict_event(event: NDArray[Any]) -> BoolArray:
    if event.dtype != object:
        return _check_event(event)
    return np.array([isinstance(cell, bool | np.bool_) and bool(cell) for cell in event], dtype=bool)


def _strict_times(times: NDArray[Any]) -> FloatArray:
    if times.dtype.kind not in "iufO":
        raise TypeError(f"{_FORM}; the time is of type {times.dtype}, not a number.")
    values: FloatArray = numbers_of(times, "y")
    return values


def _one_column(values: Any) -> FloatArray:
    if isinstance(values, list | tuple):
        raise ValueError("y should be a 1d array; its rows are of different lengths.")
    if values.ndim == 2 and values.shape[1] > 1:
        refuse_other_forms(values)
    column: FloatArray = values if values.ndim == 1 else column_or_1d(values, warn=True)
    return column


def check_form(no_targets: Any, log_target: bool, *, strict: bool) -> None:
    """Refuse the form or the type of a target, of which no row is passed."""
    if strict:
        replace_target(no_targets, (1.0, 2.0), log_target)
    elif is_structured(no_targets):
        read_target(no_targets, log_target)
    else:
        refuse_other_forms(no_targets)


def check_target_bounds(bounds: Any, log_target: bool) -> tuple[float, float]:
    """Return declared bounds of the target as two floats, in the units that they have."""
    lower, upper = check_bounds(bounds, 1, name="bounds_y")
    if log_target and lower[0] <= 0:
        raise ValueError("bounds_y must be above 0: the target is a time, modelled by its logarithm.")
    return float(lower[0]), float(upper[0])


def check_target_width(bounds: tuple[float, float]) -> None:
    """Refuse bounds of a target for which squares of their distance are no floats."""
    if not _NARROWEST <= bounds[1] / 2 - bounds[0] / 2 <= _WIDEST:
        raise ValueError("bounds_y are too close together or too far apart for floats.")


def on_model_scale(bounds: tuple[float, float], log_target: bool) -> tuple[float, float]:
    """Put bounds of the target on the scale of the model."""
    low, high = bounds
    return (float(np.log(low)), float(np.log(high))) if log_target else (low, high)


def _fields(y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two fields as arrays."""
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError("y must not be a masked array: a hidden time is neither an event nor censored.")
    names = list(y.columns) if is_frame(y) else list(y.dtype.names)
    if len(names) != 2:
        raise ValueError(f"{_FORM}; it has {len(names)}.")
    event, times = (np.asarray(y[name]) for name in names)
    if event.ndim != 1 or times.ndim != 1:
        raise ValueError("y must be one-dimensional, one event and one time per row.")
    return event, times


def _check_event(event: NDArray[Any]) -> BoolArray:
    if event.dtype == object and all(isinstance(value, bool | np.bool_) for value in event):
        event = event.astype(bool)
    if event.dtype != bool:
        raise TypeError(
            f"{_FORM}; the event is of type {event.dtype}, not boolean. Numbers that mean it: "
            "y['event'].astype(bool), and the event comes first."
        )
    return event


def _check_times(times: NDArray[Any]) -> FloatArray:
    if times.dtype.kind not in "iuf":
        raise TypeError(f"{_FORM}; the time is of type {times.dtype}, not a number.")
    with np.errstate(over="ignore"):
        values = times.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity: every time must be a finite number.")
    return values


def _log_times(times: FloatArray) -> FloatArray:
    if not (times > 0).all():
        raise ValueError(
            "y holds times that are not above 0; the model is about log time. Distributions 'sev', "
            "'logistic' and 'normal' take numbers of any sign."
        )
    # Contiguous: the logarithm of a value must not depend on where it stands.
    return np.log(np.ascontiguousarray(times))
