# SPDX-License-Identifier: BSD-3-Clause
"""Differentially private estimates of the bounds of columns, from a noisy histogram."""

import functools
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from .._config import get_config
from .._typing import CentralRelation, IntArray, RandomSource
from ..accounting import EstimatedBounds, PrivacyLedger, PrivacySpent, ReleaseRecord
from ..base import SHARED_CONSTRAINTS, claim_of, refuse_seed
from ..exceptions import UtilityWarning
from ..noise import DiscreteLaplaceMechanism, check_entropy
from ..noise._mechanisms import Entropy
from ..noise._rounding import grid_exponent
from ..rounds._accumulator import PlanAccumulator
from ..rounds._driver import Round, Rounds, RowsInMemory, RowSource, drive
from ..rounds._fit import find_facts
from ..rounds._plans.cells import N_OCTAVES, OCTAVES, ZERO, CellsPlan, OctaveAxis
from ..rounds._rows import PreparedRows
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceRun, TableSource
from ..rounds._tables import TableColumns
from ..utils import check_epsilon, check_int
from ..utils._arguments import KEY_BYTES, number_units
from ..utils._compat import Interval, StrOptions, validate_parameter_constraints
from ..utils._private_fit import (
    failures_counted,
    public_errors,
    redact_errors,
    refused_within_another,
    warn_after_release,
)
from ..utils._public_module import public_module
from ..utils._tables import check_array, numbers_of, refuse_text, within_bounds

# Differentially private estimates of the bounds of columns, from a noisy histogram.

# Upper ends of the bins j >= ZERO. The negative octaves mirror them.
_ENDS = np.concatenate([[0.0], np.ldexp(1.0, np.arange(1 - OCTAVES, OCTAVES + 1))])
# Bound on the probability that any empty bin of any column stands out by noise.
_FALSE_ALARM = 1e-6
# log2 of the steps of one row: 2^40 rows still fit into 64 bits.
_FINEST = 20

CONSTRAINTS: dict[str, list[Any]] = {
    **SHARED_CONSTRAINTS,
    "coverage": [Interval(Real, 0, 1, closed="right")],
    "relation": [StrOptions({"replace-one", "add-remove"})],
    "return_spent": ["boolean"],
}


class _Options(TypedDict, total=False):
    coverage: float
    relation: CentralRelation
    groups: Any
    max_rows_per_group: int
    random_state: RandomSource


@overload
def estimate_bounds(
    X: Any,
    epsilon: float | Fraction,
    ledger: PrivacyLedger | None = None,
    *,
    return_spent: Literal[False] = False,
    **options: Unpack[_Options],
) -> EstimatedBounds: ...


@overload
def estimate_bounds(
    X: Any,
    epsilon: float | Fraction,
    ledger: PrivacyLedger | None = None,
    *,
    return_spent: Literal[True],
    **options: Unpack[_Options],
) -> tuple[EstimatedBounds, PrivacySpent]: ...


@overload
def estimate_bounds(
    X: Any,
    epsilon: float | Fraction,
    ledger: PrivacyLedger | None = None,
    *,
    return_spent: bool = False,
    **options: Unpack[_Options],
) -> EstimatedBounds | tuple[EstimatedBounds, PrivacySpent]: ...


