# SPDX-License-Identifier: BSD-3-Clause
"""Bounded swapping of the parties' responses, and their synthesis (BSTD)."""

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..accounting import DisclosureRisk
from ..base import SHARED_CONSTRAINTS, fit_context, without_private_text
from ..exceptions import DisclosureWarning
from ..noise import check_entropy
from ..noise._stream_kernels import WordStream
from ..utils._compat import Interval, StrOptions
from ._activity import aggregator_tags, check_party_sizes, relative_sizes, shares, validate_responses
from ._swap_kernels import swap_rows, synthesize_rows

FloatArray = NDArray[np.float64]

#: As the kernel numbers them.
ORDERS = {"fewest": 0, "random": 1, "top": 2}

#: A window of fewer ranks makes the likeliest partner easy to guess.
NARROW = 5


class BSTDAggregator(OneToOneFeatureMixin, TransformerMixin, RegressorMixin, BaseEstimator):
    """Swap."""

    _parameter_constraints: dict[str, list[Any]] = {
        "p_lower": [Interval(Integral, 1, None, closed="left")],
        "p_upper": [Interval(Integral, 1, None, closed="left")],
        "party_sizes": ["array-like", None],
        "order": [StrOptions(set(ORDERS))],
        "active_rule": [StrOptions({"box", "receiver", "support"}), None],
        "random_state": SHARED_CONSTRAINTS["random_state"],
    }

    def __init__(
        self,
        p_lower: int = 2,
        p_upper: int = 8,
        *,
        party_sizes: Any = None,
        order: str = "fewest",
        active_rule: str | None = "box",
        random_state: Any = None,
    ) -> None:
        self.p_lower = p_lower
        self.p_upper = p_upper
        self.party_sizes = party_sizes
        self.order = order
        self.active_rule = active_rule
        self.random_state = random_state

    @fit_context
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check."""
        X = validate_responses(self, X, y, reset=True)
        if self.p_lower >= self.p_upper:
            raise ValueError(f"p_lower must be below p_upper, got {self.p_lower} and {self.p_upper}.")
        self.party_sizes_ = check_party_sizes(self.party_sizes, X.shape[1])
        self._weights = relative_sizes(self.party_sizes_)
        self._total = float(self.party_sizes_.sum())
        entropy = check_entropy(self.random_state)
        self._seed = None if entropy.private else int.from_bytes(entropy.random_bytes(8), "little")
        self.disclosure_risk_ = None
        return self

    @without_private_text
    def transform(self, X: Any) -> FloatArray:
        """Swap."""
        check_is_fitted(self)
        values, _ = self._shares(validate_responses(self, X, reset=False))
        return self._swap(values)

    @without_private_text
    def predict(self, X: Any) -> FloatArray:
        """Combine."""
        check_is_fitted(self)
        return self._combine(validate_responses(self, X, reset=False))

    def _combine(self, responses: FloatArray) -> FloatArray:
        """Predict without validation."""
        values, active = self._shares(responses)
        if self.active_rule == "receiver":
            values = self._swap(values)
            active = np.abs(values) >= self._weights / self._total
        out = np.empty(len(values))
        scratch = np.empty(2 * values.shape[1])
        synthesize_rows(values, active.view(np.uint8), self._weights, scratch, out)
        return out

    def _shares(self, responses: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        return shares(responses, self._weights, self.active_rule, total=self._total)

    def _swap(self, values: FloatArray) -> FloatArray:
        n_queries, n_parties = values.shape
        upper = min(self.p_upper, n_parties - 1)
        scratch = np.empty((3, n_parties), dtype=np.int32)
        swapped = np.empty_like(values)
        order = ORDERS[self.order]
        if self._seed is not None:
            swap_rows(values, self.p_lower, upper, order, None, self._seed, scratch, swapped)
            return swapped
        with WordStream(check_entropy(None), 1 + values.size // 8) as stream:
            swap_rows(values, self.p_lower, upper, order, stream, 0, scratch, swapped)
        return swapped

    def __sklearn_tags__(self) -> Tags:
        return aggregator_tags(super().__sklearn_tags__(), self.active_rule)
