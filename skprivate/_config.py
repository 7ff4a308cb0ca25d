# SPDX-License-Identifier: BSD-3-Clause
"""Process-wide configuration: strict mode, in which a would-be privacy leak is an error; seeds of tests."""

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
    """Return the task of an event loop that runs here, None outside of one."""
    try:
        return sys.modules["asyncio"].current_task()
    except (KeyError, RuntimeError):  # nobody has imported it, or no loop runs in this thread
        return None


@dataclass(eq=False)
class _Block:
    """An open block of `config_context`, and the one around it."""

    settings: dict[str, bool]
    outer: "_Block | None"
    thread: int = field(default_factory=get_ident)
    task: Any = field(default_factory=_current_task)


# Not by thread alone: the tasks of an event loop take turns in one, and generators end in any order.
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
    It is what the innermost context of this thread, or task of an event loop, says. Without one strict mode
    is on if the process or any context is strict, and seeds are allowed if all that are strict allow them. So
    the threads of a pool obey the context of the thread that feeds them, and none can switch off what another
    one relies on.

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
    # A task that opens a block does not speak for the task that started it in a block around.
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
        True: a fit that would have to read bounds or classes from private rows, or whose noise is seeded,
        raises `PrivacyLeakError`, and no value of a row makes a fit fail: infinities go to the declared
        bounds, what is missing or no number goes to their middle, and a label that is none counts as the
        first class. A list of rows that are not all lists of one length is no table, and stays an error: pass
        arrays or data frames. False: a leak warns with `PrivacyLeakWarning` and is recorded as not private,
        and values that cannot be used are errors. None leaves the setting as it is. The environment variable
        ``SKPRIVATE_STRICT=1`` sets it when the process starts.
    allow_seeds : bool, default=None
        True: seeds are declared, for tests and simulations. ``random_state`` may be set in strict mode, too,
        and a seed that a meta-estimator sets is not announced; what is fitted then still claims
        "not-private". False, as at the start: an error in strict mode, a warning there. None leaves the
        setting as it is.

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
    own = _own_block()
    settings = _settings if own is None else own.settings
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
    # Since Python 3.14 a thread without the GIL inherits the variable; the block stays its starter's.
    while block is not None and (block not in _open or block.thread != get_ident()):
        block = block.outer
    return block


def is_strict_for(holder: Any) -> bool:
    """Return whether strict mode holds for an object: that of the process, or of its pickle."""
    return get_config()["strict"] or getattr(holder, "_pickled_strict", False)


def are_seeds_allowed_for(holder: Any) -> bool:
    """Whether strict mode lets seeds pass; that of this process decides, where it has one."""
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
    """Mixin of what reads rows by the rules of strict mode: the mode travels with its pickles and clones."""

    def is_strict(self) -> bool:
        """Return whether strict mode holds for this object: that of the process, or of its pickle.

        Returns
        -------
        strict : bool
        """
        return is_strict_for(self)

    def __getstate__(self) -> dict[str, Any]:
        return with_mode_of(self, super().__getstate__())

    def __sklearn_clone__(self) -> Any:
        return keep_mode_of(self, super().__sklearn_clone__())  # type: ignore[misc]
