# SPDX-License-Identifier: BSD-3-Clause
"""Privately estimated bounds with their cost, and how an estimator states that it uses them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...utils._json_documents import Fields
from ...utils._public_module import public_module
from .._amounts import show
from .spent import PrivacySpent


@public_module("skprivate.accounting")
@dataclass(frozen=True, eq=False, repr=False)
class EstimatedBounds(Sequence[Any]):
    """A pair (lower, upper) that carries what was spent to learn it; made by `estimate_bounds`.

    It stands for the tuple, and is taken wherever bounds are: by an estimator, for one column in a dict of
    columns, in a grid of a search. The estimator states that these bounds were paid for separately, and
    claims "not-private" if they were estimated with a seed.

    Parameters
    ----------
    lower, upper : float or ndarray of shape (n_features,)
    spent : PrivacySpent
        What the estimate spent.
    release_id : str, default=""
        Names the release, so that copies are counted once. "": a new one is drawn.

    Raises
    ------
    TypeError
        ``spent`` is no PrivacySpent, or ``release_id`` no text.

    Notes
    -----
    **Privacy.** Copies, clones and pickles carry the statement on. What is taken out of the pair (one side,
    one column, a sum with a margin) is a plain number or array, as if it were public: add the cost yourself,
    or let a ledger do so, which was charged when the bounds were estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.preprocessing import estimate_bounds
    >>> X = np.random.default_rng(0).uniform(size=(5000, 2))
    >>> bounds = estimate_bounds(X, epsilon=1.0)
    >>> bounds.spent.epsilon
    Fraction(1, 1)
    >>> tree = DPTreeClassifier(epsilon=2.0, bounds=bounds, classes=[0, 1]).fit(X, np.arange(5000) % 2)
    >>> tree.privacy_spent_.epsilon, tree.privacy_spent_.public_inputs[0]
    (Fraction(2, 1), 'bounds (estimated for epsilon = 1, paid for separately)')
    """

    lower: Any
    upper: Any
    spent: PrivacySpent
    release_id: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.spent, PrivacySpent):
            raise TypeError(f"spent must be a PrivacySpent, not {type(self.spent).__name__}.")
        if not isinstance(self.release_id, str):
            raise TypeError(f"release_id must be a str, not {type(self.release_id).__name__}.")
        if not self.release_id:
            object.__setattr__(self, "release_id", os.urandom(16).hex())

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        return (self.lower, self.upper)[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EstimatedBounds | tuple):
            return NotImplemented
        return (self.lower, self.upper) == tuple(other)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper))

    def __repr__(self) -> str:
        cost = f"epsilon={show(self.spent.epsilon)}" + ("" if self.spent.private else ", not private")
        return f"EstimatedBounds({self.lower!r}, {self.upper!r}, {cost})"


def estimates_in(value: Any) -> Iterator[EstimatedBounds]:
    """Yield the estimated bounds in a parameter: itself, or in a dict, list or tuple."""
    if isinstance(value, EstimatedBounds):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from estimates_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from estimates_in(item)


def reasons_of_inputs(estimator: Any, names: Iterable[str]) -> tuple[str, ...]:
    """Return why a release with such parameters is not private: estimates among them that are not."""
    found = {
        f"{name} were estimated without privacy: {'; '.join(bounds.spent.reasons)}": None
        for name in names
        for bounds in estimates_in(getattr(estimator, name))
        if not bounds.spent.private
    }
    return tuple(found)


def name_inputs(estimator: Any, names: Iterable[str]) -> tuple[str, ...]:
    """Return declared parameters as a statement names them, with the cost of those that were estimated.

    Parameters
    ----------
    estimator : estimator
    names : iterable of str
        Parameters that say what is known of the rows, such as bounds; None counts as not declared.

    Returns
    -------
    public_inputs : tuple of str
        For `PrivacySpent`.

    Notes
    -----
    **Privacy.** Only parameters are looked at. Estimated bounds were paid for before: their cost is named,
    but it is no part of what the estimator spends.

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.base import name_inputs
    >>> name_inputs(DPTreeClassifier(bounds=(0, 1)), ("bounds", "classes"))
    ('bounds',)
    """
    return tuple(
        name + _cost(list(estimates_in(getattr(estimator, name))))
        for name in names
        if getattr(estimator, name) is not None
    )


def estimate_behind(value: Any, name: str) -> EstimatedBounds | None:
    """Return the one estimate in a parameter, if there is any.

    Raises
    ------
    ValueError
        There are several.
    """
    found = {bounds.release_id: bounds for bounds in estimates_in(value)}
    if len(found) > 1:
        raise ValueError(f"{name} must come from one call of estimate_bounds, over all columns together.")
    return next(iter(found.values()), None)


def encode_estimate(bounds: EstimatedBounds) -> dict[str, Any]:
    """Return what an estimate carries besides its numbers, as JSON values."""
    return {"spent": bounds.spent.to_dict(), "release_id": bounds.release_id}


def decode_estimate(pair: Any, content: Mapping[str, Any]) -> EstimatedBounds:
    """Return numbers with what `encode_estimate` wrote; ValueError for anything else."""
    lower, upper = pair
    fields = Fields(content, ("spent", "release_id"), what="an estimate")
    release_id = fields.text("release_id")
    if not release_id:
        raise ValueError("an estimate has no id")
    return EstimatedBounds(lower, upper, PrivacySpent.from_dict(fields.mapping("spent")), release_id)


def source_of_input(value: Any) -> str:
    """Return where a parameter that is given came from."""
    return "estimated, and paid for separately" if any(estimates_in(value)) else "declared"


def _cost(estimates: list[EstimatedBounds]) -> str:
    if not estimates:
        return ""
    # One estimate may stand for several columns.
    once = {bounds.release_id: bounds.spent for bounds in estimates}.values()
    amounts = " + ".join(show(spent.epsilon) for spent in once)
    return f" (estimated for epsilon = {amounts}, paid for separately)"