@redact_errors
def estimate_bounds(
    X: Any,
    epsilon: float | Fraction,
    ledger: PrivacyLedger | None = None,
    *,
    coverage: float = 0.999,
    relation: CentralRelation = "replace-one",
    groups: Any = None,
    max_rows_per_group: int = 1,
    random_state: RandomSource = None,
    return_spent: bool = False,
) -> EstimatedBounds | tuple[EstimatedBounds, PrivacySpent]:
    """Estimate bounds of every column under differential privacy, if no public bounds are known.

    Every number is in a bin of a fixed grid: its sign and the power of two at or above its magnitude, or
    zero. Noise is added to the counts. The bounds of a column cover the bins that stand out of the noise, so
    they are powers of two, or zero. Bounds from public knowledge are free and often tighter. Estimators clip
    values outside in both cases.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,), or TableSource
        Finite numbers, with one dimension for a target. The features of a source are used; with a seed, the
        bounds are those of one table, bit for bit. In strict mode a cell that is missing or no number counts
        as 0, and an infinity as the largest number. Otherwise they are errors, which the ledger counts.
    epsilon : float or Fraction
        Greatest privacy loss, > 0 and finite, for all columns together. Each gets an equal part.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.
    coverage : float, default=0.999
        Share of the rows in the bins that stand out which the bounds must hold, in (0, 1]. At most half of
        the rest is left out at either end. Rare outliers and bins with too few rows to stand out are left
        out.
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Which data sets count as neighbours. With "add-remove" the noise is half as large.
    groups : array-like of shape (n_samples,), default=None
        The person of every row, if persons are to be protected. None: the unit is the row.
    max_rows_per_group : int, default=1
        With ``groups``: the number of rows of one person that count, drawn at random. The noise grows in
        proportion.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the result reproducible, and not private.
    return_spent : bool, default=False
        Whether to return the statement of the cost as well.

    Returns
    -------
    bounds : EstimatedBounds
        A pair (lower, upper) of two ndarrays of shape (n_features,), or of two floats for a one-dimensional
        X; ``lower < upper``. Pass the whole object as ``bounds``, ``bounds_X`` or ``bounds_y``: it holds
        ``spent``, and an estimator with it states the cost.
    spent : PrivacySpent
        The same statement, with ``return_spent=True``.

    Warns
    -----
    UtilityWarning
        In some column nothing stands out of the noise. Its bounds are then the widest of the grid, -2^100 and
        2^100, and of little use. The warning is computed from released counts alone.

    Raises
    ------
    TypeError, ValueError
        X has other values than finite numbers, or a parameter is out of range.
    BudgetExceededError
        The ledger has too little left; nothing was released.

    See Also
    --------
    BoundsScaler : Scales by bounds, learning nothing.
    EstimatedBounds : The result, and its use in estimators.

    Notes
    -----
    **Privacy.** The noisy counts of all bins of all d columns are released, and the bounds are computed from
    them. A row is in one bin of every column. So replacing it takes 1 from one count and adds 1 to another in
    every column, or changes nothing. This is at most 2 d in L1, attained by a row that changes its bin in
    every column. Adding or removing it changes d counts by 1. A table without rows is a neighbour then, and
    no error. If all rows of a person are replaced, at most ``max_rows_per_group`` are removed and as many
    added, so both figures are multiplied by that. Exact discrete Laplace noise of scale sensitivity / epsilon
    is added to every count. The grid is a constant, and does not depend on the number of rows. Whoever calls
    this sees the rows and is trusted. A seeded call claims "not-private", and so does an estimator with its
    bounds.

    Proof: :doc:`/proofs/bounds`.

    A bin stands out if its noisy count is at least t log(401 d / 1e-6), with t the scale of the noise in
    rows. Noise reaches m with probability below exp(-m / t). So the probability that any of the 401 d bins
    stands out without rows is below one in a million. With d = 10 and epsilon = 1, this takes some 440 rows
    in a bin.

    A column in which only zeros stand out gets the bounds 0 and 1, those of a rare flag. Powers of two are
    wide for numbers far from zero, such as years: subtract a public number first. An estimator with the
    bounds charges its own cost only, and mentions that of the bounds. The ledger and `privacy_report` add up
    both.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.preprocessing import estimate_bounds
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=20000), rng.uniform(20, 100, size=20000)])
    >>> lower, upper = estimate_bounds(X, epsilon=1.0)
    >>> lower, upper
    (array([-4., 16.]), array([  4., 128.]))
    >>> bounds_y, spent = estimate_bounds(rng.exponential(1000, size=20000), 0.5, return_spent=True)
    >>> bounds_y[1], spent.epsilon
    (8192.0, Fraction(1, 2))
    """
    parameters = {name: value for name, value in dict(locals()).items() if name in CONSTRAINTS}
    validate_parameter_constraints(CONSTRAINTS, parameters, "estimate_bounds")
    refuse_seed(random_state, "estimate_bounds")
    entropy = check_entropy(random_state)
    source: RowSource
    n_is_public = relation == "replace-one"
    with failures_counted([] if ledger is None else [ledger], "estimate_bounds"):
        if isinstance(X, TableSource):
            source, n_features, grouped = _open_source(X, groups, max_rows_per_group, entropy, n_is_public)
        else:
            source, n_features, grouped = _open_table(X, groups, max_rows_per_group, entropy, n_is_public)
        rows_per_unit = max_rows_per_group if grouped else 1
        with public_errors():
            plan = plan_bounds(n_features or 1, check_epsilon(epsilon), relation, rows_per_unit)
        spent = plan.describe(relation, grouped, entropy.source)
        noisy = drive(plan.rounds(spent), source, entropy, charge_of(ledger))
    bounds = plan.read(noisy, coverage, spent, one_dimensional=n_features is None)
    return (bounds, spent) if return_spent else bounds


