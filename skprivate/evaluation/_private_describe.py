# SPDX-License-Identifier: BSD-3-Clause
"""A private description of a table: Table One, from one release of noisy counts."""

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from .._config import get_config
from .._typing import CentralRelation, FloatArray, RandomSource
from ..accounting import PrivacyLedger
from ..base import redact_errors, refuse_seed
from ..base._likely_mistakes import (
    MOSTLY,
    BoundedColumn,
    columns_at_a_bound,
    least_share,
    mostly_missing,
    warn_of_mistakes,
)
from ..domain import TableDomain
from ..domain._columns import Column
from ..domain._life_data import EventCoding
from ..noise import check_entropy
from ..utils._arguments import number_units
from ..utils._compat import Interval, StrOptions, validate_parameter_constraints
from ..utils._private_fit import failures_counted, public_errors
from ._counts import COUNT_CONSTRAINTS, CountsNoise, plan_noise, release_counts
from ._description import tables
from ._description.result import (
    ColumnDescription,
    Crosstab,
    Estimate,
    SurvivalCurve,
    TableCounts,
    TableDescription,
    mean_and_std,
    noise_factor,
    quantile,
    survival_curve,
    table_counts,
)

# Bins of a number where the number of rows is not public: those of 5,000 rows, ten tables and epsilon 1.
_USUAL_BINS = 10
# Fewest and most bins that are chosen: a middle between the bounds, and half a percent of their distance.
_FEWEST, _MOST = 2, 200
# Most intervals of time that are chosen for survival: as many lines as one reads.
_MOST_TIMES = 24
# Names that a warning shows.
_SHOWN = 6

CONSTRAINTS: dict[str, list[Any]] = {
    **COUNT_CONSTRAINTS,
    "domain": [TableDomain],
    "n_bins": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
    "confidence": [Interval(Real, 0, 1, closed="neither")],
}


