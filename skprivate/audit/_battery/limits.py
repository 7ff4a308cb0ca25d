# SPDX-License-Identifier: BSD-3-Clause
"""Runs a check for a limited time: a fit that never ends must fail it, and not stop all others."""

import contextvars
import ctypes
import threading
from collections.abc import Callable
from typing import Any

import sklearn

from .._patches import undo_all

# For the thread to unwind; one that is stuck in compiled code is left behind.
_GRACE = 2.0


class CheckInterrupted(BaseException):
    """Ends what runs in a thread; no ``except Exception`` may catch it."""


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
        It did not end. What it had replaced in modules, to record noise or to repeat it, has been put back.
    """
    outcome: dict[str, Any] = {}
    context, config = contextvars.copy_context(), sklearn.get_config()

    def work() -> None:
        sklearn.set_config(**config)
        try:
            outcome["value"] = context.run(call)
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True, name="audit of an estimator")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        number = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(CheckInterrupted))
        thread.join(_GRACE)
        undo_all()
        raise TimeoutError(f"it has not ended within {seconds:g} seconds: a fit hangs, or is too slow")
    if "error" in outcome:
        raise outcome["error"]
    return outcome.get("value")
