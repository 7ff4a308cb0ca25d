# SPDX-License-Identifier: BSD-3-Clause
"""Quasi-microaggregation: identifying attributes of a query become centres of cells of a public range."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from sklearn.utils.validation import validate_data as sklearn_validate_data

from .._typing import FloatArray
from ..accounting import DisclosureRisk
from ..base import PrivateEstimatorMixin, assign_roles, private_fit, redact_errors
from ..base._stateless_steps import chosen_by_rows
from ..utils import as_cells, check_bounds, check_int
from ..utils._compat import Interval
from ..utils._public_module import public_module
from ..utils._tables import check_array, numbers_of, refuse_kinds
from ._coarsening_kernels import coarsen

# 65,536 cells: far more than protect anything.
DEEPEST = 16
# The attacker's tolerance of the paper, as a share of the range.
_MU = 1e-3


@public_module("skprivate.preprocessing")
class TQMATransformer(PrivateEstimatorMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Coarsen the quasi-identifiers of a query: tree-based quasi-microaggregation.

    The public range [a, b] of a quasi-identifier is halved `depth` times, which gives 2^depth cells of equal
    width w = (b - a) / 2^depth, and a value v becomes the centre of its cell::

        c = min(floor((v - a) / w), 2^depth - 1),    v' = a + w (c + 1/2)

    so that ``|v - v'| <= w / 2`` (up to the rounding of v'). Each row is coarsened by itself, without any
    other row. This is not differential privacy: `disclosure_risk_` states the protection.

    Parameters
    ----------
    depth : int, array-like of int or dict, default=4
        Halvings of the range, in [0, 16]: one number for all quasi-identifiers, one for each of them in the
        order of `quasi_identifiers`, or a dict ``{column: depth}`` over them. 0: one cell.
    bounds : pair or dict, default=None
        ``(lower, upper)``, each a scalar or an array over all columns of X, or a dict
        ``{column: (lower, upper)}``, by name or position, with at least the quasi-identifiers. They are in
        the units of X, from public knowledge. Values outside are clipped without a warning. None: the range
        of the rows of fit, which is a leak.
    quasi_identifiers : str, int, slice, array-like or callable, default=None
        The columns to coarsen: names, positions, a slice of positions, a mask, or a function that takes X and
        returns one of these. (A function that may read values is a leak. scikit-learn's
        `make_column_selector` does not read them.) None: every column.
    perturb_fit : bool, default=True
        Whether `fit_transform` coarsens its rows. False: the rows of fit are not changed, as in the paper,
        which coarsens queries only. A model behind this step in a pipeline is then fitted on exact rows and
        predicts from coarsened ones.

    Attributes
    ----------
    quasi_identifiers_ : ndarray of int of shape (n_quasi_identifiers,)
        Positions of the coarsened columns.
    bounds_ : pair of ndarray of shape (n_quasi_identifiers,)
        Their ranges, in the same order.
    depths_ : ndarray of int of shape (n_quasi_identifiers,)
        Their depths.
    disclosure_risk_ : DisclosureRisk
        The attack, the bound on correct orientation for every quasi-identifier, and what is not protected.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X has string names.

    See Also
    --------
    skprivate.collaborative.CollaborativeRegressor : Sends coarsened queries to several sites.
    BoundsScaler : Maps declared bounds to [0, 1].

    Notes
    -----
    **Privacy.** This is not differential privacy. It defends against the attribute attack: somebody has a
    table of names with the same attributes, known up to mu, and links a query to a row within mu. *Correct
    orientation* is the share of values, in percent, with ``|v - v'| <= 2 mu``. If a value is further away, a
    table that is right up to mu has no true entry within mu of v'. If v is uniform over its range, correct
    orientation is exactly 100 min(1, mu 2^(depth + 2) / (b - a)) (Proposition 1 of the paper, which states a
    bound): v is uniform in its cell, so ``|v - v'|`` is uniform on [0, w / 2] and at most 2 mu with
    probability min(1, 4 mu / w). If the density of v is at most q times the uniform one, correct orientation
    is at most q times that. `disclosure_risk_` assumes a mu of 1/1000 of the range: 0.4 % times 2^depth,
    6.4 % at depth 4.

    Proof: :doc:`/proofs/swapping`.

    Bounds must be public. If they are read from rows, they are recorded as a leak. Not protected are:

    - other columns;
    - the cell itself, and so a person alone in it;
    - values on a lattice, such as ages in decades: correct orientation may be 0 % or 100 % at any depth;
    - a person alone in the cells of several attributes together;
    - the fact that two queries of one person always lie in the same cells.

    If one value is coarsened over several ranges or to several depths, it lies in the overlap of all those
    cells. So choose one range and depth, and keep them.

    Cells are exact: edges are compared as the real numbers a + j w, not as rounded ones. Coarsening twice is
    coarsening once, bit for bit. Cells that are no numbers become NaN, and NaN is not changed. An infinite
    value is in the outermost cell. If bounds are declared, no cell makes the step fail. A private estimator
    behind it refuses NaN and counts the failure, or in strict mode replaces it. Data frames are returned as
    frames of the same kind, with the quasi-identifiers as float64 and all other columns unchanged.

    References
    ----------
    Lin, Liu, Wang, Striking the perfect balance: preserving privacy while boosting utility in collaborative
    medical prediction platforms, section 2.1 and algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.preprocessing import TQMATransformer
    >>> X = np.array([[37.0, 1.0], [64.0, 0.0], [105.0, 1.0]])
    >>> tqma = TQMATransformer(depth=3, bounds=([20, 0], [100, 1]), quasi_identifiers=[0])
    >>> tqma.fit_transform(X)
    array([[35.,  1.],
           [65.,  0.],
           [95.,  1.]])
    >>> dict(tqma.disclosure_risk_.bound)
    {'x0': 3.2}
    """

    # It takes no sparse matrix, and returns none.
    _refuses_sparse = True

    declared_roles = assign_roles(release="depth bounds quasi_identifiers perturb_fit")

    _parameter_constraints: dict[str, list[Any]] = {
        "depth": [Interval(Integral, 0, DEEPEST, closed="both"), dict, "array-like"],
        "bounds": [None, dict, tuple, list, "array-like"],
        "quasi_identifiers": [None, str, Integral, slice, "array-like", callable],
        "perturb_fit": ["boolean"],
    }
    leak_remedy = "Declare bounds=... and quasi_identifiers=... from public knowledge."

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(
        self, depth: Any = 4, bounds: Any = None, quasi_identifiers: Any = None, perturb_fit: bool = True
    ) -> None:
        self.depth = depth
        self.bounds = bounds
        self.quasi_identifiers = quasi_identifiers
        self.perturb_fit = perturb_fit

    @private_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the quasi-identifiers and compute their cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Quasi-identifiers are numbers; other cells count as NaN. Other columns may be anything. Values are
            read only if bounds are not declared.
        y : ignored

        Returns
        -------
        self : TQMATransformer

        Raises
        ------
        TypeError, ValueError
            The column of a quasi-identifier holds neither numbers nor objects, or a parameter does not fit X.
        PrivacyLeakError
            In strict mode, if the bounds or the quasi-identifiers would be read from rows.
        """
        X = self._check_table(X, reset=True)
        names = self._names()
        columns = resolve_columns(self.quasi_identifiers, X, names)
        leaks = ["bounds of X were read from the rows"] if self.bounds is None and columns else []
        if (chosen := chosen_by_rows(self.quasi_identifiers)) is not None:
            leaks.append(f"quasi-identifiers: {chosen}")
        self.announce_leaks(leaks)
        values = read_columns(X, columns, names)
        self.quasi_identifiers_ = np.array(columns, dtype=np.intp)
        self.depths_ = self._resolve_depths(columns, names)
        self.bounds_ = self._resolve_ranges(columns, names, values)
        self._lay_out_cells()
        self.disclosure_risk_ = self._state_risk(names, leaks)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the rows: coarsened, or clean with ``perturb_fit=False``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        X_out : ndarray or data frame of shape (n_samples, n_features)
            Its kind and types are those of `transform`, also with ``perturb_fit=False``.
        """
        self.fit(X, y)
        return self._transform(X, perturb=self.perturb_fit)

    def transform(self, X: Any) -> Any:
        """Coarsen the quasi-identifiers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_out : ndarray or data frame of shape (n_samples, n_features)
            A new table of the kind of X. Arrays of numbers become float64. An array of objects stays one,
            unless every column is a quasi-identifier.

        Raises
        ------
        TypeError, ValueError
            The columns are wrong, or that of a quasi-identifier holds neither numbers nor objects.
        """
        # One row in microseconds: only the type and shape of a plain array are checked.
        if self._is_plain(X):
            return self._perturb(X)
        return self._transform(X, perturb=True)

    @redact_errors
    def _transform(self, X: Any, *, perturb: bool) -> Any:
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        values = read_columns(X, self.quasi_identifiers_.tolist(), self._names())
        if perturb:
            plan = self._plan.copy()
            plan[:, 0] = np.arange(len(plan))
            coarsen(values, plan, self._table)
        return replace_columns(X, self.quasi_identifiers_.tolist(), values)

    def _is_plain(self, X: Any) -> bool:
        """Whether X is an array of the right type and shape, with nothing to convert or to warn about."""
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not len(X):
            return False
        return bool(X.shape[1] == getattr(self, "_n_plain_columns", None))

    def _perturb(self, X: FloatArray) -> FloatArray:
        """Coarsen rows that are known to be a float64 array of the right width."""
        out = X.copy()
        coarsen(out, self._plan, self._table)
        return out

    def _names(self) -> Any:
        return getattr(self, "feature_names_in_", None)

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Check shape, names and number of columns, without the values of other columns."""
        # Before a conversion to an array, which drops a mask.
        refuse_kinds(X, all_columns=False)
        if is_frame(X):
            if not len(X):
                # scikit-learn's message.
                check_array(np.empty((0, X.shape[1])))
            return sklearn_validate_data(self, X, reset=reset, skip_check_array=True)
        return sklearn_validate_data(self, as_table(X), reset=reset, dtype=None, ensure_all_finite=False)

    def _resolve_depths(self, columns: list[int], names: Any) -> NDArray[np.intp]:
        depth = self.depth
        if isinstance(depth, Mapping):
            found = positions_of(depth, self.n_features_in_, names, "depth")
            given = dict(zip(found, depth.values(), strict=True))
            if set(given) != set(columns):
                raise ValueError("depth: a dict has one entry for every quasi-identifier, and no other.")
            depth = [given[column] for column in columns]
        elif isinstance(depth, Integral):
            depth = [depth] * len(columns)
        if len(depth) != len(columns):
            raise ValueError(f"depth: {len(columns)} quasi-identifiers need {len(columns)} depths.")
        depths = [check_int(k, "depth", least=0) for k in depth]
        if max(depths, default=0) > DEEPEST:
            raise ValueError(f"depth must be at most {DEEPEST}.")
        return np.array(depths, dtype=np.intp)

    def _resolve_ranges(self, columns: list[int], names: Any, values: FloatArray) -> tuple[Any, Any]:
        """Return ranges of the quasi-identifiers: the declared ones, else those of the rows."""
        if self.bounds is None:
            check_array(values, ensure_all_finite="allow-nan", ensure_min_features=0)
            if np.isnan(values).all(axis=0).any():
                raise ValueError("a quasi-identifier has no value to read bounds from; declare bounds.")
            return np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        bounds = self.bounds
        if isinstance(bounds, Mapping):
            # Other columns need no bounds. They get arbitrary ones, so that one check covers all forms.
            bounds = dict(bounds)
            for column in set(range(self.n_features_in_)) - set(columns):
                if column not in bounds and (names is None or names[column] not in bounds):
                    bounds[column] = (0.0, 1.0)
        lower, upper = check_bounds(bounds, self.n_features_in_, names)
        return lower[columns], upper[columns]

    def _lay_out_cells(self) -> None:
        parts = [np.empty(0)]
        starts = [0]
        for lower, upper, depth in zip(*self.bounds_, self.depths_, strict=True):
            parts.append(_cells(float(lower), float(upper), int(depth)))
            starts.append(starts[-1] + len(parts[-1]))
        self._table = np.concatenate(parts)
        self._plan = np.column_stack([self.quasi_identifiers_, self.depths_, starts[:-1]]).astype(np.intp)
        # If the fit had names, a plain array needs scikit-learn's warning.
        self._n_plain_columns = None if self._names() is not None else self.n_features_in_

    def _state_risk(self, names: Any, leaks: list[str]) -> DisclosureRisk:
        labels = [label_of(column, names) for column in self.quasi_identifiers_]
        lower, upper = self.bounds_
        # mu is a share of the range, so that the range cancels. A range without width hides nothing.
        shares = np.where(lower < upper, np.minimum(100.0, 100.0 * _MU * 2.0 ** (self.depths_ + 2)), 100.0)
        others = self.n_features_in_ - len(labels)
        depths = self.depths_.tolist()
        shown = ", ".join(map(str, depths[:1] if len(set(depths)) == 1 else depths))
        return DisclosureRisk(
            protection=f"quasi-microaggregation, depth {shown}",
            attack=f"looking within mu of one value in a table that is right up to mu = {_MU:g} of its range",
            metric="correct orientation (share of values moved by at most 2 mu)",
            bound=dict(zip(labels, shares.tolist(), strict=True)),
            assumption="each value is uniform over its range; the bound is then attained",
            unprotected=(*([f"the other columns ({others})"] if others else []), *_UNPROTECTED),
            leaks=tuple(leaks),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags


_UNPROTECTED = (
    "the cell of a value, and whether it is missing",
    "values on a lattice (ages in decades): all of them or none may be found, at any depth",
    "the fact that two queries of one person lie in the same cells",
    "a person alone in a cell, or in the cells of several attributes together",
)


def _cells(lower: float, upper: float, depth: int) -> FloatArray:
    """Return the inner edges of 2^depth cells, then their centres, for the kernel."""
    # Whole numbers over one denominator, a power of two: Python divides them with correct rounding.
    halves = 2 << depth
    ends = Fraction(lower), Fraction(upper)
    denominator = max(end.denominator for end in ends) * halves
    start, stop = (int(end * denominator) for end in ends)
    step = (stop - start) // halves
    exact = [start + half * step for half in range(1, halves)]
    centres = np.array([numerator / denominator for numerator in exact[::2]])
    edges = np.array([_at_least(numerator, denominator) for numerator in exact[1::2]])
    # In a cell of few floats, rounding must not move a centre out, or coarsening twice would move it again.
    centres[:-1] = np.minimum(centres[:-1], np.nextafter(edges, -np.inf))
    return np.concatenate([edges, np.maximum(centres, lower)])


def _at_least(numerator: int, denominator: int) -> float:
    """Return the least float that is not below a quotient. A float is at or above both, or below both."""
    nearest = numerator / denominator
    top, bottom = nearest.as_integer_ratio()
    return nearest if top * denominator >= numerator * bottom else math.nextafter(nearest, math.inf)


# Selection and replacement of columns in arrays, data frames and lists.


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars."""
    return _is_of("pandas", X) or _is_of("polars", X)


