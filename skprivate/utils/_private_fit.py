# SPDX-License-Identifier: BSD-3-Clause
"""Decorators of methods that read rows: atomic changes, counted failures, messages without values."""

import functools
import itertools
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from ..exceptions import BudgetExceededError, LedgerError, PrivacyLeakError, PrivacyLeakWarning

Method = TypeVar("Method", bound=Callable[..., Any])

# Messages of scikit-learn and numpy that repeat values of the data, and their replacements.
_REVEALING = {
    "could not convert string to float": (
        "could not convert string to float: X holds text; declare its columns from public knowledge: "
        'domain=TableDomain({"x0": (low, high), "x1": ["...", ...], ...}).'
    ),
    "Input X contains NaN": (
        "Input X contains NaN. An imputer would read these rows without spending budget. Declare what a "
        'missing cell counts as: domain=TableDomain({"x0": NumberColumn(low, high, missing="fill"), ...}).'
    ),
    "Expected 2D array, got": (
        "Expected 2D array. Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
    ),
    "Complex data not supported": "Complex data not supported.",
    "got scalar": "Expected an array, got a scalar.",
}


def redact_errors(method: Method) -> Method:
    """Decorate a method that reads data: no message of scikit-learn or numpy repeats a value of the data.

    Parameters
    ----------
    method : callable
        A method that validates X and y.

    Returns
    -------
    method : callable
        The decorated method.

    Notes
    -----
    **Privacy.** Only known messages are rewritten. Your own messages must not repeat a value, an index or a
    count.

    Examples
    --------
    >>> from skprivate.base import redact_errors
    >>> @redact_errors
    ... def read(cell):
    ...     return float(cell)
    >>> read("secret")
    Traceback (most recent call last):
    ValueError: could not convert string to float: X holds text; declare its columns ...
    """

    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            # An overflow in a sum of huge values would reveal a fact about private rows.
            with np.errstate(over="ignore", invalid="ignore"):
                return method(*args, **kwargs)
        except (TypeError, ValueError) as error:
            instead = [text for phrase, text in _REVEALING.items() if phrase in str(error)]
            # An inner fit has rewritten this error, and may have counted it.
            if not instead or str(error) == instead[0]:
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
        # It is raised outside the handler, so that the original is not kept as __context__.
        raise kind(instead[0])

    return cast(Method, wrapper)


@contextmanager
def failures_counted(ledgers: Sequence[Any], name: str) -> Iterator[None]:
    """Count an error of code that reads private rows in every ledger: no budget covers this answer.

    Parameters
    ----------
    ledgers : sequence of PrivacyLedger
        A ledger with a limit of failures reserves one of the allowed failures for this fit. If none is left,
        even if all running fits fail, the ledger refuses the fit before any row is read.
    name : str
        Class of the estimator, or the function's name.

    Notes
    -----
    Refusals of a ledger and parameters of a wrong type or range reveal nothing about rows, and are not
    counted. An error that an inner fit has already counted in the same ledger is not counted again. An
    interrupt is counted, since a part of the fit may have raised it. If a ledger cannot count, the error is
    still raised.

    Threads and processes together reveal at most limit + 1 failures. Proof: let L be the limit. A fit takes a
    place in a transaction that refuses unless failures + places <= L before it. So their sum never exceeds
    L + 1. The place is returned when the fit ends. If the fit failed, the place becomes a failure in the same
    transaction, before the error is raised. If the process dies before, its place stays taken. A fit inside a
    fit of the same thread fails for both. It takes its own place only after another such fit has used up
    their common place. The outer fit takes another place when it ends. If there is none, it is refused,
    whether it failed or not.
    """
    own: list[Any] = []
    uncounted: list[Any] = []
    has_begun = False
    refusal = None
    start = time.perf_counter()
    try:
        with public_errors():
            for ledger in ledgers:
                if (os.getpid(), ledger) not in _HELD.places and ledger._take_place(name):
                    _HELD.places.add((os.getpid(), ledger))
                    own.append(ledger)
        has_begun = True
        yield
        refusal = _take_again(own, name)
    except BaseException as error:
        # No row was read before an interrupt at the start.
        uncounted = [ledger for ledger in ledgers if has_begun and not _is_settled(error, ledger, start)]
        refusal = _take_again([ledger for ledger in uncounted if ledger.max_failures is not None], name)
        if refusal is None:
            if uncounted:
                _mark(error, *(ledger.path for ledger in uncounted))
            raise
        uncounted = []
    finally:
        for ledger in {*own, *uncounted}:
            with suppress(Exception):
                _end(ledger, name if ledger in uncounted else None)
    if refusal is not None:
        raise refusal from None


