# SPDX-License-Identifier: BSD-3-Clause
"""Bounded swapping of the parties' responses, and their synthesis (BSTD)."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._config import StrictMixin
from .._typing import ActiveRule, FloatArray, RandomSource, SwapOrder
from ..accounting import DisclosureRisk
from ..base import SHARED_CONSTRAINTS, private_fit, redact_errors
from ..base._html_repr import PrivacyHTMLMixin
from ..exceptions import DisclosureWarning
from ..noise import check_entropy
from ..noise._stream_kernels import WordStream
from ..utils._compat import Interval, StrOptions
from ..utils._public_module import public_module
from ..utils._user_frame import warn_user
from ._active_parties import (
    aggregator_tags,
    check_party_sizes,
    relative_sizes,
    shares,
    validate_responses,
    warn_few_active,
)
from ._rank_disclosure import stands_out
from ._swap_kernels import swap_rows, synthesize_rows

#: As the kernel numbers them.
ORDERS = {"fewest": 0, "random": 1, "top": 2}

#: Of fewer ranks in the window the likeliest partner is easily guessed.
NARROW = 5


@public_module("skprivate.collaborative")
class BSTDAggregator(
    StrictMixin, PrivacyHTMLMixin, OneToOneFeatureMixin, TransformerMixin, RegressorMixin, BaseEstimator
):
    """Combine the parties' responses, and show them only after a bounded swap.

    A row of X is a query, a column a party: X holds what each party's own model answers. Per query, the
    responses are ranked from the largest to the smallest, and ranks from ``p_lower`` to ``p_upper`` apart are
    swapped in pairs until no two that are left may be swapped. The synthesis is the average of the responses,
    weighted by the parties' sizes; the swap does not change it. This is the swapping of BSTD (bounded
    swapping and threshold decryption); `ConsentBox` is the decryption.

    Where no response needs to be shown, use `SecureSumAggregator`: the same prediction from masked sums, and
    no party's answer to be seen.

    Parameters
    ----------
    p_lower : int, default=2
        Least distance of the ranks of a pair; at least 1. From 2 on, no value moves to a neighbouring rank,
        where it would still be near its old one.
    p_upper : int, default=8
        Greatest distance; above `p_lower`. Cut at one less than the number of parties, with a warning.
    party_sizes : array-like of shape (n_parties,), default=None
        How many rows each party holds: the weights of the synthesis, finite and positive. None: one each.
    order : {"fewest", "random", "top"}, default="fewest"
        Which free rank is swapped next, with a partner drawn uniformly from its free partners: the one with
        the fewest free partners, of several a random one; a random one; the highest. "fewest" leaves, on
        average, the fewest responses where they were.
    active_rule : {"support", "box", "receiver", None}, default="support"
        Whose response counts. "support": who answered; NaN in X means no answer. "box", the paper's rule
        decided before the swap: ``abs(f_j) >= 1 / n``, n the sum of the sizes; others count as 0. It
        depends on the unit of y: with y in thousandths nobody may be active. "receiver": as the paper
        prints it, decided after the swap, from the swapped value and the size of the party that received
        it; predictions then depend on the swap. None: everybody.
    random_state : None, int, numpy RandomState or Generator, default=None
        None draws every swap afresh from the operating system and keeps nothing. Otherwise a simulation: the
        swap of a row is a function of the seed and of the row alone. A RandomState or a Generator gives one
        seed in ``fit``.

    Attributes
    ----------
    n_features_in_ : int
        Number of parties.
    feature_names_in_ : ndarray of shape (n_parties,)
        Names of the parties, where X had string names.
    party_sizes_ : ndarray of shape (n_parties,)
        The sizes in use.
    disclosure_risk_ : DisclosureRisk
        What is claimed against model extraction, and what is not.

    See Also
    --------
    SecureSumAggregator : The same synthesis with no response opened.
    ConsentBox : Opens responses only if every party agrees.
    skprivate.metrics.record_linkage_score : How many swapped responses still point at their party.

    Notes
    -----
    **Privacy.** This is not differential privacy. One attack is hindered: the platform's operator, who takes
    what stands in a party's place for that party's answers and fits a copy of its model. He is right about a
    response that keeps its value. Of m responses to a query at most ``p_lower * ceil(m / (p_lower +
    p_upper))`` do:

    - Two ranks that are left differ by less than `p_lower` or by more than `p_upper`. Bend ``p_lower +
      p_upper`` neighbouring ranks to a circle: those that are left are less than `p_lower` apart on it.
    - Take one of them. All others that are left lie fewer than `p_lower` steps before or behind it, and for
      i = 1, ..., p_lower - 1 not both of the positions i and i - p_lower from it are left: on the circle
      they are `p_lower` apart. So at most ``1 + (p_lower - 1)`` are left of each circle, the last of which
      may have empty places.

    For m up to 10, enumeration finds no more than ``p_lower * (m // w) + min(m % w, p_lower)`` with ``w =
    p_lower + p_upper``, for which we have no proof. The paper's bound, ``p_lower - 1``, is false.

    Proof: :doc:`/proofs/swapping`.

    The bound counts the parties of one query together, and is none for one party whose rank is always the
    same. Of 20 responses with ``p_lower=3, p_upper=8`` the expected share that keeps its value is 0.40 % with
    "fewest", 8.2 % with "random" and 6.8 % with "top", but 0.86, 19.5 and 39.7 % at the worst rank; and a
    rank without a partner, which exists if m is below ``2 * p_lower``, always does. Equal responses, such as
    those that are not active, may be swapped and look as before.

    Sizes are public, and shares are in proportion to them: where one party is much larger than the others the
    largest share of a query is its own, whoever it was swapped to, and the mean size over its size times that
    share is its response. It is in every query in which the responses differ by less than the ratio of sizes.
    ``fit`` warns from sizes alone, where the rank of a party's share (of the largest, by reciprocals of the
    smallest, or of one between smaller and larger parties) is worth half the way from a guess to certainty
    even if responses were independent and uniform between 0 and a common bound: for one party among equals,
    above twice their size. Responses that agree, as those of sites with like patients do, make it nearly
    certain there (94 % of queries at twice the size, and all at five times, for 20 parties of
    `make_parties`). `SecureSumAggregator` predicts the same and opens none.

    Not protected: the synthesis, and with it membership in a party's rows; the values of a query, in some
    order, so that a party known to answer the largest, or to have most rows, is found by its rank; every
    response, where the same query may be asked again: fresh swaps leave out the ranks next to a party's own,
    and after fifty of them all ranks are known (measured for 20 parties); anything from whoever runs the
    swap.

    A seeded run is a simulation: who knows the seed can undo the swap. It is recorded as a leak.

    Sums are rounded once, as if computed exactly (Shewchuk, 1997), and do not depend on the order of their
    terms. With every rule but "receiver" a prediction is therefore the same bit for bit with and without the
    swap, in a batch and alone.

    References
    ----------
    Lin, Liu and Wang, Striking the perfect balance: preserving privacy while boosting utility in
    collaborative medical prediction platforms, Algorithms 2 and 3.

    Li and Sarkar, Protecting privacy against record linkage disclosure: a bounded swapping approach for
    numeric data, Information Systems Research 22(4), 2011.

    Shewchuk, Adaptive precision floating-point arithmetic and fast robust geometric predicates, Discrete and
    Computational Geometry 18, 1997.

    Examples
    --------
    Twelve parties answer two queries:

    >>> import numpy as np
    >>> from skprivate.collaborative import BSTDAggregator
    >>> responses = np.random.default_rng(0).normal(loc=[[5.0], [7.0]], size=(2, 12))
    >>> aggregator = BSTDAggregator().fit(responses)
    >>> aggregator.predict(responses).round(3)
    array([5.022, 6.75 ])
    >>> shown = aggregator.transform(responses)
    >>> (np.sort(shown) == np.sort(responses)).all()
    np.True_
    >>> for name, percent in aggregator.disclosure_risk_.bound.items():
    ...     print(f"{name}: at most {percent:.1f} % keep their value")
    responses to a query: at most 33.3 % keep their value
    """

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

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
        party_sizes: ArrayLike | None = None,
        order: SwapOrder = "fewest",
        active_rule: ActiveRule | None = "support",
        random_state: RandomSource = None,
    ) -> None:
        self.p_lower = p_lower
        self.p_upper = p_upper
        self.party_sizes = party_sizes
        self.order = order
        self.active_rule = active_rule
        self.random_state = random_state

    @private_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters against the number of parties; nothing is learnt from X or y.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_parties)
            Responses, in the units of y; NaN only with ``active_rule="support"``.
        y : array-like of shape (n_queries,), default=None
            Checked where it is given, and otherwise unused.

        Returns
        -------
        self : BSTDAggregator

        Raises
        ------
        TypeError, ValueError
            A parameter is out of range, ``p_lower >= p_upper``, X or y is not finite and numeric, or
            `party_sizes` does not fit X.

        Warns
        -----
        DisclosureWarning
            There are too few parties for the window, or it is narrow, or a party stands out by its size
            (see Notes): less is protected than meant.
        """
        X = validate_responses(self, X, y, reset=True)
        if self.p_lower >= self.p_upper:
            raise ValueError(f"p_lower must be below p_upper, got {self.p_lower} and {self.p_upper}.")
        self.party_sizes_ = check_party_sizes(self.party_sizes, X.shape[1])
        self._weights = relative_sizes(self.party_sizes_)
        self._total = float(self.party_sizes_.sum())
        entropy = check_entropy(self.random_state)
        self._seed = None if entropy.private else int.from_bytes(entropy.random_bytes(8), "little")
        self.disclosure_risk_ = self._state_risk()
        self._warn()
        return self

    @redact_errors
    def transform(self, X: Any) -> FloatArray:
        """Swap the responses to every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_parties)
            Responses.

        Returns
        -------
        X_swapped : ndarray of shape (n_queries, n_parties)
            Each row a permutation of the row of ``X * party_sizes / mean(party_sizes)``: of X itself, if the
            parties are equal. With the rules "box" and "support", who is not active stands there as 0.
        """
        check_is_fitted(self)
        values, _ = self._shares(validate_responses(self, X, reset=False))
        return self._swap(values)

    @redact_errors
    def predict(self, X: Any) -> FloatArray:
        """Combine the responses to every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_parties)
            Responses.

        Returns
        -------
        y_pred : ndarray of shape (n_queries,)
            Average of the active responses, weighted by the parties' sizes; 0 where nobody is active.

        Warns
        -----
        UtilityWarning
            A prediction rests on at most a quarter of the parties, or on at most two of more.
        """
        check_is_fitted(self)
        return self._combine(validate_responses(self, X, reset=False))

    def _combine(self, responses: FloatArray, *, warn: bool = True) -> FloatArray:
        """Predict from C-contiguous float64 responses that are known to be valid: for the platform."""
        values, active = self._shares(responses)
        # The other rules need no swap to predict: it permutes the terms of a sum that is rounded once, and
        # whose weights are fixed before. Not one bit can change.
        if self.active_rule == "receiver":
            values = self._swap(values)
            active = np.abs(values) >= self._weights / self._total
        if warn:
            warn_few_active(active)
        predictions = np.empty(len(values))
        scratch = np.empty(2 * values.shape[1])
        synthesize_rows(values, active.view(np.uint8), self._weights, scratch, predictions)
        return predictions

    def _shares(self, responses: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The parties' shares in the units of equal parties' responses, and who is active."""
        if (self._weights == 1.0).all():
            return shares(responses, self._weights, self.active_rule, total=self._total)
        values, active = shares(responses, self.party_sizes_, self.active_rule)
        values /= self._total / len(self._weights)
        return values, active

    def _swap(self, values: FloatArray) -> FloatArray:
        lower, upper = self._window()
        order = ORDERS[self.order]
        scratch = np.empty((3, values.shape[1]), dtype=np.int32)
        swapped = np.empty_like(values)
        if self._seed is not None:
            swap_rows(values, lower, upper, order, None, self._seed, scratch, swapped)
            return swapped
        # About a word for eight values: two choices per pair.
        with WordStream(check_entropy(None), 1 + values.size // 8) as stream:
            swap_rows(values, lower, upper, order, stream, 0, scratch, swapped)
        return swapped

    def _window(self) -> tuple[int, int]:
        """Least and greatest distance of ranks, as far as there are ranks."""
        n_parties = len(self._weights)
        return min(int(self.p_lower), n_parties), min(int(self.p_upper), n_parties - 1)

    def _state_risk(self) -> DisclosureRisk:
        lower, upper = self._window()
        n_parties = len(self._weights)
        # Without a pair to swap lower is n_parties, and so is the bound.
        kept = min(lower * -(-n_parties // (lower + upper)), n_parties)
        seeded = ("random_state is seeded: who knows the seed can undo the swap",)
        return DisclosureRisk(
            protection=f"swaps of ranks {lower} to {upper} apart" if lower <= upper else "no swap",
            attack="model extraction: the platform's operator takes what stands in a party's place for the "
            "party's responses and fits a copy of its model",
            metric="share of responses that keep their value",
            bound={"responses to a query": 100.0 * kept / n_parties},
            assumption="no two responses to a query are equal; all parties of a query count together: for "
            "one party whose rank is always the same no bound is proven",
            unprotected=(
                "the synthesis, and with it membership of a row in the ensemble",
                "the values of a query in some order: a party known by its rank is found",
                "every response, from some tens of fresh swaps of the same query",
                "every response, from whoever runs the swap",
            ),
            leaks=() if self._seed is None else seeded,
        )

    def _warn(self) -> None:
        """Say once what the parameters do not do for so few parties."""
        reasons = self._weaknesses(len(self._weights))
        if reasons:
            message = (
                f"{type(self).__name__} protects less than its parameters promise: {'; '.join(reasons)}."
            )
            warn_user(message, DisclosureWarning)

    def _weaknesses(self, n_parties: int) -> list[str]:
        lower, upper = self._window()
        if n_parties <= lower:
            return ["with no more parties than p_lower nothing is swapped"]
        reasons = []
        if upper < self.p_upper:
            reasons.append(
                "with no more parties than p_upper the window is cut at one less than their number"
            )
        if 2 * lower > n_parties:
            reasons.append("with fewer than 2 * p_lower parties the middle ranks keep their values")
        if upper - lower + 1 < NARROW:
            reasons.append(f"a window of fewer than {NARROW} ranks makes partners easy to guess")
        if stands_out(self._weights):
            reasons.append(
                "a party's size is so far from those of the others that its share is known by its rank, "
                "and with it its response: SecureSumAggregator predicts the same and opens no response"
            )
        return reasons

    def __sklearn_tags__(self) -> Tags:
        return aggregator_tags(super().__sklearn_tags__(), self.active_rule)