@redact_errors
def private_describe(
    table: Any,
    domain: TableDomain,
    epsilon: float | Fraction,
    *,
    delta: float | Fraction = 0,
    mechanism: Literal["auto", "laplace", "gaussian"] = "auto",
    columns: Sequence[str] | None = None,
    crosstabs: Sequence[Any] = (),
    survival: Sequence[Any] | None = None,
    happened: Any = None,
    censored: Any = None,
    quantiles: Sequence[float] = (0.25, 0.5, 0.75),
    n_bins: int | Literal["auto"] = "auto",
    confidence: float = 0.9,
    relation: CentralRelation = "replace-one",
    groups: Any = None,
    max_rows_per_group: int = 1,
    ledger: PrivacyLedger | None = None,
    random_state: RandomSource = None,
) -> TableDescription:
    """Describe a table under differential privacy: what a study prints as Table One.

    Every column becomes one table of counts, in one cell of which each row is; crosstabs and survival are one
    more table each. All tables are released once, with noise. Shares, means, quantiles, curves and their
    intervals are computed from the noisy counts.

    Parameters
    ----------
    table : data frame, Arrow table, dict, array or list of shape (n_rows, n_columns)
        Private rows, as `TableDomain.encode` takes them, with all columns of the domain.
    domain : TableDomain
        What is publicly known of the columns. Missing cells are counted, whatever it says of them.
    epsilon : float or Fraction
        Greatest privacy loss, > 0 and finite, for the whole description.
    delta : float or Fraction, default=0
        Probability of a greater loss, in [0, 1). Above 0 it allows Gaussian noise. A warning says where it is
        spent, is not below 1 / n, and n is public.
    mechanism : {"auto", "laplace", "gaussian"}, default="auto"
        Noise of the counts; "auto" takes that of the smaller variance: for more than a few tables the
        Gaussian one, where ``delta`` allows it. "laplace" with a ``delta`` above 0 is an error.
    columns : sequence of str, default=None
        Columns with a table of their own; None: all. The fewer, the smaller the noise.
    crosstabs : sequence of pairs, default=()
        Pairs of columns; a number or a date is cut into four intervals, or where ``(name, cut points)``
        stands instead of a name (dates: days since the lower bound), there.
    survival : (time, event) or (time, event, group), default=None
        Names of a column of durations (numbers, lower bound at least 0), of a boolean column that is true
        where the event was seen, and of a column of groups, for Kaplan-Meier curves. Durations above the
        upper bound count as still observed there.
    happened, censored : str, int, float, bool or a collection of these, default=None
        With ``survival``: values of the column of events which mean that the event happened, and that it had
        not happened yet, as in `life_data`. The column may then be one of levels or numbers. Values that are
        neither, where both are declared, count as not known.
    quantiles : sequence of float, default=(0.25, 0.5, 0.75)
        Of numbers and dates, in (0, 1). They cost nothing.
    n_bins : int or "auto", default="auto"
        Bins of numbers and dates between their bounds, and intervals of time for survival. "auto": by the
        noise and the number of rows where that is public, otherwise 10; see Notes.
    confidence : float, default=0.9
        Of each interval by itself, in (0, 1).
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Which tables count as neighbours. With "add-remove" the number of rows is estimated, too.
    groups : array-like of shape (n_rows,), default=None
        The person of every row, where the person is to be protected; None: the unit is the row.
    max_rows_per_group : int, default=1
        With ``groups``: rows of one person that count, drawn at random; the noise grows in proportion.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the result reproducible, and not private.

    Returns
    -------
    description : TableDescription
        Estimates with intervals, by column; `TableDescription.to_frame`, `TableDescription.to_html`.

    Warns
    -----
    UtilityWarning
        The noise hides some statistics: their intervals cover nine tenths of what is possible, or more.
        Told from released counts alone.

    Raises
    ------
    TypeError, ValueError
        Columns that the domain does not declare, or that the table lacks; a crosstab or survival of columns
        that cannot be used; too many cells; a parameter out of range; or an epsilon by which no share of a
        public number of rows is above the noise. Nothing was charged.
    BudgetExceededError
        The ledger has too little left; nothing was released.

    See Also
    --------
    skprivate.domain.TableDomain : Declares the columns.
    skprivate.preprocessing.estimate_bounds : Pays for bounds that are not known.

    Notes
    -----
    **Privacy.** A row is in one cell of each of T tables, so replacing it changes the counts by at most 2 T
    in L1 and 2 T in squared L2; adding or removing it by T. With groups the first is multiplied by
    ``max_rows_per_group``, the second by its square. Discrete Laplace or discrete Gaussian noise on this
    sensitivity makes the counts differentially private; all else is computed from them. No cell is an
    error, in strict mode or outside it. Proof: :doc:`/proofs/description`.

    *What an interval is about.* The rows are taken as independent draws from a population (with groups: the
    persons, and the variance is taken ``max_rows_per_group`` times as large). An interval of ``confidence``
    is for the value in that population, of numbers clipped to the declared bounds. It counts sampling and
    noise. The number of rows alone is about the table itself. Rows that were not drawn at random have errors
    that no interval counts.

    *Numbers* are rounded at random to one of two points of a grid, so that the expectation stays: means have
    no error of binning. Quantiles are given as intervals between points of the grid. With K bins the noise
    in a mean has the variance s^2 K / 12 and rounding n / (6 K^2), s being the standard deviation of the
    noise of a count: means want K^3 = 4 n / s^2. For a quantile of evenly spread numbers the noise, some
    s (K / 2)^(1/2) / n, should equal a bin, 1 / K: K^3 = 2 n^2 / s^2. "auto" is the geometric mean of the
    two, 2^(1/2) n^(1/2) / s^(2/3).

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import private_describe
    >>> from skprivate.domain import TableDomain
    >>> rng = np.random.default_rng(0)
    >>> table = {"age": rng.normal(50, 10, size=20000), "smokes": rng.uniform(size=20000) < 0.3}
    >>> domain = TableDomain({"age": (20, 80), "smokes": bool})
    >>> described = private_describe(table, domain, epsilon=1.0)
    >>> mean = described.columns["age"].mean
    >>> bool(49 < mean.lower < mean.value < mean.upper < 51)
    True
    >>> round(described.columns["smokes"].levels["true"].value, 1)
    0.3
    >>> described.privacy_spent.epsilon
    Fraction(1, 1)
    """
    parameters = {name: value for name, value in locals().items() if name in CONSTRAINTS}
    validate_parameter_constraints(CONSTRAINTS, parameters, "private_describe")
    refuse_seed(random_state, "private_describe")
    entropy: Any = check_entropy(random_state)
    with failures_counted([] if ledger is None else [ledger], "private_describe"):
        rows_per_unit = 1 if groups is None else int(max_rows_per_group)
        with public_errors():
            levels = _check_quantiles(quantiles)
            coding = EventCoding.of(happened, censored)
            if coding.declared and survival is None:
                raise ValueError("happened and censored declare the events of survival: pass survival, too.")
            # Once for the number of tables, by which the noise is planned, and then with the bins.
            plan = tables.plan_tables(domain, columns, crosstabs, survival, _FEWEST, _FEWEST, coding)
            noise = plan_noise(len(plan.tables), epsilon, delta, mechanism, relation, rows_per_unit)
        readings = domain.read_columns(table, plan.read)
        n_rows = len(next(iter(readings.values()))[0])
        is_public = groups is None and relation == "replace-one"
        with public_errors():
            if is_public:
                _refuse_hopeless(n_rows, noise, confidence)
            n_used = (
                choose_bins(noise.std, n_rows if is_public else None) if n_bins == "auto" else int(n_bins)
            )
            n_times = min(n_used, _MOST_TIMES) if n_bins == "auto" else n_used
            plan = tables.plan_tables(domain, columns, crosstabs, survival, n_used, n_times, coding)
        units = number_units(groups, np.ones(n_rows, dtype=bool), strict=get_config()["strict"])

        def toss(n: int) -> FloatArray:
            return np.frombuffer(entropy.random_bytes(8 * n), dtype="<u8") / 2.0**64

        released = release_counts(
            plan.codes(readings, toss),
            plan.sizes,
            noise,
            name="private_describe",
            what="counts of columns, crosstabs and survival",
            units=units,
            ledger=ledger,
            random_state=entropy,
            public_inputs=("domain",),
            unprotected={} if not is_public else {"n_rows": n_rows},
        )
    total, counts = table_counts(released, float(confidence))
    description = TableDescription(
        n_rows=total,
        **_describe(plan, domain, counts, levels),
        privacy_spent=released.spent,
        confidence=float(confidence),
        noise_std=noise.std,
        n_bins=n_used,
    )
    _warn_of_mistakes(description, domain)
    return description