def charge_of(ledger: PrivacyLedger | None) -> Callable[..., object]:
    """Return a function that charges a ledger, if there is one."""
    return bool if ledger is None else functools.partial(ledger.charge, estimator="estimate_bounds")


def _open_table(
    X: Any, groups: Any, max_rows: int, entropy: Entropy, n_is_public: bool
) -> tuple[RowSource, int | None, bool]:
    """Return rows in memory, their number of columns (None: one dimension), and whether there are groups.

    In strict mode NaN counts as 0, infinities as the largest floats.
    """
    strict = get_config()["strict"]
    refuse_text(X, objects=strict)
    table = check_array(
        numbers_of(X) if strict else X,
        dtype=np.float64,
        ensure_2d=False,
        ensure_min_features=1,
        ensure_min_samples=int(n_is_public),
        ensure_all_finite=not strict,
        input_name="X",
    )
    units = number_units(groups, np.ones(len(table), dtype=bool), strict=strict)
    if strict:
        largest = np.finfo(np.float64).max
        table = within_bounds(table, -largest, largest)
    n_features = None if table.ndim == 1 else table.shape[1]
    kept = None if units is None else units.choose_rows(max_rows, entropy.random_bytes(KEY_BYTES))
    rows = PreparedRows(table.reshape(len(table), n_features or 1), kept=kept)
    return RowsInMemory(rows), n_features, units is not None


def _open_source(
    X: TableSource, groups: Any, max_rows: int, entropy: Entropy, n_is_public: bool
) -> tuple[RowSource, int | None, bool]:
    """Return the same for the rows of a source."""
    if groups is not None:
        raise ValueError("groups of a source are a column: TableSource(..., groups=...).")
    with public_errors():
        facts = find_facts(X, None, n_is_public=n_is_public)
    schema = bounds_schema(facts.complete(X.columns), facts.n_features)
    grouped = X.columns.group is not None
    if grouped:
        schema = replace(schema, max_rows_per_unit=max_rows, key=entropy.random_bytes(KEY_BYTES))
    return SourceRun(X, schema, facts, os.urandom(16).hex()), facts.n_features, grouped


def bounds_schema(columns: TableColumns, n_features: int) -> RowSchema:
    """Return the schema of rows, with features alone."""
    return RowSchema(columns=columns, n_features=n_features, strict=get_config()["strict"])


