# SPDX-License-Identifier: BSD-3-Clause
"""Communication weights that change from round to round: their checks, and connection over several rounds."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..utils._public_module import public_module
from ._communication_weights import MatrixMixing, Mixing, MixingSchedule, check_weights


@public_module("skprivate.games")
class ChangingMixing(MixingSchedule):
    """One of several weights in every round.

    Parameters
    ----------
    choices : list of Mixing
        The different weights.
    order : list of int
        Which of them every round has.
    """

    def __init__(self, choices: list[Mixing], order: list[int]) -> None:
        self.choices, self.order = choices, order

    def at(self, k: int) -> Mixing:
        """Return the weights of round k."""
        return self.choices[self.order[k]]


def make_mixing(
    weights: Any, n_players: int, n_rounds: int, *, symmetric: bool, connected_within: int | None
) -> MixingSchedule:
    """Return checked weights of so many rounds: the same in all, or some for each.

    Parameters
    ----------
    weights : None, matrix, graph, sequence of these, or callable
        What `check_weights` takes; or one of that for every round, in a list, a tuple or an array of shape
        (n_rounds, n_players, n_players); or a function of the round that returns it.
    n_players, n_rounds : int
    symmetric : bool
        Whether every matrix must equal its transpose.
    connected_within : int or None
        Number of consecutive rounds, B, whose graphs together must connect all players. None is N - 1.

    Returns
    -------
    mixing : MixingSchedule

    Raises
    ------
    TypeError, ValueError
        What `check_weights` raises, with the number of the round; too few rounds; or B rounds in a row that
        leave some players without the others.

    Notes
    -----
    B rounds are looked at from every round of the run on, beyond its end as far as `weights` tells: a
    function always, a sequence up to its own end. A sequence shorter than B must connect all as a whole.
    Directions do not matter: a doubly stochastic matrix sends as much weight out of any set of players as
    into it, and so does a sum of them, so that whoever is linked to others hears of them, too.
    """
    source = _source(weights, n_rounds)
    if source is None:
        return check_weights(weights, n_players, symmetric=symmetric)
    window = max(1, n_players - 1) if connected_within is None else connected_within
    rounds = _Rounds(*source, n_players, symmetric)
    for k in range(n_rounds):
        rounds.add(k)
    _check_connected(rounds, n_rounds, window)
    return ChangingMixing(rounds.choices, rounds.order[:n_rounds])


def check_same_rounds(before: MixingSchedule, mixing: MixingSchedule, n_rounds: int) -> None:
    """Refuse weights that differ from those of the rounds that were run, and name the first such round."""
    same: dict[tuple[int, int], bool] = {}
    for k in range(n_rounds):
        pair = before.at(k), mixing.at(k)
        kinds = id(pair[0]), id(pair[1])
        if kinds not in same:
            same[kinds] = pair[0].key() == pair[1].key()
        if not same[kinds]:
            raise ValueError(f"weights differ from those of the rounds that were run, in round {k}.")


class _Rounds:
    """The weights of the rounds that were asked for so far, each different one kept once."""

    def __init__(
        self, weights_of: Callable[[int], Any], n_told: int | None, n_players: int, symmetric: bool
    ) -> None:
        self._weights_of, self.n_told = weights_of, n_told
        self.n_players, self._symmetric = n_players, symmetric
        self.choices: list[Mixing] = []
        self.order: list[int] = []
        self._patterns: list[Any] = []
        self._known: dict[bytes, int] = {}

    def add(self, k: int) -> None:
        """Ask for the next round's weights, and check them."""
        try:
            mixing = check_weights(
                self._weights_of(k), self.n_players, symmetric=self._symmetric, connected=False
            )
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"In round {k}, {error}") from error
        choice = self._known.setdefault(mixing.key(), len(self.choices))
        self.order.append(choice)
        if choice == len(self.choices):
            self.choices.append(mixing)
            self._patterns.append(self._links(mixing))

    def pattern(self, k: int) -> Any:
        """Return the links of round k, 1 where there is one."""
        while len(self.order) <= k:
            self.add(len(self.order))
        return self._patterns[self.order[k]]

    def _links(self, mixing: Mixing) -> Any:
        if isinstance(mixing, MatrixMixing):
            return sparse.csr_array((mixing.weights != 0).astype(np.int32))
        # Of the complete graph a path is enough.
        return sparse.csr_array(sparse.eye_array(self.n_players, k=1, dtype=np.int32))


def _source(weights: Any, n_rounds: int) -> tuple[Callable[[int], Any], int | None] | None:
    """Return a function of the round and how many rounds it knows; None where weights are those of all."""
    if weights is None or hasattr(weights, "edges") or sparse.issparse(weights):
        return None
    if callable(weights):
        return weights, None
    if not _is_sequence(weights):
        return None
    if len(weights) < n_rounds:
        raise ValueError(
            f"weights must be given for each of {n_rounds} rounds, and there are {len(weights)}: a function "
            "of the round can repeat them."
        )
    return weights.__getitem__, len(weights)


def _is_sequence(weights: Any) -> bool:
    """Return whether these are several matrices or graphs, and not one matrix or its rows."""
    if isinstance(weights, np.ndarray):
        return weights.ndim == 3
    if not isinstance(weights, list | tuple) or not weights:
        return False
    first: Any = next((item for item in weights if item is not None), None)
    return hasattr(first, "edges") or sparse.issparse(first) or np.ndim(first) == 2


def _check_connected(rounds: _Rounds, n_rounds: int, window: int) -> None:
    """Refuse rounds in a row whose graphs together leave some players without the others."""
    shape = (rounds.n_players, rounds.n_players)
    together, end = sparse.csr_array(shape, dtype=np.int32), 0
    for first in range(n_rounds):
        while not _connects(together):
            told_all = rounds.n_told is not None and end == rounds.n_told
            if told_all and first > 0 and end < first + window:
                return
            if told_all or end == first + window:
                raise ValueError(
                    f"weights lose connection: rounds {first} to {end - 1} together leave some players who "
                    f"never hear of others. Any {window} rounds in a row must connect all players "
                    "(connected_within)."
                )
            together, end = together + rounds.pattern(end), end + 1
        together = together - rounds.pattern(first)


def _connects(links: Any) -> bool:
    links.eliminate_zeros()
    return bool(connected_components(links, directed=False, return_labels=False) == 1)
