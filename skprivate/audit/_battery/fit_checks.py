# SPDX-License-Identifier: BSD-3-Clause
"""The check that comes first: there is something to check."""

import inspect

from .._neighbours import AuditCase
from .release_checks import name_of, require

_ROWS = ("self", "X", "y")


def check_fit(case: AuditCase) -> None:
    """``fit`` works on ordinary rows within the declared domain, with the arguments that it is given."""
    given = {*case.data_sets[0], *_ROWS}
    parameters = inspect.signature(type(case.estimator).fit).parameters.values()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [one.name for one in parameters if one.kind in plain and one.default is one.empty]
    missing = [name for name in needed if name not in given]
    require(
        not missing,
        f"{name_of(case)}.fit needs {', '.join(missing)}: hand over data that hold them, such as "
        '{"X": X, "y": y, "groups": groups}',
    )
    try:
        case.fit(0)
    except Exception as error:
        raise AssertionError(
            f"fit raises on rows within the declared domain: {type(error).__name__}: {error}"
        ) from error
