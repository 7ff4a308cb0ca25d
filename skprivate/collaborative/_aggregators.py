# SPDX-License-Identifier: BSD-3-Clause
"""Aggregators of the parties' responses: bounded swapping (BSTD), and sums that open no response."""

import os
from numbers import Integral
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._config import StrictMixin
from .._typing import ActiveRule, BoolArray, FloatArray, RandomSource, SwapOrder
from ..accounting import DisclosureRisk
from ..base import SHARED_CONSTRAINTS, private_fit, redact_errors
from ..base._mixin import PrivacyHTMLMixin
from ..exceptions import DisclosureWarning, UtilityWarning
from ..noise import check_entropy
from ..noise._stream_kernels import WordStream
from ..utils._compat import Interval, StrOptions
from ..utils._private_fit import warn_user
from ..utils._public_module import public_module
from ..utils._tables import read_numbers, validate_data
from ._protocols.masked_sum import MaskedSum, warn_few_parties
from ._swap_kernels import swap_rows, synthesize_rows

#: As the kernel numbers them.
ORDERS = {"fewest": 0, "random": 1, "top": 2}
#: Of fewer ranks in the window the likeliest partner is easily guessed.
NARROW = 5
#: Half-way from a guess to certainty: beyond it the rank reveals more about a party than it hides.
STANDS_OUT = 0.5
# Nodes of the integral over a response; the integrand rises from 0 to 1, so that the error is below 1/4096.
_NODES = (np.arange(2048) + 0.5) / 2048
# Keys remember every query id; after so many queries they are made anew, and the memory with them.
_QUERIES_PER_SESSION = 1000


def check_party_sizes(party_sizes: Any, n_parties: int) -> FloatArray:
    """Return how many rows each party holds, or any other weights in proportion to that.

    Parameters
    ----------
    party_sizes : array-like of shape (n_parties,) or None
        Finite and positive, whole or not. None: one each.
    n_parties : int

    Returns
    -------
    sizes : ndarray of shape (n_parties,)

    Raises
    ------
    TypeError
        Not numbers.
    ValueError
        Another length, or a size that is not finite and positive.

    Examples
    --------
    >>> from skprivate.collaborative._aggregators import check_party_sizes
    >>> check_party_sizes(None, 3)
    array([1., 1., 1.])
    """
    if party_sizes is None:
        return np.ones(n_parties)
    sizes = np.asarray(party_sizes)
    if sizes.dtype.kind not in "iuf":
        raise TypeError("party_sizes must hold numbers.")
    if sizes.shape != (n_parties,):
        raise ValueError(
            f"party_sizes must have shape ({n_parties},), one size per column of X, not {sizes.shape}."
        )
    sizes = sizes.astype(np.float64)
    if not (np.isfinite(sizes).all() and (sizes > 0).all() and np.isfinite(sizes.sum())):
        raise ValueError("party_sizes must be finite and greater than 0, and so must be their sum.")
    return sizes


def relative_sizes(sizes: FloatArray) -> FloatArray:
    """Return sizes over their mean: exactly 1 for equal parties, whose responses then stay as they are."""
    if (sizes == sizes[0]).all():
        return np.ones(len(sizes))
    return sizes / (sizes.sum() / len(sizes))