def choose_bins(std: float, n_rows: int | None) -> int:
    """Return the bins of numbers for this noise of a count and so many rows; see `private_describe`."""
    if n_rows is None:
        return _USUAL_BINS
    return round(min(max(math.sqrt(2 * n_rows) / max(std, 1e-9) ** (2 / 3), _FEWEST), _MOST))


def _check_quantiles(quantiles: Any) -> tuple[float, ...]:
    levels = np.asarray(quantiles, dtype=np.float64)
    if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
        raise ValueError("quantiles must be a list of numbers between 0 and 1.")
    return tuple(levels.tolist())


def _refuse_hopeless(n_rows: int, noise: CountsNoise, confidence: float) -> None:
    """Refuse noise by which even a share of one half has an interval from 0 to 1."""
    reach = noise_factor(confidence, noise.name) * noise.std
    if 2 * reach >= n_rows:
        raise ValueError(
            f"epsilon is too small for {noise.n_tables} tables of {n_rows} rows: the noise of a count has a "
            f"standard deviation of {noise.std:.4g} rows, and no share is above the noise. Use a larger "
            "epsilon, more rows, fewer columns or fewer crosstabs."
        )


def _warn_of_mistakes(description: TableDescription, domain: TableDomain) -> None:
    factor = noise_factor(description.confidence, "laplace")
    least = {}
    for name, column in description.columns.items():
        missing, other = column.missing, column.other
        std = (missing.value - missing.lower) / factor
        least[name] = max(least_share(domain, name, missing.value, std), other.lower if other else 0.0)
    sentences = [mostly_missing(domain, least), columns_at_a_bound(_bounded_columns(description, domain))]
    lines = description.lines()
    # Where most cells are no values of the column, there is nothing that noise could hide.
    hidden = [
        line for line in lines if not line.estimate.above_noise and not least.get(line.column, 0.0) > MOSTLY
    ]
    if hidden:
        names = list(dict.fromkeys(line.column for line in hidden))
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        sentences.append(
            f"The noise hides {len(hidden)} of {len(lines)} statistics, of {shown}. It takes a larger "
            "epsilon, more rows, fewer columns or fewer crosstabs."
        )
    warn_of_mistakes("private_describe", *sentences)


def _bounded_columns(description: TableDescription, domain: TableDomain) -> list[BoundedColumn]:
    columns, factor = [], noise_factor(description.confidence, "laplace")
    for name, column in description.columns.items():
        if column.mean is not None and column.kind in ("number", "date"):
            lower, upper = domain.columns[name].read_bounds()
            mean, width = column.mean, upper - lower
            # Half an interval; the other half may end at a bound.
            std = max(mean.upper - mean.value, mean.value - mean.lower) / factor
            gaps = (mean.value - lower) / width, (upper - mean.value) / width
            columns.append(BoundedColumn(name, lower, upper, *gaps, std / width, column.kind == "date"))
    return columns