def _is_of(library: str, X: Any) -> bool:
    # A frame exists only if its library is imported.
    module = sys.modules.get(library)
    return module is not None and isinstance(X, module.DataFrame)


def as_table(X: Any) -> Any:
    """Return an array, or a frame as it is. In lists, numbers beside text stay numbers."""
    if hasattr(X, "__array_namespace__"):
        return np.asarray(X)
    if is_frame(X) or not isinstance(X, list | tuple):
        return X
    cells = as_cells(X)
    plain = isinstance(cells, np.ndarray) and set(map(type, cells.ravel())) <= _NUMBERS
    return np.asarray(cells.tolist()) if plain else cells


# Types of numbers in a list. Subclasses may raise any error, so they do not count.
_NUMBERS = {int, float, bool, *(np.dtype(code).type for code in "?bBhHiIlLqQefdg")}


def label_of(column: int, names: Sequence[str] | None) -> str:
    """Return the printed name of a column: its own, or ``x`` and its position."""
    return f"x{column}" if names is None else str(names[column])


def resolve_columns(choice: Any, X: Any, names: Sequence[str] | None) -> list[int]:
    """Return positions of chosen columns: names, positions, a slice, a mask, a function of X, None for all.

    Parameters
    ----------
    choice : str, int, slice, array-like, callable or None
    X : array or data frame
        Argument of a callable, which returns one of the other forms.
    names : sequence of str or None
        Names of the columns, if X has any.

    Returns
    -------
    columns : list of int
        In the order of the choice.

    Raises
    ------
    TypeError, ValueError
        There is no such column, or one is chosen twice.
    """
    n_features = X.shape[1]
    if callable(choice):
        choice = choice(X)
    if choice is None:
        return list(range(n_features))
    if isinstance(choice, slice):
        if isinstance(choice.start, str) or isinstance(choice.stop, str):
            raise TypeError("quasi_identifiers: a slice is over positions. List the names instead.")
        return list(range(n_features))[choice]
    if not isinstance(choice, str | Integral | Iterable):
        kind = type(choice).__name__
        raise TypeError(f"quasi_identifiers must be names or positions of columns, not {kind}.")
    chosen: list[Any] = [choice] if isinstance(choice, str | Integral) else list(choice)
    if chosen and all(isinstance(item, bool | np.bool_) for item in chosen):
        if len(chosen) != n_features:
            raise ValueError(
                f"quasi_identifiers: a mask has one value per column, {n_features}, not {len(chosen)}."
            )
        chosen = np.flatnonzero(chosen).tolist()
    return positions_of(chosen, n_features, names, "quasi_identifiers")


