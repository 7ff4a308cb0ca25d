# SPDX-License-Identifier: BSD-3-Clause
"""Process-wide configuration: strict mode, in which a would-be privacy leak is an error; seeds of tests."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["config_context", "get_config", "set_config"]

# Any other value of the variable means strict: a typo must not switch a protection off.
_OFF = {"", "0", "false", "no", "off"}
_settings = {
    "strict": os.environ.get("SKPRIVATE_STRICT", "").strip().lower() not in _OFF,
    "allow_seeds": False,
}
# Open contexts of every thread, the innermost last.
_contexts: dict[int, list[dict[str, bool]]] = {}


def get_config() -> dict[str, bool]:
    """Return a copy of the configuration of this process.

    Returns
    -------
    config : dict
        ``{"strict": bool, "allow_seeds": bool}``.

    Notes
    -----
    It is what this thread's innermost context says. In a thread without one strict mode is on if the process
    or any context is strict, and seeds are allowed if all that are strict allow them. So the threads of a
    pool obey the context of the thread that feeds them, and none can switch off what another one relies on.

    Examples
    --------
    >>> import skprivate
    >>> skprivate.get_config()
    {'strict': False, 'allow_seeds': False}
    """
    own = _contexts.get(threading.get_ident())
    if own:
        return dict(own[-1])
    others = [_settings, *(stack[-1] for stack in list(_contexts.values()) if stack)]
    strict = [settings for settings in others if settings["strict"]]
    return {
        "strict": bool(strict),
        "allow_seeds": all(settings["allow_seeds"] for settings in strict or [_settings]),
    }


def set_config(*, strict: bool | None = None, allow_seeds: bool | None = None) -> None:
    """Set the configuration of this process.

    Parameters
    ----------
    strict : bool, default=None
        True: a fit that would have to read bounds or classes from private rows, or whose noise is seeded,
        raises `PrivacyLeakError`, and no value of a row makes a fit fail: infinities go to the declared
        bounds, what is missing or no number goes to their middle, and a label that is none counts as the
        first class. False: a leak warns with `PrivacyLeakWarning` and is recorded as not private, and values
        that cannot be used are errors. None leaves the setting as it is. The environment variable
        ``SKPRIVATE_STRICT=1`` sets it when the process starts.
    allow_seeds : bool, default=None
        True: in strict mode, too, ``random_state`` may be set, for tests and simulations; what is fitted then
        still claims "not-private". False, as at the start: it is an error. None leaves the setting as it is.

    Notes
    -----
    The setting is global to the process and read when ``fit`` runs; inside a `config_context` it lasts to the
    end of the block. It travels with pickled estimators, so that the workers of joblib obey it; an estimator
    pickled under strict mode stays strict, and so do its clones. An estimator that is made inside a worker
    process follows that process: set ``SKPRIVATE_STRICT=1`` for those.

    Examples
    --------
    >>> import skprivate
    >>> skprivate.set_config(strict=False)
    """
    given = {"strict": strict, "allow_seeds": allow_seeds}
    for name, value in given.items():
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"{name} must be True, False or None, not {type(value).__name__}.")
    own = _contexts.get(threading.get_ident())
    settings = own[-1] if own else _settings
    settings.update({name: value for name, value in given.items() if value is not None})


@contextmanager
def config_context(*, strict: bool | None = None, allow_seeds: bool | None = None) -> Iterator[None]:
    """Set the configuration for the length of a ``with`` block.

    Parameters
    ----------
    strict, allow_seeds : bool, default=None
        As in `set_config`.

    Examples
    --------
    >>> import skprivate
    >>> with skprivate.config_context(strict=True):
    ...     skprivate.get_config()
    {'strict': True, 'allow_seeds': False}
    """
    thread, before = threading.get_ident(), get_config()
    stack = _contexts.setdefault(thread, [])
    stack.append(before)
    try:
        set_config(strict=strict, allow_seeds=allow_seeds)
        yield
    finally:
        stack.pop()
        if not stack:
            del _contexts[thread]