def _take_again(ledgers: Sequence[Any], name: str) -> BudgetExceededError | None:
    """Take a place again if an inner fit has used it up; return the error if none is left."""
    for ledger in ledgers:
        held = os.getpid(), ledger
        if held in _HELD.places:
            continue
        try:
            ledger._take_place(name)
        except BudgetExceededError:
            return BudgetExceededError(
                f"A fit inside this one failed, and used up the failures that the ledger {ledger.path} "
                "allows. Whether this one failed too is not reported. The charged budget is spent."
            )
        except LedgerError:
            continue
        _HELD.places.add(held)
    return None


def _end(ledger: Any, failed: str | None) -> None:
    """Record in a ledger that a fit has ended, and count a failure if `failed` names its estimator."""
    held = (os.getpid(), ledger)
    if held in _HELD.places:
        _HELD.places.discard(held)
        ledger._return_place(failed)
    elif failed is not None:
        ledger.count_failure(failed)


class _Held(threading.local):
    """The ledgers in which this thread holds a place, with the process id, so that a fork holds none."""

    def __init__(self) -> None:
        self.places: set[tuple[int, Any]] = set()


_HELD = _Held()


@contextmanager
def public_errors() -> Iterator[None]:
    """Mark the errors of code that reads only public facts, so that they are not counted as failures."""
    try:
        yield
    except Exception as error:
        _mark(error, None)
        raise


def _mark(error: BaseException, *ledgers: Any) -> None:
    """Record on an error the ledgers that have counted it, by their paths; None: none needs to count it."""
    marks = dict.fromkeys(ledgers, time.perf_counter())  # all processes have this clock
    with suppress(AttributeError):  # it may have no attributes
        setattr(error, _COUNTED, {**getattr(error, _COUNTED, {}), **marks})


def _is_settled(error: BaseException, ledger: Any, start: float) -> bool:
    """Return whether an error is public, or was counted in a ledger since the fit began."""
    from ._compat import InvalidParameterError  # of scikit-learn, which a client does without

    if isinstance(error, (InvalidParameterError, *_PUBLIC)):
        return True
    marks = getattr(error, _COUNTED, {})
    # A stored error may be raised by one fit after another.
    return any(marks.get(key, -1.0) >= start for key in (None, ledger.path))


# Errors that no row can cause.
_PUBLIC = (
    BudgetExceededError,
    LedgerError,
    PrivacyLeakError,
    PrivacyLeakWarning,  # raised if a filter turns warnings into errors
)
# Attribute of errors; it is kept in errors from joblib's workers.
_COUNTED = "_skprivate_counted"