def positions_of(chosen: Iterable[Any], n_features: int, names: Sequence[str] | None, name: str) -> list[int]:
    """Return positions of columns from names or positions; refuse repeated ones."""
    columns = [_position(item, n_features, names, name) for item in chosen]
    if len(set(columns)) < len(columns):
        raise ValueError(f"{name}: a column is given twice.")
    return columns


def _position(item: Any, n_features: int, names: Sequence[str] | None, name: str) -> int:
    if isinstance(item, str):
        if names is None:
            raise ValueError(f"{name}: X has no column names; give positions instead.")
        if item not in list(names):
            raise ValueError(f"{name}: there is no column {item!r}.")
        return list(names).index(item)
    if isinstance(item, bool | np.bool_) or not isinstance(item, Integral):
        raise TypeError(f"{name} must be names or positions of columns, not {type(item).__name__}.")
    column = int(item)
    if not -n_features <= column < n_features:
        raise ValueError(f"{name}: there is no column {column}; X has {n_features} columns.")
    return column % n_features


def read_columns(X: Any, columns: Sequence[int], names: Sequence[str] | None) -> FloatArray:
    """Return a copy of some columns as numbers; other cells become NaN, and no cell makes it fail.

    Parameters
    ----------
    X : ndarray or data frame of shape (n_samples, n_features)
    columns : sequence of int
    names : sequence of str or None

    Returns
    -------
    values : ndarray of shape (n_samples, len(columns))

    Raises
    ------
    TypeError, ValueError
        A column holds text, dates or complex numbers.
    """
    values = np.empty((X.shape[0], len(columns)))
    for place, column in enumerate(columns):
        cells, label = _raw(X, column), f"column {label_of(column, names)!r}"
        kind = list(X.dtypes)[column] if is_frame(X) else X.dtype
        # Dates with a time zone are objects, too.
        kinds = {cells.dtype.kind, getattr(kind, "kind", "O")}
        if not kinds <= set("biufO") or str(kind) in _TEXT:
            raise ValueError(
                f"{label} is a quasi-identifier and does not hold numbers. Put "
                "DomainEncoder(TableDomain({...})) in front, or leave the column out of quasi_identifiers: "
                "other columns are not changed."
            )
        values[:, place] = numbers_of(cells, label)
    return values


