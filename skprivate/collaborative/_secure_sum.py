# SPDX-License-Identifier: BSD-3-Clause
"""The synthesis of the parties' responses from masked sums, as an estimator."""

import os
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._config import StrictMixin
from .._typing import FloatArray
from ..accounting import DisclosureRisk
from ..base import private_fit, redact_errors
from ..base._html_repr import PrivacyHTMLMixin
from ..utils._compat import StrOptions
from ..utils._public_module import public_module
from ._active_parties import (
    aggregator_tags,
    check_party_sizes,
    relative_sizes,
    shares,
    validate_responses,
    warn_few_active,
)
from ._protocols.masked_sum import MaskedSum, warn_few_parties

# Keys remember every query id; after so many queries they are made anew, and the memory with them.
_QUERIES_PER_SESSION = 1000


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
    everybody in the sum. Two sums for one query, with a party and without it, give its response as the
    difference: ``on_site_error="drop"`` makes them. The prediction itself is not protected: who may ask many
    queries learns the
    platform's function, and may infer who is in the data; noise on the released sum is the remedy.
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
        total, size = self._open_session().add(weighted, active * sizes)
        return np.divide(total, size, out=np.zeros(len(total)), where=size > 0)

    def _open_session(self) -> "_Session":
        session: _Session | None = getattr(self, "_session", None)
        if session is None or session.stale:
            self._session = session = _Session(len(self.party_sizes_))
        return session

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
