# SPDX-License-Identifier: BSD-3-Clause
"""Process-wide configuration: strict mode, in which a would-be privacy leak is an error."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["config_context", "get_config", "set_config"]

# Any other value of the variable means strict: a typo must not switch a protection off.
_OFF = {"", "0", "false", "no", "off"}
_settings = {"strict": os.environ.get("SKPRIVATE_STRICT", "").strip().lower() not in _OFF}
# Open contexts of every thread, the innermost last.
_contexts: dict[int, list[bool]] = {}


def _is_strict() -> bool:
    """Strict as this thread's innermost context says; without one, if the process or any context is strict.

    The threads of a pool so obey the context of the thread that feeds them, and no thread's context can
    switch off what another one relies on.
    """
    own = _contexts.get(threading.get_ident())
    if own:
        return own[-1]
    return _settings["strict"] or any(stack[-1] for stack in list(_contexts.values()) if stack)


def get_config() -> dict[str, bool]:
    """Return a copy of the configuration of this process.

    Returns
    -------
    config : dict
        ``{"strict": bool}``.

    Examples
    --------
    >>> import skprivate
    >>> skprivate.get_config()
    {'strict': False}
    """
    return {"strict": _is_strict()}


def set_config(*, strict: bool | None = None) -> None:
    """Set the configuration of this process.

    Parameters
    ----------
    strict : bool, default=None
        True: a fit that would have to read bounds or classes from private rows raises `PrivacyLeakError`.
        False: it warns with `PrivacyLeakWarning` and is recorded as not private. None leaves the setting as
        it is. The environment variable ``SKPRIVATE_STRICT=1`` sets it when the process starts.

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
    if strict is None:
        return
    if not isinstance(strict, bool):
        raise TypeError(f"strict must be True, False or None, not {type(strict).__name__}.")
    own = _contexts.get(threading.get_ident())
    if own:
        own[-1] = strict
    else:
        _settings["strict"] = strict


@contextmanager
def config_context(*, strict: bool | None = None) -> Iterator[None]:
    """Set the configuration for the length of a ``with`` block.

    Parameters
    ----------
    strict : bool, default=None
        As in `set_config`.

    Examples
    --------
    >>> import skprivate
    >>> with skprivate.config_context(strict=True):
    ...     skprivate.get_config()
    {'strict': True}
    """
    thread = threading.get_ident()
    stack = _contexts.setdefault(thread, [])
    stack.append(_is_strict())
    try:
        set_config(strict=strict)
        yield
    finally:
        stack.pop()
        if not stack:
            del _contexts[thread]