def validate_responses(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> FloatArray:
    """Return the responses as a C-contiguous float64 array; NaN may stand where the rule is "support".

    Parameters
    ----------
    estimator : estimator
        With ``active_rule``.
    X : array-like of shape (n_queries, n_parties)
    y : array-like of shape (n_queries,), default=None
        Checked where it is given (length, one dimension, finite), and then forgotten.
    reset : bool
        True in ``fit``.

    Returns
    -------
    responses : ndarray of shape (n_queries, n_parties)
        In strict mode a value that is not a finite number is no answer; if the rule is another one, it counts
        as 0. So no cell makes a step in front of a private estimator fail.
    """
    if estimator.is_strict():
        found = read_numbers(estimator, X, reset=reset)
        return np.where(np.isfinite(found), found, np.nan if estimator.active_rule == "support" else 0.0)
    options: dict[str, Any] = {
        "dtype": np.float64,
        "order": "C",
        "reset": reset,
        "ensure_all_finite": "allow-nan" if estimator.active_rule == "support" else True,
    }
    if y is None:
        return validate_data(estimator, X, **options)
    X, y = validate_data(estimator, X, y, y_numeric=True, **options)
    if np.asarray(y).dtype.kind not in "biuf":
        raise ValueError("y must hold numbers.")
    return X


def aggregator_tags(tags: Tags, active_rule: str | None) -> Tags:
    """Set the tags of an estimator that combines responses and learns nothing from y."""
    tags.input_tags.allow_nan = active_rule == "support"
    tags.target_tags.required = False
    tags.regressor_tags.poor_score = True
    return tags


def shares(
    responses: FloatArray, sizes: FloatArray, rule: str | None, *, total: float | None = None
) -> tuple[FloatArray, BoolArray]:
    """Return each party's share n_j f_j of the synthesis, 0 where it is not active, and who is.

    The synthesis is the sum of the shares over the sum of the active parties' sizes, and 0 where nobody is
    active.

    Parameters
    ----------
    responses : ndarray of shape (n_queries, n_parties)
        f_j, in the units of y; NaN is a party without an answer (rule "support").
    sizes : ndarray of shape (n_parties,)
        n_j, or a multiple of it.
    rule : {"support", "box", "receiver", None}
        "box": active where abs(f_j) >= 1 / n, the same as abs(a_j) >= n_j / n^2 for a_j = n_j f_j / n;
        "support": active where there is an answer; None: always. "receiver" decides after the swap: every
        share is kept here.
    total : float, default=None
        n, where `sizes` do not add up to it.

    Returns
    -------
    values : ndarray of shape (n_queries, n_parties)
    active : ndarray of bool, of shape (n_queries, n_parties)

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative._aggregators import shares
    >>> shares(np.array([[1.0, 0.001, -2.0]]), np.array([10.0, 20.0, 30.0]), "box")
    (array([[ 10.,   0., -60.]]), array([[ True, False,  True]]))
    """
    if rule == "box":
        active = np.abs(responses) >= 1.0 / (sizes.sum() if total is None else total)
    elif rule == "support":
        active = ~np.isnan(responses)
    else:
        return responses * sizes, np.ones(responses.shape, dtype=bool)
    return np.where(active, responses * sizes, 0.0), active


def warn_few_active(active: BoolArray) -> None:
    """Warn, once for all queries, where a prediction rests on few parties.

    Of m parties few are at most m / 4, since the standard error of a mean of k equally good, independent
    responses falls with the square root of k, and is then at least twice that of all m; and at most two,
    where there are more than two, since one's response is the prediction, and of two each learns the other's
    from it; of one or two parties none. How many parties are active is public to the platform: the swapped
    responses show it as zeros, the sum of sizes in the open. The message names neither a number nor a query.

    Parameters
    ----------
    active : ndarray of bool, of shape (n_queries, n_parties)
    """
    n_parties = active.shape[1]
    few = max(2, n_parties // 4) if n_parties > 2 else 0
    if not active.all() and (active.sum(axis=1) <= few).any():
        warn_user(
            "A prediction rests on few parties: on no more than a quarter of them, or than two; where nobody "
            "is active it is zero, and no estimate. Take active_rule='support' for targets in small units, "
            "local models whose kernel reaches further, or queries where the parties have rows.",
            UtilityWarning,
        )


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
    **Privacy.** This is not differential privacy. One attack is hindered: the platform's operator takes the
    values in a party's place for that party's answers, and fits a copy of its model. He is right about a
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
            There are too few parties for the window, the window is narrow, or a party is found by its size
            (see Notes). Less is protected than intended.
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
        weaknesses = self._weaknesses()
        if weaknesses:
            promised = f"{type(self).__name__} protects less than its parameters promise"
            warn_user(f"{promised}: {'; '.join(weaknesses)}.", DisclosureWarning)
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
        scratch, swapped = np.empty((3, values.shape[1]), dtype=np.int32), np.empty_like(values)
        rules = (*self._window(), ORDERS[self.order])
        if self._seed is not None:
            swap_rows(values, *rules, None, self._seed, scratch, swapped)
            return swapped
        # About a word for eight values: two choices per pair.
        with WordStream(check_entropy(None), 1 + values.size // 8) as stream:
            swap_rows(values, *rules, stream, 0, scratch, swapped)
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

    def _weaknesses(self) -> list[str]:
        """Return what the parameters do not do for so few parties, or for such sizes."""
        n_parties, (lower, upper) = len(self._weights), self._window()
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


def rank_advantage(sizes: FloatArray) -> float:
    """Return how far beyond guessing the largest share of a query points at the largest party.

    What is opened are shares n_j f_j, in some order. The largest is the largest party's in every query in
    which no other response is n_1 / n_j times as large as its own. This is certain if responses agree within
    the ratio of the two largest sizes. Sizes are public, responses are not; taken to be as different as can
    be, independent and uniform between 0 and a common bound (of all such distributions the one of greatest
    entropy), the probability is the integral over u in [0, 1] of the product over j > 1 of min(1, u n_1 /
    n_j). The more they agree, the nearer it is to 1.

    Parameters
    ----------
    sizes : ndarray of shape (n_parties,)
        Positive, at least two. Their reciprocals give the same for the smallest share and the smallest party.

    Returns
    -------
    advantage : float
        (p - 1 / m) / (1 - 1 / m) for that probability p: 0 is a guess among m parties, 1 certainty. For one
        party r times as large as each of the others it is 1 - 1 / r.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative._aggregators import rank_advantage
    >>> round(rank_advantage(np.array([1.0, 1.0, 4.0])), 3)
    0.75
    """
    largest = int(np.argmax(sizes))
    return _beyond_guess(_first_probability(sizes[largest] / np.delete(sizes, largest)), len(sizes))


def stands_out(sizes: FloatArray) -> bool:
    """Return whether the rank of some party's share gives half the way from a guess to certainty.

    A party between smaller and larger ones is found by its rank as the largest and the smallest are: its
    share is above those of all smaller parties, with the probability p of `rank_advantage` among them, and
    below those of all larger ones, with the same by reciprocals. The product of both is taken for it.

    Parameters
    ----------
    sizes : ndarray of shape (n_parties,)
        Positive, at least two.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative._aggregators import stands_out
    >>> stands_out(np.array([1.0] * 9 + [10.0] + [100.0] * 10)), stands_out(np.ones(20))
    (True, False)
    """
    ordered, n = np.sort(sizes), len(sizes)
    # Against the neighbours in size alone each factor is 1 - 1/(2 r): no more is reached with all others.
    factors = 1 - ordered[:-1] / ordered[1:] / 2
    most = np.append(1.0, factors) * np.append(factors, 1.0)
    # Both factors are above 1/2 there, their product about 1/2: sizes grow so fast that there are few.
    likely = np.flatnonzero(_beyond_guess(most, n) >= STANDS_OUT)
    for k in likely:
        above, below = ordered[k] / ordered[:k], ordered[k + 1 :] / ordered[k]
        if _beyond_guess(_first_probability(above) * _first_probability(below), n) >= STANDS_OUT:
            return True
    return False


def _first_probability(ratios: FloatArray) -> float:
    """Return the integral over u in [0, 1] of the product of min(1, u r); 1 without ratios."""
    log_product = np.zeros(len(_NODES))
    for ratio, count in zip(*np.unique(ratios, return_counts=True), strict=True):
        log_product += count * np.log(np.minimum(1.0, ratio * _NODES))
    return float(np.exp(log_product).mean())


def _beyond_guess(probability: Any, n_parties: int) -> Any:
    guess = 1 / n_parties
    return (probability - guess) / (1 - guess)


@public_module("skprivate.collaborative")
class SecureSumAggregator(StrictMixin, PrivacyHTMLMixin, RegressorMixin, BaseEstimator):
    """Combine the parties' responses to a query into one prediction, from sums that open no response.

    The prediction is the mean of the active parties' responses, weighted by party sizes. It is the one that
    `BSTDAggregator` makes with the same ``active_rule``, to 1e-9 of the size of the values (in any unit
    between 1e-29 and 1e30), but no response is ever opened, swapped or not: every party decides on its own
    response whether it is active, and the platform adds masked numbers (`MaskedSum`). Recommended where
    responses need not be shown; there is no ``transform``. A party that drops out stops the prediction.

    An estimator runs all parties and the platform in one process, with fresh keys. For parties in
    places of their own use `MaskedSum`.

    Parameters
    ----------
    party_sizes : array-like of shape (n_parties,), default=None
        Positive weights n_j, usually the numbers of rows; None means equal parties of one row.
    active_rule : {"support", "box"} or None, default="support"
        Whose responses count. "support": those that are not NaN, in any unit of y. "box", the paper's rule:
        those of magnitude at least 1 / n, with n the sum of party sizes, which depends on the unit of y.
        None: all.

    Attributes
    ----------
    party_sizes_ : ndarray of shape (n_parties,)
        The sizes in use.
    disclosure_risk_ : DisclosureRisk
        What the platform can learn.
    n_features_in_ : int
        Number of parties.
    feature_names_in_ : ndarray of shape (n_parties,)
        Names of the columns, where X had string names.

    Warns
    -----
    DisclosureWarning
        There are fewer than three parties: the sum hides nothing from them.

    See Also
    --------
    MaskedSum : The protocol, for sites in places of their own.
    BSTDAggregator : Opens the responses, swapped.

    Notes
    -----
    **Privacy.** Not differential privacy. Assumed is what `MaskedSum` assumes; then the platform and up to
    m - 2 of the m parties learn only two sums per query over the others, of n_j f_j and of n_j over the
    active parties. Where one party only is active the sum is its response; ``active_rule=None`` keeps
    everybody in the sum. Two sums for one query, with a party and without it, give its response as the difference:
    ``on_site_error="drop"`` makes them. The prediction itself is not protected: whoever may ask many queries
    learns the platform's function, and may infer who is in the data. Noise on the released sum is the remedy.
    Keys are made by ``fit``, are in no repr and no pickle, and are made anew after unpickling.

    Proof: :doc:`/proofs/swapping`.

    References
    ----------
    .. [1] S.-B. Lin, X. Liu, Y. Wang, "Striking the Perfect Balance: Preserving Privacy While Boosting
       Utility in Collaborative Medical Prediction Platforms", eq. (11).
    .. [2] K. Bonawitz et al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import SecureSumAggregator
    >>> responses = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, 6.0]])
    >>> aggregator = SecureSumAggregator(party_sizes=[100, 100, 200]).fit(responses)
    >>> aggregator.predict(responses)
    array([2.75, 3.75])
    """

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "party_sizes": ["array-like", None],
        "active_rule": [StrOptions({"box", "support"}), None],
    }

    def __init__(
        self,
        *,
        party_sizes: ArrayLike | None = None,
        active_rule: Literal["box", "support"] | None = "support",
    ) -> None:
        self.party_sizes = party_sizes
        self.active_rule = active_rule

    @private_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the responses and make keys; nothing is learnt from values.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_parties)
            The parties' responses. NaN, for a party without an answer, only with the rule "support".
        y : array-like of shape (n_queries,), default=None
            Checked where given, and not used.

        Returns
        -------
        self : SecureSumAggregator

        Raises
        ------
        TypeError, ValueError
            X, y or the party sizes are not as described.
        ImportError
            ``cryptography`` is not installed.
        """
        n_parties = validate_responses(self, X, y, reset=True).shape[1]
        self.party_sizes_ = check_party_sizes(self.party_sizes, n_parties)
        warn_few_parties(n_parties)
        self._session = _Session(n_parties)
        self.disclosure_risk_ = _risk(n_parties)
        return self

    @redact_errors
    def predict(self, X: Any) -> FloatArray:
        """Return the synthesis of responses, from masked sums.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_parties)
            As in `fit`.

        Returns
        -------
        y_pred : ndarray of shape (n_queries,)
            In the units of the responses; 0 where no party is active.

        Raises
        ------
        ValueError
            X is not as described, or a response times its party's size is not below 2^100.

        Warns
        -----
        UtilityWarning
            A prediction rests on at most a quarter of the parties, or on at most two of more. The sum of
            sizes, which is opened, shows as much.
        """
        check_is_fitted(self)
        return self._combine(validate_responses(self, X, reset=False))

    def _combine(self, values: FloatArray, *, warn: bool = True) -> FloatArray:
        """`predict` without validation: `values` is a float64 array of shape (n_queries, n_parties)."""
        sizes, n_rows = relative_sizes(self.party_sizes_), float(self.party_sizes_.sum())
        weighted, active = shares(values, sizes, self.active_rule, total=n_rows)
        if warn:
            warn_few_active(active)
        session: _Session | None = getattr(self, "_session", None)
        if session is None or session.stale:
            self._session = session = _Session(len(self.party_sizes_))
        total, size = session.add(weighted, active * sizes)
        return np.divide(total, size, out=np.zeros(len(total)), where=size > 0)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        # Keys stay in their process; the copy makes its own.
        state.pop("_session", None)
        return state

    def __sklearn_tags__(self) -> Tags:
        return aggregator_tags(super().__sklearn_tags__(), self.active_rule)


class _Session:
    """All parties and the platform, with their keys, in one process."""

    __slots__ = ("_keys", "_platform_key", "_process", "_sum", "_used")

    def __init__(self, n_parties: int) -> None:
        names = [f"party {index}" for index in range(n_parties)]
        self._sum, self._keys, self._platform_key = MaskedSum.simulate(names)
        self._process = os.getpid()
        self._used = 0

    @property
    def stale(self) -> bool:
        """Whether the keys remember many queries, or belong to the process of which this is a fork."""
        return self._used >= _QUERIES_PER_SESSION or self._process != os.getpid()

    def add(self, values: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Run the protocol once over columns of shape (n_queries, n_parties); return both sums."""
        self._used += 1
        # An aggregator has seen answers and no rows: what its parties were asked are these rows' numbers.
        query = self._sum.new_query(np.arange(len(values))[:, np.newaxis])
        messages = {
            name: self._sum.mask(name, key, query, values[:, party], sizes[:, party])
            for party, (name, key) in enumerate(self._keys.items())
        }
        return self._sum.open(self._platform_key, query, messages)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session holds keys and cannot be pickled or copied")


def _risk(n_parties: int) -> DisclosureRisk:
    """What holds for a sum over so many parties; with one, nothing does."""
    colluding = max(n_parties - 2, 0)
    return DisclosureRisk(
        protection=f"secure sum over {n_parties} {'party' if n_parties == 1 else 'parties'}",
        attack=f"the platform, with up to {colluding} of the parties, reads the messages of one query",
        metric="single responses read from messages",
        bound={"each other party": 0.0} if n_parties > 1 else {},
        assumption=(
            "all follow the protocol; public keys are authentic; X25519, HKDF-SHA256, SHAKE-256 and AES-256 "
            "hold; at least two of the parties that do not collude are active in the query"
        ),
        unprotected=(
            "the two sums of a query, and so the prediction: membership may be inferred from it",
            "how many parties are active, or which, and the response of one that is active alone",
            "the response of a party, where the same query is summed with and without it",
            "the last party, where all others collude",
            *(("each party's response, from the other that sees the prediction",) if n_parties == 2 else ()),
            "anything, from who runs the process: all keys are in it",
        ),
    )