def private_fit(fit: Method) -> Method:
    """Decorate ``fit``: parameters are validated first, and the object changes completely or not at all.

    The fit works on a draft, another object with the same attributes. When it is complete, the object takes
    over the draft's attributes in one assignment. A fit that raises an error, for example for a bad input, an
    exhausted ledger or an interrupt, changes nothing. A previous fit stays usable, also by other threads. The
    ledger counts a failure, with two exceptions: parameters of a wrong type or range, which are found before
    a row is read, and refusals of the ledger itself.

    Parameters
    ----------
    fit : callable
        A method ``fit(self, X, y, ...)``.

    Returns
    -------
    fit : callable
        The decorated method.

    Notes
    -----
    **Privacy.** A fit that fails half-way leaves no state. Messages of scikit-learn and NumPy that repeat a
    value of a row are rewritten, as by `redact_errors`.

    Examples
    --------
    See `PrivateEstimatorMixin`.

    >>> from sklearn.base import BaseEstimator
    >>> from skprivate.base import private_fit
    >>> class Failing(BaseEstimator):
    ...     _parameter_constraints = {}
    ...
    ...     @private_fit
    ...     def fit(self, X, y=None):
    ...         self.half_ = 1
    ...         raise ValueError("stopped half-way")
    >>> failing = Failing()
    >>> failing.fit([[0.0]])
    Traceback (most recent call last):
    ValueError: stopped half-way
    >>> vars(failing)
    {}
    """
    from ._compat import fit_context  # of scikit-learn, which a client does without

    # Estimators that are passed as parameters come from the user: their parameters are validated too.
    validated = redact_errors(fit_context(prefer_skip_nested_validation=False)(fit))

    @functools.wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        draft = getattr(self, "_draft", functools.partial(draft_of, self))()
        find_ledgers = getattr(self, "_find_ledgers", tuple)
        with failures_counted(find_ledgers(), type(self).__name__):
            validated(draft, *args, **kwargs)
        # A copy: a callback may have kept the draft.
        self.__dict__ = dict(vars(draft))
        return self

    return cast(Method, wrapper)


# Changes of an object's state that no interrupt and no other thread can divide.


# Locks are kept outside the objects, so that a copy and a pickle hold no lock.
_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
# Ids of objects inside a method. They are numbers, because an interrupt cannot divide a change of such a set.
_BUSY: set[int] = set()
if hasattr(os, "register_at_fork"):
    # The thread that holds a lock does not exist in the child, where nobody would release the lock.
    os.register_at_fork(after_in_child=_LOCKS.clear)
    os.register_at_fork(after_in_child=_BUSY.clear)


def assign(target: Any, **changes: Any) -> None:
    """Set several attributes of an object in one assignment.

    Parameters
    ----------
    target : object
        An instance of a class without ``__slots__``.
    **changes
        The attributes.

    Examples
    --------
    >>> from skprivate.utils._private_fit import assign
    >>> class Account:
    ...     rows, batches = 8, 1
    >>> account = Account()
    >>> assign(account, rows=16, batches=2)
    >>> account.rows, account.batches
    (16, 2)
    """
    target.__dict__ = {**vars(target), **changes}


def draft_of(target: Any) -> Any:
    """Return another object of the same type with the same attributes; later changes are independent.

    Parameters
    ----------
    target : object
        An instance of a class without ``__slots__``.

    Returns
    -------
    draft : object
    """
    draft = object.__new__(type(target))
    draft.__dict__ = dict(vars(target))
    return draft


def lock_of(target: Any) -> Any:
    """Return the lock of an object, the same for all threads of a process.

    Parameters
    ----------
    target : object
        Hashed and compared by identity.

    Returns
    -------
    lock : RLock
        Hold it in a ``with`` statement; the thread that holds it may take it again.
    """
    # setdefault is atomic: two threads that call it at once get the same lock.
    return _LOCKS.setdefault(target, RLock())


def one_thread_at_a_time(method: Method) -> Method:
    """Decorate a method of an object that other threads may use too: they wait until it has ended.

    Parameters
    ----------
    method : callable
        All decorated methods of one object share one lock.

    Returns
    -------
    method : callable
        The decorated method.

    Examples
    --------
    >>> from skprivate.utils._private_fit import one_thread_at_a_time
    >>> class Counter:
    ...     count = 0
    ...     @one_thread_at_a_time
    ...     def add(self):
    ...         self.count += 1
    ...         return self.count
    >>> Counter().add()
    1
    """

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self):
            return method(self, *args, **kwargs)

    return cast(Method, wrapper)


def refused_within_another(method: Method) -> Method:
    """Decorate a method that waits for other threads, and is refused inside another such method.

    The reader of a batch, a callback or a signal handler runs in the thread that holds the lock, and so
    cannot wait for it.

    Parameters
    ----------
    method : callable
        Method of an object whose lock it takes, by `one_thread_at_a_time`.

    Returns
    -------
    method : callable
        The decorated method; it raises RuntimeError.
    """

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _BUSY:
            raise RuntimeError(
                f"This {type(self).__name__} is inside another method, which called this one through a "
                "batch, a callback or a signal handler. Nothing was changed. Call this method afterwards."
            )
        try:
            _BUSY.add(id(self))
            return method(self, *args, **kwargs)
        finally:
            _BUSY.discard(id(self))

    return one_thread_at_a_time(cast(Method, wrapper))


