# SPDX-License-Identifier: BSD-3-Clause
"""Cross-validation in which public rows only train and only private rows are tested."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import sklearn
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import indexable

from .._typing import BoolArray, IndexArray
from ..exceptions import DisclosureWarning
from ..utils import check_row_mask, splits_by_group
from ..utils._compat import num_samples
from ..utils._private_fit import warn_user
from ..utils._public_module import public_module

ROWS_NOT_GROUPS = (
    "The splitter keeps groups together, but without metadata routing no groups reach the estimators: they "
    "protect a row, not a group. Turn on sklearn.set_config(enable_metadata_routing=True)."
)


@public_module("skprivate.model_selection")
class PublicPrivateSplit(BaseCrossValidator):
    """Split the private rows; every public row stays in every training set.

    Folds that mix public and private rows score two populations at once. Here each test set holds private
    rows only, the population of a private model.

    Parameters
    ----------
    cv : int or cross-validation splitter, default=5
        The splitter of the private rows. An int is a number of folds, stratified if y holds classes.

    See Also
    --------
    skprivate.LocallyPrivateTreeClassifier : Takes the same mask in ``fit``.

    Notes
    -----
    ``is_public`` reaches ``split`` by scikit-learn's metadata routing, which must be on
    (``sklearn.set_config(enable_metadata_routing=True)``). This splitter requests it by default. Without a
    mask every row counts as private, with a warning.

    **Privacy.** Scores of a plain search are exact functions of the private test rows: neither a ledger nor
    ``privacy_spent_`` covers them.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.model_selection import PublicPrivateSplit
    >>> X = np.zeros((6, 1))
    >>> y = np.array([0, 1, 0, 1, 0, 1])
    >>> is_public = np.array([True, True, False, False, False, False])
    >>> for train, test in PublicPrivateSplit(cv=2).split(X, y, is_public=is_public):
    ...     print(train, test)
    [0 1 4 5] [2 3]
    [0 1 2 3] [4 5]
    """

    __metadata_request__split = {"is_public": True, "groups": True}

    def __init__(self, cv: Any = 5) -> None:
        self.cv = cv

    def split(
        self, X: Any, y: Any = None, groups: Any = None, is_public: Any = None
    ) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield training and test indices; test indices are private rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        groups : array-like of shape (n_samples,), default=None
            Groups of the rows, for an inner splitter that splits by groups.
        is_public : array-like of bool of shape (n_samples,), default=None
            Marks public rows. None: every row is private, with a warning.

        Yields
        ------
        train, test : ndarray of int
        """
        if is_public is None:
            warn_user(
                "No is_public reached PublicPrivateSplit, so every row counts as private and is tested. In a "
                "search, turn on sklearn.set_config(enable_metadata_routing=True) and pass is_public to fit; "
                "without public rows, use the inner splitter itself.",
                UserWarning,
            )
        inner, mask, arguments = self._private_part(X, y, groups, is_public)
        # Without routing a search cannot pass a mask, so a mask means a split by hand.
        by_hand = is_public is not None or sklearn.get_config()["enable_metadata_routing"]
        if groups is not None and splits_by_group(inner) and not by_hand:
            warn_user(ROWS_NOT_GROUPS, DisclosureWarning)
        public, private = np.flatnonzero(mask), np.flatnonzero(~mask)
        with warnings.catch_warnings():
            # It reveals the exact size of the smallest class among the private rows.
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            splits = list(inner.split(*arguments))
        for train, test in splits:
            yield np.sort(np.concatenate([public, private[train]])), private[test]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, is_public: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups, is_public
            As in `split`. They are needed only if the inner splitter needs them.

        Returns
        -------
        n_splits : int
        """
        if X is None and y is None and groups is None:
            return int(check_cv(self.cv).get_n_splits())
        inner, _, arguments = self._private_part(X, y, groups, is_public)
        return int(inner.get_n_splits(*arguments))

    def _private_part(
        self, X: Any, y: Any, groups: Any, is_public: Any
    ) -> tuple[Any, BoolArray, tuple[Any, Any, Any]]:
        """Return the inner splitter, the mask of public rows, and (X, y, groups) of the private rows."""
        X, y, groups = indexable(X, y, groups)
        sized = [part for part in (X, y, groups) if part is not None]
        if not sized:
            raise ValueError("X must not be None: its rows are split.")
        mask = check_row_mask(is_public, num_samples(sized[0]))
        if mask.all():
            raise ValueError("is_public marks every row: there is no private row to test.")
        y, groups = (None if part is None else np.asarray(part)[~mask] for part in (y, groups))
        inner = check_cv(self.cv, y, classifier=y is not None)
        # Other splitters of scikit-learn warn about groups.
        uses_groups = splits_by_group(inner) or not hasattr(inner, "get_metadata_routing")
        # Splitters use y and groups only, so the rows need not be copied.
        stand_in = np.zeros((np.count_nonzero(~mask), 1))
        return inner, mask, (stand_in, y, groups if uses_groups else None)
