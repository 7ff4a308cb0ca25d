# SPDX-License-Identifier: BSD-3-Clause
"""Warnings that name the user's line, however many functions lie between it and the warning."""

import sys
import warnings

# Packages between a user's call and the code that warns, and modules of decorators.
_BETWEEN = ("skprivate", "sklearn", "joblib", "contextlib", "functools")
# The decorators of methods that read rows; what such a method calls is not the user's line.
_DECORATORS = f"{__package__}._private_fit"


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, and name the line of the user that called this package.

    It is the nearest line outside of this package, scikit-learn and joblib, and outside of a third party's
    ``fit`` with `private_fit`. A warning that named a line of a package would be shown for the first of two
    fits only.

    Parameters
    ----------
    message : str
    category : type of warning
    """
    warnings.warn(message, category, stacklevel=_user_level())


def warn_after_release(message: str, category: type[Warning]) -> None:
    """Warn the user about a release that is paid for: never an error, which would lose it.

    Parameters
    ----------
    message : str
    category : type of warning
    """
    level = _user_level()
    try:
        warnings.warn(message, category, stacklevel=level)
    except category:
        # The user's filter turns warnings into errors; noise cannot be drawn again for nothing.
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