@dataclass(frozen=True)
class BoundsPlan:
    """Counts of every column's bins, and their noise: public.

    Attributes
    ----------
    n_features : int
    rows_per_unit : int
        Rows of one person that count; 1 if the unit is the row.
    exponent : int
        Number of binary digits below one row of the grid of the noise.
    mechanism : DiscreteLaplaceMechanism
        Noise of a count in these units.
    """

    n_features: int
    rows_per_unit: int
    exponent: int
    mechanism: DiscreteLaplaceMechanism

    @property
    def cells(self) -> CellsPlan:
        """One table for every column."""
        return CellsPlan(tuple((OctaveAxis(column),) for column in range(self.n_features)))

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        """Return noisy counts, of shape (n_features, n_bins)."""
        return self.mechanism.randomize(values.reshape(self.n_features, -1) << self.exponent, entropy)

    def describe(self, relation: Any, grouped: bool, source: Any) -> PrivacySpent:
        """Return the cost and the claim of one release of the counts."""
        return PrivacySpent(
            releases=(ReleaseRecord.of("counts by sign and power of two", self.mechanism),),
            mechanism="discrete Laplace noise on a histogram of every column, by sign and power of two",
            epsilon=self.mechanism.epsilon,
            relation=relation,
            unit="group" if grouped else "row",
            max_rows_per_unit=self.rows_per_unit,
            sensitivity=self.mechanism.sensitivity,
            noise_scale=self.mechanism.scale,
            noise_source=source,
            deployment="curator",
            **claim_of((), source),
        )

    def read(
        self, noisy: IntArray, coverage: float, spent: PrivacySpent, *, one_dimensional: bool = False
    ) -> EstimatedBounds:
        """Return the bounds from released counts; warn if they are useless."""
        stands_out = noisy >= threshold(self.mechanism.scale, self.n_features)
        useless = ", ".join(map(str, np.flatnonzero(~stands_out.any(axis=1)).tolist()))
        if useless:
            warn_after_release(
                f"No value stands out of the noise in column {useless}: its bounds are the widest ones, "
                f"-2^{OCTAVES} and 2^{OCTAVES}. Use a larger epsilon, more rows or public knowledge.",
                UtilityWarning,
            )
        pairs = [_column_bounds(*column, coverage) for column in zip(noisy, stands_out, strict=True)]
        lower, upper = pairs[0] if one_dimensional else np.array(pairs).T
        return EstimatedBounds(lower, upper, spent)

    def rounds(self, spent: PrivacySpent) -> Rounds[IntArray]:
        """Yield the one round, and return the noisy counts."""
        return (yield Round(self.cells, self, spent))


def plan_bounds(n_features: int, epsilon: Fraction, relation: str, rows_per_unit: int) -> BoundsPlan:
    """Plan the release of the counts of `n_features` columns."""
    moved = 2 if relation == "replace-one" else 1
    sensitivity = moved * n_features * rows_per_unit
    exponent = min(grid_exponent(sensitivity, epsilon), _FINEST)
    mechanism = DiscreteLaplaceMechanism(epsilon, sensitivity << exponent)
    return BoundsPlan(n_features, rows_per_unit, exponent, mechanism)


def threshold(scale: int | Fraction, n_features: int) -> float:
    """Return the noisy count that no empty bin reaches, except with the stated probability."""
    return float(scale) * math.log(N_OCTAVES * n_features / _FALSE_ALARM)


def _column_bounds(noisy: IntArray, stands_out: NDArray[np.bool_], coverage: float) -> tuple[float, float]:
    kept = np.flatnonzero(stands_out)
    if not len(kept):
        return -float(_ENDS[-1]), float(_ENDS[-1])
    counts = noisy[kept].astype(np.float64)
    # Less than half of the counts is left out at either end, so at least one bin stays.
    spare = (1.0 - coverage) / 2 * counts.sum()
    first = kept[np.cumsum(counts) > spare][0]
    last = kept[np.cumsum(counts[::-1])[::-1] > spare][-1]
    return (0.0, 1.0) if first == last == ZERO else (_low_end(first), _high_end(last))


