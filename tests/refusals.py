# SPDX-License-Identifier: BSD-3-Clause
"""How a room's table of refusals is read: what is called, the error, its message, and the wrong values."""

import re
from functools import partial
from typing import Any

import pytest

#: In place of a message: it names the first keyword of the wrong value.
FIELD = None


def cases(table: list[tuple[Any, ...]]) -> list[Any]:
    """Return a parameter (call, error, match, wrong) for every wrong value of every row of a table."""
    found = []
    for call, error, match, *wrong in table:
        name = (call.func if isinstance(call, partial) else call).__qualname__
        for value in wrong:
            message = next(iter(value)) if match is FIELD else match
            # Addresses of objects differ between workers.
            shown = re.sub(" at 0x[0-9a-f]+", "", f"{name}, {value!r}")
            found.append(pytest.param(call, error, message, value, id=shown[:90]))
    return found


def give(call: Any, wrong: Any, *before: Any) -> Any:
    """Call with a wrong value: keywords if it is a dict, positions if it is a tuple, else the only one."""
    if isinstance(wrong, dict):
        return call(*before, **wrong)
    return call(*before, *(wrong if isinstance(wrong, tuple) else (wrong,)))
