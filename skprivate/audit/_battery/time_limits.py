# SPDX-License-Identifier: BSD-3-Clause
"""Runs a check in a thread for a limited time, so that a fit that never ends fails this check alone."""

import contextvars
import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

import sklearn

from .._observation.patches import CheckInterrupted, CheckRun, current_run

# For the thread to unwind; one that is stuck in compiled code, or takes no interrupt, is left behind.
_GRACE, _AGAIN = 2.0, 0.1


def run_within(seconds: float, call: Callable[[], Any]) -> Any:
    """Return what a call returns, or raise what it raises, if it ends in time.

    Parameters
    ----------
    seconds : float
    call : callable
        It runs in a thread of its own, with the configurations of scikit-learn and of this package that hold
        here.

    Raises
    ------
    TimeoutError
        It did not end. What it had replaced in modules, to record noise or to repeat it, has been put back,
        and it can replace nothing any more. (Compiled code that never lets other threads run cannot be
        stopped.)
    RuntimeError
        It tried to end the program.
    """
    outcome: dict[str, Any] = {}
    run, context, config = CheckRun(), contextvars.copy_context(), sklearn.get_config()
    context.run(current_run.set, run)

    def work() -> None:
        sklearn.set_config(**config)
        try:
            outcome["value"] = context.run(call)
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        thread.join(seconds)
    finally:
        # Too late, or interrupted in the thread that waits.
        if thread.is_alive():
            _give_up(run, thread)
    if "error" not in outcome and "value" not in outcome:
        raise TimeoutError(f"it has not ended within {seconds:g} seconds: a fit hangs, or is too slow")
    error = outcome.get("error")
    if isinstance(error, CheckInterrupted):
        raise TimeoutError(f"it has not ended within {seconds:g} seconds: a fit hangs, or is too slow")
    if error is not None and not isinstance(error, Exception):
        raise RuntimeError(f"a fit ends with {type(error).__name__}, which stops whole programs") from error
    if error is not None:
        raise error
    return outcome["value"]


def _give_up(run: CheckRun, thread: threading.Thread) -> None:
    run.give_up()
    ends = time.perf_counter() + _GRACE
    while thread.is_alive() and time.perf_counter() < ends:
        number = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(CheckInterrupted))
        thread.join(_AGAIN)
