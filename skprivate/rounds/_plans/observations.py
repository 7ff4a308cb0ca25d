# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of observation of a lifetime, which are declared in public."""

from typing import Any

#: Seen when it happened; known to be later, earlier, or between two times; watched from a later time on.
KINDS = ("exact", "right", "left", "interval", "entry")
#: Codes of an event column (`PreparedRows.event`), by kind; an entry may go with any of them.
CODES = {"right": 0, "exact": 1, "left": 2, "interval": 3}
#: A value so far beyond a bound, in half-widths of the bounds, is on it: logarithms are rounded.
BESIDE = 1e-9


def check_observations(observations: Any, structured: bool, roles: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the declared kinds of observation in one order; a public input, never read from rows.

    Parameters
    ----------
    observations : None or iterable of {"exact", "right", "left", "interval", "entry"}
        None: numbers are exact; structured targets are exact or right-censored.
    structured : bool
        Whether the target is a structured one.
    roles : tuple of str, default=()
        What its fields are, as far as it is known.

    Raises
    ------
    ValueError
        An unknown kind, none at all, or kinds that numbers cannot have; fields whose kinds of observation are
        not declared.

    Examples
    --------
    >>> from skprivate.rounds._plans.observations import check_observations
    >>> check_observations(None, structured=True), check_observations(["interval", "right"], structured=True)
    (('exact', 'right'), ('right', 'interval'))
    """
    if observations is None:
        if "lower" in roles:
            raise ValueError(
                "y has the fields lower and upper: declare the kinds of observation that may occur, such as "
                "observations=['right', 'interval']."
            )
        kinds: tuple[str, ...] = KINDS[:2] if structured else KINDS[:1]
    else:
        kinds = _declared(observations, structured)
    if "entry" in roles and "entry" not in kinds:
        raise ValueError("y has a field of entries: declare 'entry' among observations.")
    return kinds


def _declared(observations: Any, structured: bool) -> tuple[str, ...]:
    if isinstance(observations, str):
        raise ValueError(f"observations must be a list of kinds, such as [{observations!r}].")
    given = list(observations)
    if not set(given) <= set(KINDS) or not set(given) - {"entry"}:
        raise ValueError(f"observations must name some of {', '.join(KINDS)}, and not 'entry' alone.")
    if not structured and set(given) != {"exact"}:
        raise ValueError("observations: a target of plain numbers is exact; other kinds need a structured y.")
    return tuple(kind for kind in KINDS if kind in given)