# Types of text in pandas and polars, with cells as objects.
_TEXT = ("str", "string", "String")


def _raw(X: Any, column: int) -> NDArray[Any]:
    if _is_of("pandas", X):
        series = X.iloc[:, column]
        if series.dtype.kind in "biuf":
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        return series.to_numpy()
    if _is_of("polars", X):
        return X.to_series(column).to_numpy()
    return X[:, column]


def replace_columns(X: Any, columns: Sequence[int], values: FloatArray) -> Any:
    """Return X with other values in some columns; X itself does not change.

    Parameters
    ----------
    X : ndarray or data frame
    columns : sequence of int
    values : ndarray of shape (n_samples, len(columns))

    Returns
    -------
    X_new : ndarray or data frame
        A table of the kind of X. Replaced columns of a frame are float64. An array of numbers becomes
        float64, and any other array is one of objects.
    """
    if _is_of("pandas", X):
        frame = X.copy()
        for place, column in enumerate(columns):
            frame.isetitem(column, values[:, place])
        return frame
    if _is_of("polars", X):
        frame = X.clone()
        for place, column in enumerate(columns):
            series = X.to_series(column)
            frame.replace_column(column, type(series)(series.name, values[:, place]))
        return frame
    if len(columns) == X.shape[1]:
        array = np.empty(X.shape)
    else:
        array = np.array(X, dtype=np.float64 if X.dtype.kind in "biuf" else object) if columns else X.copy()
    array[:, list(columns)] = values
    return array
