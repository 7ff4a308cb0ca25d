# SPDX-License-Identifier: BSD-3-Clause
"""Randomizers from the name of a mechanism, from a dictionary, or by size and variance of reports."""

import re
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from .._typing import ReportMechanism
from ..utils import check_epsilon
from ._column import ColumnRandomizer
from ._interface import LocalRandomizer
from ._laplace import LaplaceRandomizer, SignedLaplaceRandomizer
from ._response import HadamardRandomizer, KRRRandomizer, LabelRandomizer, SubsetRandomizer, UnaryRandomizer

#: The mechanisms of `make_randomizer`, without "auto".
MECHANISMS: dict[str, type[LocalRandomizer]] = {
    kind.name: kind
    for kind in (
        HadamardRandomizer,
        KRRRandomizer,
        SubsetRandomizer,
        UnaryRandomizer,
        SignedLaplaceRandomizer,
        LaplaceRandomizer,
    )
}
# These two have no name in `make_randomizer`: the label is randomised alone only if the cell is public, and a
# client has a cell in every column only if the question is about columns.
_RESTORABLE: dict[str, type[LocalRandomizer]] = {
    **MECHANISMS,
    ColumnRandomizer.name: ColumnRandomizer,
    LabelRandomizer.name: LabelRandomizer,
}
# Largest ratio of variances that is accepted for fewer bytes; 5 % more clients compensate for it. Set by
# hand.
_TOLERANCE = 1.05
_FRACTION = re.compile(r"[0-9]+(/[0-9]+)?")


def make_randomizer(
    mechanism: ReportMechanism,
    epsilon: float | Fraction,
    n_cells: int,
    n_labels: int = 2,
    *,
    counts_cells: bool = False,
) -> LocalRandomizer:
    """Return the randomizer of a mechanism.

    Parameters
    ----------
    mechanism : {"auto", "hadamard", "krr", "subset", "unary", "signed-laplace", "laplace"}
        "auto": among the first four, the one with the fewest bytes per report whose exact variance is at most
        1.05 times the smallest. Among mechanisms with the same number of bytes, the one with the smaller
        variance. With more than two labels subset selection has the smallest variance; with two, signed
        Hadamard reports can have a smaller one.
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of cells.
    n_labels : int, default=2
        Number of labels.
    counts_cells : bool, default=False
        For "auto": whether the reports must show the number of clients in a cell, which signed reports do
        not.

    Returns
    -------
    randomizer : LocalRandomizer

    Raises
    ------
    TypeError, ValueError
        The mechanism is unknown, or does not accept the other parameters.

    Examples
    --------
    >>> from skprivate.randomizers import make_randomizer
    >>> make_randomizer("auto", 1.0, 256).name
    'hadamard'
    """
    if mechanism == "auto":
        return _cheapest(check_epsilon(epsilon), n_cells, n_labels, counts_cells)
    if mechanism not in MECHANISMS:
        known = ", ".join(sorted(map(repr, ["auto", *MECHANISMS])))
        raise ValueError(f"mechanism must be one of {known}, got {mechanism!r}.")
    return MECHANISMS[mechanism](epsilon, n_cells, n_labels)


def randomizer_from_dict(description: Mapping[str, Any]) -> LocalRandomizer:
    """Restore a randomizer from its ``to_dict``.

    Parameters
    ----------
    description : mapping
        Content of JSON, which is checked.

    Returns
    -------
    randomizer : LocalRandomizer
        With the same ``specification``.

    Raises
    ------
    ValueError
        The description does not come from ``to_dict``.

    Examples
    --------
    >>> from skprivate.randomizers import HadamardRandomizer, randomizer_from_dict
    >>> randomizer = HadamardRandomizer(0.5, 12)
    >>> randomizer.to_dict()
    {'mechanism': 'hadamard', 'epsilon': '1/2', 'n_cells': 12, 'n_labels': 2, 'n_blocks': 1, 'signed': True}
    >>> randomizer_from_dict(randomizer.to_dict()).specification == randomizer.specification
    True
    """
    try:
        content = dict(description)
        kind = _RESTORABLE[content.pop("mechanism")]
        epsilon = content.pop("epsilon")
        # Fraction would also read "1e999999999", and fill the memory.
        if not isinstance(epsilon, str) or not _FRACTION.fullmatch(epsilon):
            raise ValueError("epsilon must be a fraction.")
        randomizer = kind(Fraction(epsilon), **content)
    except (TypeError, ValueError, KeyError, ArithmeticError) as error:
        raise ValueError(f"this does not describe a randomizer: {error}") from error
    # A missing or null option would be chosen again.
    if randomizer.to_dict() != dict(description):
        raise ValueError("this does not describe a randomizer: an option is missing or not in lowest terms.")
    return randomizer


# A fit compares the same mechanisms several times, and a search does so in every fit. They never change.
@lru_cache(maxsize=64, typed=True)
def _cheapest(epsilon: Fraction, n_cells: int, n_labels: int, counts_cells: bool) -> LocalRandomizer:
    made: list[LocalRandomizer] = [SubsetRandomizer(epsilon, n_cells, n_labels)]
    unsigned = partial(HadamardRandomizer, signed=False)
    for kind in (unsigned if counts_cells else HadamardRandomizer, KRRRandomizer, UnaryRandomizer):
        # Each has its own smallest epsilon and largest number of cells; subset selection has accepted these.
        with suppress(ValueError):
            made.append(kind(epsilon, n_cells, n_labels))
    limit = _TOLERANCE * min(randomizer._even_variance() for randomizer in made)
    enough = [randomizer for randomizer in made if randomizer._even_variance() <= limit]
    return min(enough, key=lambda randomizer: (randomizer.report_bytes, randomizer._even_variance()))