def _describe(
    plan: tables.TablePlan, domain: TableDomain, counts: list[TableCounts], levels: tuple[float, ...]
) -> dict[str, Any]:
    """Return what the counts say of columns, crosstabs and survival."""
    columns: dict[str, ColumnDescription] = {}
    crosstabs, survival = [], None
    for table, found in zip(plan.tables, counts, strict=True):
        if isinstance(table, tables.NumberTable):
            columns[table.name] = _describe_numbers(table.name, table.column, found, levels)
        elif isinstance(table, tables.LevelTable):
            columns[table.name] = _describe_levels(table, domain.columns[table.name].kind, found)
        elif isinstance(table, tables.CrossTable):
            crosstabs.append(_describe_pairs(table, found))
        else:
            survival = _describe_survival(table, found)
    return {"columns": columns, "crosstabs": tuple(crosstabs), "survival": survival}


def _describe_numbers(
    name: str, column: Column, counts: TableCounts, levels: tuple[float, ...]
) -> ColumnDescription:
    mean, std = mean_and_std(counts)
    within = {level: quantile(counts, level) for level in levels}
    lower, upper = column.read_bounds()
    named = {"mean": mean, **{f"quantile {level:g}": one for level, one in within.items()}}
    found = {text: _in_unit(one, lower, upper) for text, one in named.items()}
    # A distance has no start.
    spread = _in_unit(std, 0.0, upper - lower)
    texts = {text: _texts(column, one) for text, one in found.items()}
    texts["standard deviation"] = (f"{spread.value:.4g}", f"{spread.lower:.4g} to {spread.upper:.4g}")
    return ColumnDescription(
        name=name,
        kind=column.kind,
        missing=_share_of(counts, [-1]),
        mean=found["mean"],
        std=spread,
        quantiles={level: found[f"quantile {level:g}"] for level in levels},
        texts=texts,
    )


def _in_unit(estimate: Estimate, low: float, high: float) -> Estimate:
    """Return an estimate in [0, 1] as one between two bounds of a column."""
    shares = np.array([estimate.value, estimate.lower, estimate.upper])
    value, lower, upper = (low * (1 - shares) + high * shares).tolist()
    return Estimate(value, lower, upper, estimate.above_noise)


def _texts(column: Column, estimate: Estimate) -> tuple[str, str]:
    value, lower, upper = (
        tables.show_value(column, one) for one in (estimate.value, estimate.lower, estimate.upper)
    )
    return value, f"{lower} to {upper}"


def _describe_levels(table: tables.LevelTable, kind: str, counts: TableCounts) -> ColumnDescription:
    n_levels = len(table.labels)
    declared = range(n_levels)
    shares = {label: _share_of(counts, [place], declared) for place, label in enumerate(table.labels)}
    return ColumnDescription(
        name=table.name,
        kind=kind,
        missing=_share_of(counts, [-1]),
        other=_share_of(counts, [n_levels]),
        levels=shares,
    )


def _describe_pairs(table: tables.CrossTable, counts: TableCounts) -> Crosstab:
    height, width = table.shape
    places = np.arange(height * width).reshape(height, width)
    everywhere = places.ravel()
    return Crosstab(
        first=table.first.name,
        second=table.second.name,
        rows=table.first.labels,
        columns=table.second.labels,
        shares=tuple(tuple(_share_of(counts, [place], everywhere) for place in row) for row in places),
        row_shares=tuple(tuple(_share_of(counts, [place], row) for place in row) for row in places),
    )


def _describe_survival(table: tables.SurvivalTable, counts: TableCounts) -> SurvivalCurve:
    n_bins, width = table.n_bins, 2 * table.n_bins + 1
    lower, upper = table.column.read_bounds()
    shares = np.arange(1, n_bins + 1) / n_bins
    return SurvivalCurve(
        time=table.time,
        event=table.event,
        group=None if table.group is None else table.group.name,
        times=tuple((lower * (1 - shares) + upper * shares).tolist()),
        curves={
            label: tuple(survival_curve(counts, slice(place * width, (place + 1) * width), n_bins))
            for place, label in enumerate(table.labels)
        },
    )


def _share_of(counts: TableCounts, part: Sequence[int], whole: Any = None) -> Estimate:
    """Return the share of some cells in others; None: in all."""
    above, below = np.zeros(len(counts.cells)), np.zeros(len(counts.cells))
    above[list(part)] = 1.0
    below[slice(None) if whole is None else np.asarray(whole)] = 1.0
    return counts.share(above, below)
