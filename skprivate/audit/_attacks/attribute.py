# SPDX-License-Identifier: BSD-3-Clause
"""Attribute attack: links released queries to people whose quasi-identifiers are roughly known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from ..._typing import FloatArray, RandomSource
from ...metrics import correct_orientation_score
from ...utils import check_bounds
from ...utils._public_module import public_module
from .inputs import check_generator


@dataclass(frozen=True, kw_only=True)
class AttributeAttackResult:
    """How many released queries an attacker linked, in percent of them.

    Parameters
    ----------
    mu : mapping of str to float
        Greatest distance at which the attacker links, by column.
    linked : float
        Released queries with somebody of the attacker's table within `mu`, by all columns together.
    reidentified : float
        Released queries whose nearest person in the table, within `mu`, is the one who asked.
    column_linked, column_reidentified : mapping of str to float
        The same for an attacker who knows one column only.
    correct_orientation : mapping of str to float
        `skprivate.metrics.correct_orientation_score` of each column.
    """

    mu: Mapping[str, float]
    linked: float
    reidentified: float
    column_linked: Mapping[str, float]
    column_reidentified: Mapping[str, float]
    correct_orientation: Mapping[str, float]

    def __str__(self) -> str:
        together = f"{_percent(self.linked)} linked, {_percent(self.reidentified)} to the right person"
        lines = ["attribute attack", f"- all columns: {together}"]
        for name, share in self.correct_orientation.items():
            linked, right = self.column_linked[name], self.column_reidentified[name]
            lines.append(
                f"- {name}, within {self.mu[name]:g}: {_percent(linked)} linked, {_percent(right)} to the "
                f"right person, correct orientation {_percent(share)}"
            )
        return "\n".join(lines)


@public_module("skprivate.audit")
class AttributeAttack:
    """Simulate an attacker who knows people's quasi-identifiers up to a little noise.

    The attacker holds a table of the same people: their quasi-identifiers plus normal noise. Every released
    query is linked to the nearest person of the table when that person is within `mu`, by the Euclidean
    distance over all quasi-identifiers; and once more by every column alone.

    Parameters
    ----------
    mu : float or sequence of float, default=1e-3
        Greatest distance at which the attacker links, above 0; one value, or one per column. In the units of
        the data, or in shares of the public range where `run` gets bounds. Columns with unlike `mu` are
        divided by it before distances are taken.
    noise : float or sequence of float, default=1e-3
        Standard deviation of what the attacker does not know, in the same units; at least 0.
    random_state : int, RandomState, Generator or None, default=None
        Seed of that noise.

    See Also
    --------
    skprivate.preprocessing.TQMATransformer : The protection that this attacks.
    skprivate.metrics.correct_orientation_score : What the attack's success per column is bounded by.

    Notes
    -----
    **Privacy**: this is a simulation by someone who holds the true queries; its figures are exact functions
    of them, and nothing here is private. It is one attack by one kind of attacker: a low figure is no proof
    of protection.

    A coarsened query is linked by chance as well: with many people in the table, somebody is within `mu` of
    any midpoint. ``linked`` counts those too, ``reidentified`` does not.

    References
    ----------
    Lin, Liu, Wang, Striking the Perfect Balance: Preserving Privacy While Boosting
    Utility in Collaborative Medical Prediction Platforms. Definition 1 and appendix B.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.audit import AttributeAttack
    >>> X = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> midpoints = (np.floor(X * 16) + 0.5) / 16
    >>> attack = AttributeAttack(mu=1e-3, random_state=0)
    >>> print(attack.run(X, X))
    attribute attack
    - all columns: 95.9 % linked, 31.9 % to the right person
    - column 0, within 0.001: 95.9 % linked, 31.9 % to the right person, correct orientation 100 %
    >>> print(attack.run(X, midpoints))
    attribute attack
    - all columns: 100 % linked, 1.6 % to the right person
    - column 0, within 0.001: 100 % linked, 1.6 % to the right person, correct orientation 5.9 %
    """

    def __init__(
        self,
        mu: float | Sequence[float] = 1e-3,
        *,
        noise: float | Sequence[float] = 1e-3,
        random_state: RandomSource = None,
    ) -> None:
        self.mu = mu
        self.noise = noise
        self.random_state = random_state

    def run(
        self, X: Any, X_released: Any, *, columns: Sequence[Any] | None = None, bounds: Any = None
    ) -> AttributeAttackResult:
        """Attack the released form of some queries.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            The true queries.
        X_released : array-like or data frame of shape (n_queries, n_features)
            What leaves the people's hands: the same rows and columns in the same order.
        columns : sequence of str or int, default=None
            The quasi-identifiers, by name or by position. None: every column.
        bounds : pair or dict, default=None
            Public ``(lower, upper)`` of the quasi-identifiers, in the order of `columns`, or a dict
            ``{column: (lower, upper)}``: `mu` and `noise` are then shares of these ranges.

        Returns
        -------
        result : AttributeAttackResult

        Raises
        ------
        TypeError, ValueError
            `mu` or `noise` is not a number in its range or has a wrong length; there is no such column; a
            column does not hold numbers; `X` and `X_released` differ in shape; no query is complete.

        Notes
        -----
        Queries that miss a value in one of the columns are left out.
        """
        names, positions = _find_columns(X, columns)
        true, released = _numbers(X, positions, names), _numbers(X_released, positions, names)
        if true.shape != released.shape:
            raise ValueError("X and X_released must have the same rows and columns.")
        complete = np.isfinite(true + released).all(axis=1)
        if not complete.any():
            raise ValueError("no query has a value in every column.")
        mu = _per_column(self.mu, len(names), "mu", positive=True)
        noise = _per_column(self.noise, len(names), "noise", positive=False)
        # In units of mu: what is within 1 is linked.
        lower, upper = (0.0, 1.0) if bounds is None else check_bounds(bounds, len(names), names)
        unit = mu * (upper - lower)
        true, released = true[complete] / unit, released[complete] / unit
        known = true + check_generator(self.random_state).normal(size=true.shape) * noise / mu
        return _result(names, mu, true, released, known)


def _result(
    names: list[str], mu: FloatArray, true: FloatArray, released: FloatArray, known: FloatArray
) -> AttributeAttackResult:
    """Link by all columns and by each; all tables are in units of mu."""
    alone = [_link(known[:, [j]], released[:, [j]]) for j in range(len(names))]
    linked, right = _link(known, released)
    oriented = correct_orientation_score(true, released, mu=1.0)
    return AttributeAttackResult(
        mu=dict(zip(names, mu.tolist(), strict=True)),
        linked=linked,
        reidentified=right,
        column_linked=dict(zip(names, (found[0] for found in alone), strict=True)),
        column_reidentified=dict(zip(names, (found[1] for found in alone), strict=True)),
        correct_orientation=dict(zip(names, oriented.tolist(), strict=True)),
    )


def _link(known: FloatArray, released: FloatArray) -> tuple[float, float]:
    """Return the percentages of released rows linked within 1, and linked to the person they are of."""
    # Of equally near people one is taken, by the place alone: as often the right one as a fair guess.
    distance, nearest = KDTree(known).query(released)
    within = distance <= 1
    right = within & (nearest == np.arange(len(released)))
    return 100 * float(within.mean()), 100 * float(right.mean())


def _find_columns(X: Any, columns: Sequence[Any] | None) -> tuple[list[str], list[int]]:
    """Return labels for print and positions of the chosen columns."""
    labels = list(X.columns) if hasattr(X, "columns") else list(range(np.shape(X)[1]))
    chosen = labels if columns is None else list(columns)
    positions = []
    for column in chosen:
        if column in labels:
            positions.append(labels.index(column))
        elif isinstance(column, int | np.integer) and 0 <= column < len(labels):
            positions.append(int(column))
        else:
            raise ValueError(f"there is no column {column!r}.")
    if not positions or len(set(positions)) < len(positions):
        raise ValueError("columns must name at least one column, and none twice.")
    return [x if isinstance(x, str) else f"column {x}" for x in (labels[p] for p in positions)], positions


def _numbers(X: Any, positions: list[int], names: list[str]) -> FloatArray:
    """Return columns as floats; the message must not repeat a value that is none."""
    table = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    found = np.empty((len(table), len(positions)))
    for j, (position, name) in enumerate(zip(positions, names, strict=True)):
        try:
            found[:, j] = table[:, position].astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must hold numbers.") from None
    return found


def _per_column(value: Any, n_columns: int, name: str, *, positive: bool) -> FloatArray:
    values = np.asarray(value)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a number, or one per column.")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_columns):
        raise ValueError(f"{name} must be one number or one per column ({n_columns}).")
    if not np.isfinite(values).all() or (values < 0).any() or (positive and (values == 0).any()):
        raise ValueError(f"{name} must be finite and {'above' if positive else 'at least'} 0.")
    return np.array(np.broadcast_to(values, n_columns), dtype=np.float64)


def _percent(share: float) -> str:
    return f"{share:.3g} %"