# Progress of a fit for scikit-learn's callbacks: the number of finished parts, and nothing about rows.

#: Largest number of parts that are reported to callbacks; set by hand.
_MOST_PARTS = 100


@contextmanager
def progress(estimator: Any, part: str, n_parts: int | None) -> Iterator[Callable[[], None]]:
    """Report the start of a fit, its finished parts and its end to an estimator's callbacks.

    Parameters
    ----------
    estimator : estimator
        Estimator with scikit-learn's ``CallbackSupportMixin``, and a fit in `private_fit`, which ends
        callbacks.
    part : str
        Name of a part.
    n_parts : int or None
        Number of parts, public or computed from released values. None: not known before. At most a hundred
        parts are reported.

    Yields
    ------
    done : callable
        Call it after every part.

    Notes
    -----
    **Privacy**: callbacks receive no rows, targets or metadata. Their requests are ignored: if a callback
    stopped a fit, its budget would be lost. Callbacks do receive the estimator with the state of its last
    fit, and they run in the process that holds the rows.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from skprivate.utils._private_fit import progress
    >>> with progress(BaseEstimator(), "round", 3) as done:
    ...     for _ in range(3):
    ...         done()
    """
    # Its own callbacks, or those of the search that fits it.
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        yield lambda: None
        return
    every = 1 if n_parts is None else max(1, -(-n_parts // _MOST_PARTS))
    n_told = None if n_parts is None else -(-n_parts // every)
    context = estimator._init_callback_context(max_subtasks=n_told)
    context.call_on_fit_task_begin(estimator=estimator)
    count = itertools.count(1)

    def done() -> None:
        n_done = next(count)
        if n_done % every == 0 or n_done == n_parts:
            done_part = context.subcontext(task_name=part)
            done_part.call_on_fit_task_begin(estimator=estimator)
            done_part.call_on_fit_task_end(estimator=estimator)

    yield done
    context.call_on_fit_task_end(estimator=estimator)


# Warnings that name the user's line, whatever the number of functions between it and the warning.

# Packages between a user's call and the code that warns, and modules of decorators.
_BETWEEN = ("skprivate", "sklearn", "joblib", "contextlib", "functools")
# The decorators of methods that read rows; lines of such a method are not the user's line.
_DECORATORS = f"{__package__}._private_fit"


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, and name the line of the user that called this package.

    This is the nearest line outside this package, scikit-learn and joblib, and outside a third party's
    ``fit`` with `private_fit`. If a warning named a line of a package, Python would show it only once for
    several fits.

    Parameters
    ----------
    message : str
    category : type of warning
    """
    warnings.warn(message, category, stacklevel=_user_level())


def warn_after_release(message: str, category: type[Warning]) -> None:
    """Warn the user about a charged release; this is never an error, because an error would lose the release.

    Parameters
    ----------
    message : str
    category : type of warning
    """
    level = _user_level()
    try:
        warnings.warn(message, category, stacklevel=level)
    except category:
        # The user's filter turns warnings into errors, but an error would lose a charged release.
        with warnings.catch_warnings():
            warnings.simplefilter("always", category)
            warnings.warn(message, category, stacklevel=level)


def _user_level() -> int:
    """Return the `stacklevel` of the user's line for `warnings.warn` in the function that calls this one."""
    # The levels of `warnings.warn`: 1 is the function that warns, 2 its caller.
    frame, level, found = sys._getframe(2), 2, 0
    while True:
        module = str(frame.f_globals.get("__name__"))
        if module == _DECORATORS:
            found = 0
        elif not found and module.partition(".")[0] not in _BETWEEN:
            found = level
        if frame.f_back is None:
            return found or level
        frame, level = frame.f_back, level + 1
