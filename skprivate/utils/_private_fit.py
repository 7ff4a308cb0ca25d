# SPDX-License-Identifier: BSD-3-Clause
"""Decorators of ``fit`` and of methods that read rows: validation, atomic change, messages without values."""

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import numpy as np

from ..exceptions import BudgetExceededError, LedgerError, PrivacyLeakError, PrivacyLeakWarning
from ._atomic_state import draft_of

Fit = TypeVar("Fit", bound=Callable[..., Any])

# Messages of scikit-learn and numpy that repeat values of the data, and what is said instead.
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


def redact_errors(method: Fit) -> Fit:
    """Decorate a method that reads data: no message of scikit-learn or numpy repeats a value of it.

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
    **Privacy.** Only known messages are rewritten. Your own must not repeat a value, an index or a count.

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
            # Whether a sum of huge values overflows on the way is a fact about private rows.
            with np.errstate(over="ignore", invalid="ignore"):
                return method(*args, **kwargs)
        except (TypeError, ValueError) as error:
            instead = [text for phrase, text in _REVEALING.items() if phrase in str(error)]
            # An inner fit has rewritten it, and may have counted it.
            if not instead or str(error) == instead[0]:
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
        # Raised outside the handler, so that the original is not kept as __context__.
        raise kind(instead[0])

    return cast(Fit, wrapper)


@contextmanager
def failures_counted(ledgers: Sequence[Any], name: str) -> Iterator[None]:
    """Count in every ledger an error of what reads private rows: it is an answer that nobody paid for.

    Parameters
    ----------
    ledgers : sequence of PrivacyLedger
        A ledger with a limit of failures refuses before any row is looked at, unless one of the failures that
        the limit allows is left for this fit, whatever becomes of those that run.
    name : str
        Class of the estimator, or the function's name.

    Notes
    -----
    What a ledger refuses and a parameter of a wrong type or range tell nothing about rows, and are not
    counted; nor is an error that an inner fit has counted in the same ledger already. An interrupt is
    counted: whoever chose a part of the fit may have raised it. A ledger that cannot count does not hide the
    error.

    At most limit + 1 failures are told, by threads and processes together. Proof: with a limit L, a fit takes
    a place in a transaction that refuses unless failures + places <= L before it, so that their sum never
    passes L + 1. A place goes when a fit ends: it becomes a failure in the same transaction, before the error
    is raised, or the fit did not fail. A process that dies in between leaves its place taken. A fit inside a
    fit of the same thread fails for both, and takes a place of its own only after another such fit has used
    up theirs. The fit around them takes another place as it ends; if there is none, it is refused, whether it
    failed or not.
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
        # An interrupt before has met no row.
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
    """Take a place where a fit inside this one has used it up; return why this one is refused, if it is."""
    for ledger in ledgers:
        held = os.getpid(), ledger
        if held in _HELD.places:
            continue
        try:
            ledger._take_place(name)
        except BudgetExceededError:
            return BudgetExceededError(
                f"A fit inside this one failed, and used up the failures that the ledger {ledger.path} "
                "allows. Whether this one failed, too, is not told; what was charged is spent."
            )
        except LedgerError:
            continue
        _HELD.places.add(held)
    return None


def _end(ledger: Any, failed: str | None) -> None:
    """Tell a ledger that a fit has ended, and count it if the estimator of that name failed."""
    held = (os.getpid(), ledger)
    if held in _HELD.places:
        _HELD.places.discard(held)
        ledger._return_place(failed)
    elif failed is not None:
        ledger.count_failure(failed)


class _Held(threading.local):
    """The ledgers in which this thread holds a place, each with the process: a fork has none of them."""

    def __init__(self) -> None:
        self.places: set[tuple[int, Any]] = set()


_HELD = _Held()


@contextmanager
def public_errors() -> Iterator[None]:
    """Say of what looks at nothing but public facts that its errors are no failures to be counted."""
    try:
        yield
    except Exception as error:
        _mark(error, None)
        raise


def _mark(error: BaseException, *ledgers: Any) -> None:
    """Note on an error where it is counted, by the paths of ledgers; None: it needs to be nowhere."""
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


# Errors that no row can cause, as scikit-learn's of a parameter cannot.
_PUBLIC = (
    BudgetExceededError,
    LedgerError,
    PrivacyLeakError,
    PrivacyLeakWarning,  # raised where a filter turns warnings into errors
)
# Travels with errors from joblib's workers.
_COUNTED = "_skprivate_counted"


def private_fit(fit: Fit) -> Fit:
    """Decorate ``fit``: parameters are validated first, and the object changes in whole or not at all.

    The fit works on a draft, another object with the same attributes, which this one takes over by one
    assignment when it is complete. A fit that raises, for a bad input, an exhausted ledger or an interrupt,
    changes nothing: a previous fit stays usable, also by other threads meanwhile. Its ledger counts a
    failure, unless parameters of a wrong type or range, which are found before a row is looked at, or the
    ledger itself was the reason.

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
    **Privacy.** A fit that raises half-way leaves nothing behind. Messages of scikit-learn and NumPy that
    repeat a value of a row are rewritten, as by `redact_errors`.

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

    # Estimators that are passed as parameters come from the user: theirs are validated too.
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

    return cast(Fit, wrapper)