def _high_end(position: int) -> float:
    octave = position - ZERO
    return float(_ENDS[octave]) if octave >= 0 else -float(_ENDS[-octave]) / 2


def _low_end(position: int) -> float:
    # The grid is symmetric. Adding 0.0 turns -0.0 into 0.0.
    return 0.0 - _high_end(2 * ZERO - position)


# Accumulator of the counts for private bounds, batch by batch.

# Most rows: their exact count, in 2^20 steps of each, fits into 62 bits.
_MOST_ROWS = 2**42


@public_module("skprivate.preprocessing")
class BoundsAccumulator(PlanAccumulator):
    """Accumulates counts by sign and power of two, for estimated bounds of columns.

    Rows may come from files larger than memory, or from many workers. Each worker fills an accumulator of the
    same columns, and the accumulators are merged. `release` estimates the bounds once, as `estimate_bounds`
    does for all rows together. If one program can read all rows, pass a `skprivate.rounds.TableSource` to
    `estimate_bounds`.

    Parameters
    ----------
    features : int or list of str
        Number of the columns, or their names in order.

    Attributes
    ----------
    batch_ids : tuple of str
        Sorted ids of the accumulated batches.
    released : bool
        Whether the counts were released, and wiped.

    See Also
    --------
    estimate_bounds : The same for rows in memory or in a source.

    Notes
    -----
    **Privacy.** As for `estimate_bounds`, and the unit is the row. The object and its bytes hold exact counts
    of private rows, until `release` wipes them. Keep them within the trust boundary.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.preprocessing import BoundsAccumulator
    >>> rng = np.random.default_rng(0)
    >>> counts = BoundsAccumulator(2)
    >>> for day in range(4):
    ...     X = np.column_stack([rng.normal(size=5000), rng.uniform(20, 100, size=5000)])
    ...     counts = counts.update(X, batch_id=day)
    >>> lower, upper = counts.release(epsilon=1.0)
    >>> lower, upper
    (array([-4., 16.]), array([  4., 128.]))
    """

    _kind = "bounds"

    def __init__(self, features: int | Sequence[str]) -> None:
        names = tuple(features) if isinstance(features, list | tuple) else None
        width = len(names) if names is not None else check_int(features, "features", least=1)
        schema = bounds_schema(TableColumns(names), width)
        # Only the cells are used: epsilon comes with the release.
        self._start(schema, plan_bounds(width, Fraction(1), "replace-one", 1).cells, _MOST_ROWS)

    @redact_errors
    @refused_within_another
    def release(
        self,
        epsilon: float | Fraction,
        ledger: PrivacyLedger | None = None,
        *,
        coverage: float = 0.999,
        relation: CentralRelation = "replace-one",
        random_state: RandomSource = None,
    ) -> EstimatedBounds:
        """Estimate the bounds of the accumulated rows, once, and wipe the counts.

        Parameters
        ----------
        epsilon, ledger, coverage, relation, random_state
            As in `estimate_bounds`.

        Returns
        -------
        bounds : EstimatedBounds

        Raises
        ------
        RuntimeError
            The counts were released.
        BudgetExceededError, LedgerError
            The ledger refuses the charge. The counts are kept.
        TypeError, ValueError
            A parameter is out of range. The counts are kept.
        """
        parameters = {name: value for name, value in dict(locals()).items() if name in CONSTRAINTS}
        self._require_unreleased()
        validate_parameter_constraints(CONSTRAINTS, parameters, "BoundsAccumulator.release")
        refuse_seed(random_state, "BoundsAccumulator.release")
        entropy = check_entropy(random_state)
        n_features = self._task.schema.n_features
        plan: BoundsPlan = plan_bounds(n_features, check_epsilon(epsilon), relation, 1)
        spent = plan.describe(relation, False, entropy.source)
        noisy = self._drive(plan.rounds(spent), entropy, charge_of(ledger))
        bounds = plan.read(noisy, coverage, spent)
        self._wipe(bounds)
        return bounds
