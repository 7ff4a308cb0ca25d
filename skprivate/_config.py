# SPDX-License-Identifier: BSD-3-Clause
"""Process-wide configuration: strict mode, which turns privacy leaks into errors; seeds of tests."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

__all__ = ["config_context", "get_config", "set_config"]

# Any other value of the variable means strict: a typo must not switch a protection off.
_OFF = {"", "0", "false", "no", "off"}
_settings = {
    "strict": os.environ.get("SKPRIVATE_STRICT", "").strip().lower() not in _OFF,
    "allow_seeds": False,
}


def _current_task() -> Any:
    """Return the running task of an event loop; None outside of one."""
    try:
        return sys.modules["asyncio"].current_task()
    except (KeyError, RuntimeError):  # asyncio is not imported, or no loop runs in this thread
        return None


@dataclass(eq=False)
class _Block:
    """An open block of `config_context`, and the one around it."""

    settings: dict[str, bool]
    outer: "_Block | None"
    thread: int = field(default_factory=get_ident)
    task: Any = field(default_factory=_current_task)


# By thread and task: the tasks of an event loop share a thread, and generators end in any order.
_innermost: ContextVar[_Block | None] = ContextVar("skprivate_config", default=None)
_open: set[_Block] = set()


def get_config() -> dict[str, bool]:
    """Return a copy of the configuration of this process.

    Returns
    -------
    config : dict
        ``{"strict": bool, "allow_seeds": bool}``.

    Notes
    -----
    It is the configuration of the innermost context of this thread, or task of an event loop. Without a
    context, strict mode is on if the process or any context is strict. Seeds are then allowed if all strict
    ones allow them. So the threads of a pool follow the context of the thread that uses the pool, and no
    thread can switch off a protection of another.

    Examples
    --------
    >>> import skprivate
    >>> skprivate.get_config()
    {'strict': False, 'allow_seeds': False}
    """
    own = _own_block()
    if own is not None:
        return dict(own.settings)
    blocks = _open.copy()
    # A block counts, even if a task that was started in it has opened another one.
    innermost = blocks - {block.outer for block in blocks if block.outer and block.task is block.outer.task}
    others = [_settings, *(block.settings for block in innermost)]
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
        True: a fit raises `PrivacyLeakError` if it would read bounds or classes from private rows, or if its
        noise is seeded. No value in a row makes a fit fail: infinities become the declared bounds, cells that
        are missing or no number become their middle, and an unknown label counts as the first class. A list
        whose rows are not lists of one length is no table, and is still an error: pass arrays or data frames.
        False: a leak raises a `PrivacyLeakWarning` and is recorded as not private, and unusable values are
        errors. None does not change the setting. The environment variable ``SKPRIVATE_STRICT=1`` sets it when
        the process starts.
    allow_seeds : bool, default=None
        True: seeds are declared, for tests and simulations. ``random_state`` may be set in strict mode, too,
        and a seed that a meta-estimator sets raises no warning. Seeded fits still claim "not-private".
        False, as at the start: a seed is an error in strict mode, and one of a meta-estimator a warning
        outside it. None does not change the setting.

    Notes
    -----
    The setting is global to the process and is read when ``fit`` runs. Inside a `config_context` it lasts to
    the end of the block. It is kept in pickled estimators, so that the workers of joblib follow it. An
    estimator that was pickled in strict mode stays strict, and so do its clones. An estimator that is made
    inside a worker process follows that process: set ``SKPRIVATE_STRICT=1`` for it.

    Examples
    --------
    >>> import skprivate
    >>> skprivate.set_config(strict=False)
    """
    given = {"strict": strict, "allow_seeds": allow_seeds}
    for name, value in given.items():
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"{name} must be True, False or None, not {type(value).__name__}.")
    own = _own_block()
    settings = _settings if own is None else own.settings
    settings.update({name: value for name, value in given.items() if value is not None})


@contextmanager
def config_context(*, strict: bool | None = None, allow_seeds: bool | None = None) -> Iterator[None]:
    """Set the configuration inside a ``with`` block.

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
    block = _Block(get_config(), _own_block())
    try:
        _open.add(block)
        _innermost.set(block)
        set_config(strict=strict, allow_seeds=allow_seeds)
        yield
    finally:
        _open.discard(block)
        _innermost.set(_own_block())


def _own_block() -> _Block | None:
    """Return the innermost block of this thread that is still open."""
    block = _innermost.get()
    # Since Python 3.14 a thread without the GIL inherits the variable, but not the block.
    while block is not None and (block not in _open or block.thread != get_ident()):
        block = block.outer
    return block


def is_strict_for(holder: Any) -> bool:
    """Return whether strict mode holds for an object, by the process or by its pickle."""
    return get_config()["strict"] or getattr(holder, "_pickled_strict", False)


def are_seeds_allowed_for(holder: Any) -> bool:
    """Whether seeds are allowed in strict mode: by this process if it is strict, else by the pickle."""
    config = get_config()
    if config["strict"] or not is_strict_for(holder):
        return config["allow_seeds"]
    return getattr(holder, "_pickled_seeds", False)


def with_mode_of(holder: Any, state: Any) -> dict[str, Any]:
    """Return the state of a pickle, with the mode in which the object is pickled."""
    if not is_strict_for(holder):
        return dict(state)
    return {**state, "_pickled_strict": True, "_pickled_seeds": are_seeds_allowed_for(holder)}


def keep_mode_of(holder: Any, copy: Any) -> Any:
    """Return a clone, with the mode in which its original was pickled."""
    if getattr(holder, "_pickled_strict", False):
        copy._pickled_strict, copy._pickled_seeds = True, getattr(holder, "_pickled_seeds", False)
    return copy


class StrictMixin:
    """Mixin of classes that read rows by the rules of strict mode: pickles and clones keep the mode."""

    def is_strict(self) -> bool:
        """Return whether strict mode holds for this object, by the process or by its pickle.

        Returns
        -------
        strict : bool
        """
        return is_strict_for(self)

    def __getstate__(self) -> dict[str, Any]:
        return with_mode_of(self, super().__getstate__())

    def __sklearn_clone__(self) -> Any:
        return keep_mode_of(self, super().__sklearn_clone__())  # type: ignore[misc]
