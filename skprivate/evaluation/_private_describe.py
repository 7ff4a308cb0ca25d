# SPDX-License-Identifier: BSD-3-Clause
"""A private description of a table: Table One, from one release of noisy counts."""

import copy
import math
import os
from collections.abc import Callable, Sequence
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
from ..rounds._fit import find_facts
from ..rounds._plans import descriptions as tables
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceFacts, SourceRun, TableSource
from ..rounds._tables import TableColumns
from ..utils._arguments import number_units
from ..utils._compat import Interval, StrOptions, validate_parameter_constraints
from ..utils._private_fit import failures_counted, public_errors
from ._counts import COUNT_CONSTRAINTS, CountsNoise, level_shares, plan_noise, release_counts, release_sums
from ._description import estimates
from ._description.result import ColumnDescription, Crosstab, SurvivalCurve, TableDescription

# Rows that are assumed if their number is not public.
_USUAL_ROWS = 5_000
# Intervals of time in that case: those of ten tables and epsilon 1.
_USUAL_BINS = 10
# Fewest and most bins of one level, and intervals of time. They are a middle between the bounds, and half a
# percent of their distance.
_FEWEST, _MOST = 2, 200
# Trees that are tried, and most leaves of one: for an income up to a million, 15 per leaf.
_TREES = [tables.Tree(branches, levels) for branches in (8, 16, 32) for levels in (2, 3, 4, 5)]
_MOST_LEAVES = 2**16
# Assumed density of numbers around quantiles, relative to evenly spread ones, and variance of numbers as a
# share of the squared range. They are between numbers that fill the bounds and ten times wider bounds.
_DENSE, _SPREAD = 4.0, 0.02
# Intervals of means by a tree are at most so many times as wide as those by one level.
_WIDER_MEANS = 1.4
# Most intervals of time that are chosen for survival: as many lines as one reads.
_MOST_TIMES = 24
# Most parts of an interval for counting: the places of censored rows in it then matter to a thousandth.
_MOST_PARTS = 20
# Names that a warning shows.
_SHOWN = 6

CONSTRAINTS: dict[str, list[Any]] = {
    **COUNT_CONSTRAINTS,
    "domain": [TableDomain],
    "n_bins": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left"), tuple],
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
    n_bins: int | tuple[int, int] | Literal["auto"] = "auto",
    confidence: float = 0.9,
    relation: CentralRelation = "replace-one",
    groups: Any = None,
    max_rows_per_group: int = 1,
    ledger: PrivacyLedger | None = None,
    random_state: RandomSource = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> TableDescription:
    """Describe a table under differential privacy: the Table One of a study.

    Every column becomes one table of counts, and each row is in one cell of it. Each crosstab, and survival,
    is one more table. Numbers and dates are counted on several levels of intervals, each finer than the last.
    All tables are released once, with noise. Shares, means, quantiles, curves and their intervals are
    computed from the noisy counts.

    Parameters
    ----------
    table : data frame, Arrow table, dict, array or list of shape (n_rows, n_columns), or TableSource
        Private rows, as `TableDomain.encode` takes them, with all columns of the domain. The tables of a
        source are read where they are, and counts come back. With a seed, the result is that of one table bit
        for bit. The exception is a column of numbers or dates: its rounding is drawn where the rows are.
    domain : TableDomain
        The public declaration of the columns. Missing cells are counted, even if it does not declare them.
    epsilon : float or Fraction
        Greatest privacy loss, > 0 and finite, for the whole description.
    delta : float or Fraction, default=0
        Probability of a greater loss, in [0, 1). Above 0 it allows Gaussian noise. There is a warning if it
        is spent and not below 1 / n, and n is public.
    mechanism : {"auto", "laplace", "gaussian"}, default="auto"
        Noise of the counts. "auto" takes the one with the smaller variance: for more than a few tables the
        Gaussian one, if ``delta`` allows it. "laplace" with a ``delta`` above 0 is an error.
    columns : sequence of str, default=None
        Columns with a table of their own; None: all. With fewer columns the noise is smaller.
    crosstabs : sequence of pairs, default=()
        Pairs of columns. A number or a date is cut into four intervals. To choose the cuts, pass
        ``(name, cut points)`` instead of a name (dates: days since the lower bound).
    survival : (time, event) or (time, event, group), default=None
        Names of columns for Kaplan-Meier curves: durations (numbers, lower bound at least 0), events
        (boolean, true if the event was seen), and groups. Durations above the upper bound count as still
        observed there.
    happened, censored : str, int, float, bool or a collection of these, default=None
        With ``survival``: values of the column of events which mean that the event happened, and that it had
        not happened yet, as in `life_data`. The column may then be one of levels or numbers. If both are
        declared, other values count as not known.
    quantiles : sequence of float, default=(0.25, 0.5, 0.75)
        Quantiles of numbers and dates, in (0, 1). They spend no budget.
    n_bins : int, (branches, levels) or "auto", default="auto"
        Bins of numbers and dates between their bounds, and intervals of time for survival. A pair, at least
        (3, 1), cuts the range into so many intervals, each of these again, and so on. It does not change the
        intervals of time. "auto" chooses by the noise and the number of rows. If the number is not public, it
        assumes 5,000 rows, and takes 10 intervals of time. It counts parts of intervals of time if the noise
        allows it. See Notes.
    confidence : float, default=0.9
        Confidence of each interval by itself, in (0, 1).
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Which tables count as neighbours. With "add-remove" the number of rows is estimated, too.
    groups : array-like of shape (n_rows,), default=None
        The person of every row, if persons are to be protected. None: the unit is the row.
    max_rows_per_group : int, default=1
        With ``groups``: the number of rows of one person that count, drawn at random. The noise grows in
        proportion.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the result reproducible, and not private.
    checkpoint : path-like, default=None
        With a source: file from which a stopped description continues without a second charge, as in
        `skprivate.rounds.fit_rounds`.

    Returns
    -------
    description : TableDescription
        Estimates with intervals, by column; `TableDescription.to_frame`, `TableDescription.to_html`.

    Warns
    -----
    UtilityWarning
        The noise hides some statistics: their intervals cover nine tenths of what is possible, or more. The
        warning is computed from released counts alone.

    Raises
    ------
    TypeError, ValueError
        The domain does not declare a column, or the table lacks it; a crosstab or survival is of columns that
        cannot be used; there are too many cells; a parameter is out of range; or epsilon is so small that no
        share of a public number of rows is above the noise. Nothing was charged.
    BudgetExceededError
        The ledger has too little left; nothing was released.

    See Also
    --------
    skprivate.domain.TableDomain : Declares the columns.
    skprivate.preprocessing.estimate_bounds : Spends budget on bounds that are not known.

    Notes
    -----
    **Privacy.** A row is in one cell of each of T tables. So replacing it changes the counts by at most 2 T
    in L1 and 2 T in squared L2. Adding or removing it changes them by T. A table on several levels counts a
    row once on each, with weights. Their sum (for Gaussian noise, their sum of squares) is at most 1. With
    groups the first is multiplied by ``max_rows_per_group``, the second by its square. Discrete Laplace or
    discrete Gaussian noise on this sensitivity makes the counts differentially private. All else is computed
    from them. No cell is an error, in strict mode or outside it. Proof: :doc:`/proofs/description`.

    *Intervals.* The rows are treated as independent draws from a population. With groups these are persons,
    and the variance is multiplied by ``max_rows_per_group``. An interval of ``confidence`` is for the value
    in that population, of numbers clipped to the declared bounds. It counts sampling and noise. Only the
    number of rows is about the table itself. If rows were not drawn at random, they have errors that no
    interval counts.

    *Numbers* are rounded at random to one of two points of a grid, so that the expectation stays. So means
    have no error of binning. Quantiles are given as intervals between points of the grid. The points are
    leaves of a tree. Counts of its levels are combined so that the children of a node add up to it. The
    first level has twice the budget of each other level. Many fine levels make quantiles exact if the bounds
    are wide or values are heaped. Few cells make the noise of means small.

    "auto" compares trees with 8, 16 or 32 branches and up to 65,536 leaves, and one level of K bins. It takes
    the one with the least product of the expected errors of a mean and of a quantile. Trees that make
    intervals of means 1.4 times as wide as one level does are left out. Let s be the standard deviation of
    the noise of a count. With one level of K bins, the noise in a mean has the variance s^2 K / 12, and
    rounding has n / (6 K^2). So K^3 = 4 n / s^2 is best for means. For a quantile of evenly spread numbers
    the noise, some s (K / 2)^(1/2) / n, should equal a bin, 1 / K: K^3 = 2 n^2 / s^2. K is the geometric mean
    of the two, 2^(1/2) n^(1/2) / s^(2/3).

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
    parameters = {name: value for name, value in dict(locals()).items() if name in CONSTRAINTS}
    validate_parameter_constraints(CONSTRAINTS, parameters, "private_describe")
    refuse_seed(random_state, "private_describe")
    entropy: Any = check_entropy(random_state)
    source = _described(table, domain, groups, checkpoint)
    with failures_counted([] if ledger is None else [ledger], "private_describe"):
        rows_per_unit = 1 if groups is None else int(max_rows_per_group)
        with public_errors():
            levels = _check_quantiles(quantiles)
            coding = EventCoding.of(happened, censored)
            if coding.declared and survival is None:
                raise ValueError("happened and censored declare the events of survival: pass survival, too.")
            # First for the number of tables, which decides the noise; below with the bins.
            tree = tables.Tree(_FEWEST + 1, 1) if isinstance(n_bins, str) else _declared_tree(n_bins)
            plan = tables.plan_tables(domain, columns, crosstabs, survival, tree, _FEWEST, 1, coding)
            budget = epsilon, delta, mechanism, relation, rows_per_unit
            noise = plan_noise(len(plan.tables), *budget)
        is_public = groups is None and relation == "replace-one"
        if source is None:
            readings = domain.read_columns(table, plan.read)
            n_rows = len(next(iter(readings.values()))[0])
        else:
            facts = find_facts(source, len(domain.names), domain=domain, n_is_public=is_public)
            n_rows = facts.n_rows
        with public_errors():
            if is_public:
                _refuse_hopeless(n_rows, noise, confidence)
            known = n_rows if is_public else None
            n_times = min(choose_bins(noise.std, known), _MOST_TIMES)
            last = plan.tables[-1]
            n_groups = len(last.labels) if isinstance(last, tables.SurvivalTable) else 1
            every = choose_parts(noise.std, n_times, (known or _USUAL_ROWS) / n_groups)
            if isinstance(n_bins, Integral):
                n_times, every = int(n_bins), 1
            if n_bins == "auto":
                share = tables.MOST_CELLS // (2 * len(plan.tables))
                tree = choose_tree(noise.std, noise.name, known or _USUAL_ROWS, share)
            plan = tables.plan_tables(domain, columns, crosstabs, survival, tree, n_times, every, coding)
            noise = plan_noise(plan.n_levels, *budget)
        told: dict[str, Any] = {
            "name": "private_describe",
            "what": "counts of columns, crosstabs and survival",
            "ledger": ledger,
            "public_inputs": ("domain",),
            "unprotected": {} if not is_public else {"n_rows": n_rows},
        }
        if source is not None:
            sums = tables.DescriptionPlan.of(plan, tree, n_times, every, coding)
            run = _open_run(source, domain, facts)
            released = release_sums(sums, run, noise, entropy=entropy, checkpoint=checkpoint, **told)
        else:
            units = number_units(groups, np.ones(n_rows, dtype=bool), strict=get_config()["strict"])

            def toss(n: int) -> FloatArray:
                return np.frombuffer(entropy.random_bytes(8 * n), dtype="<u8") / 2.0**64

            codes = plan.codes(readings, toss)
            released = release_counts(codes, plan.sizes, noise, units=units, random_state=entropy, **told)
    are_trees = [isinstance(one, tables.NumberTable) for one in plan.tables]
    total, counts = estimates.table_counts(released, plan.n_levels, are_trees, float(confidence))
    description = TableDescription(
        n_rows=total,
        **_describe(plan, domain, counts, levels),
        privacy_spent=released.spent,
        confidence=float(confidence),
        noise_std=noise.std,
        n_bins=tree.n_points - 1,
        n_levels=tree.n_levels,
    )
    _warn_of_mistakes(description, domain)
    return description


def _described(table: Any, domain: TableDomain, groups: Any, checkpoint: Any) -> TableSource | None:
    """Return a source that reads the columns of the domain; None for a table."""
    if not isinstance(table, TableSource):
        if checkpoint is not None:
            raise ValueError("checkpoint is for a TableSource.")
        return None
    if groups is not None or table.columns.others:
        raise ValueError(
            "a source is described by the columns of the domain: it has no target, event or groups, and the "
            "unit is the row. Pass survival=(time, event) for curves."
        )
    source = copy.copy(table)
    source.columns = TableColumns(tuple(domain.names))
    return source


def _open_run(source: TableSource, domain: TableDomain, facts: SourceFacts) -> Callable[[str], SourceRun]:
    """Return a function that makes the run of a source from an id."""
    strict = get_config()["strict"]
    schema = RowSchema(columns=source.columns, n_features=len(domain.names), domain=domain, strict=strict)
    return lambda run: SourceRun(source, schema, facts, run)


def choose_bins(std: float, n_rows: int | None) -> int:
    """Return the bins of one level for this noise of a count and so many rows; see `private_describe`."""
    if n_rows is None:
        return _USUAL_BINS
    return round(min(max(math.sqrt(2 * n_rows) / max(std, 1e-9) ** (2 / 3), _FEWEST), _MOST))


def choose_parts(std: float, n_times: int, n_rows: float) -> int:
    """Return the number of parts of an interval of time for counting, by the expected width of curves.

    A curve over K intervals has the noise of 2 K counts. The times of censored rows within an interval are
    not known. If d of R rows have the event there and c are censored, its factor is known up to d c / R^2.
    If events and censoring halve the rows at risk each, these add up to log(2)^2 / K.
    """

    def width(parts: int) -> float:
        n_bins = parts * n_times
        return 4 * math.sqrt(n_rows / 4 + 2 * n_bins * std**2) + math.log(2) ** 2 * n_rows / n_bins

    return min(range(1, _MOST_PARTS + 1), key=width)


def choose_tree(std: float, mechanism: str, n_rows: int, most_leaves: int) -> tables.Tree:
    """Return the tree with the least expected errors of quantiles and means; see `private_describe`."""

    def errors(tree: tables.Tree) -> tuple[float, float]:
        """Return the expected error of a mean and of a quantile, in rows."""
        mean, quantile = _SPREAD * n_rows, n_rows / 4
        for depth, share in enumerate(map(float, level_shares(tree.n_levels))):
            variance = std**2 / (share**2 if mechanism == "laplace" else share)
            # Noise of u children less u / b of all b, on average over u; places differ by a node's range.
            quantile += variance * tree.branches / 6
            mean += variance * tree.branches ** (1 - depth) / 12
        if tree.n_levels == 1:
            mean += n_rows / (6 * tree.branches**2)
        return math.sqrt(mean), 2 * math.sqrt(quantile) + _DENSE * n_rows / tree.n_points

    flat = tables.Tree(choose_bins(std, n_rows) + 1, 1)
    most, _ = errors(flat)
    trees = [tree for tree in _TREES if tree.n_points <= min(_MOST_LEAVES, most_leaves)]
    trees = [tree for tree in trees if errors(tree)[0] <= _WIDER_MEANS * most]
    return min([flat, *trees], key=lambda tree: math.prod(errors(tree)))


def _declared_tree(n_bins: Any) -> tables.Tree:
    """Return the tree that ``n_bins`` declares: of bins on one level, or of branches and levels."""
    if isinstance(n_bins, Integral):
        return tables.Tree(int(n_bins) + 1, 1)
    problem = "n_bins must be a number of bins of at least 2, or (branches, levels) of at least (3, 1)."
    try:
        branches, n_levels = (int(one) for one in n_bins if isinstance(one, Integral))
    except (TypeError, ValueError):
        raise ValueError(problem) from None
    # More than 22 levels have too many cells.
    if branches < 3 or not 1 <= n_levels <= 22:
        raise ValueError(problem)
    return tables.Tree(branches, n_levels)


def _check_quantiles(quantiles: Any) -> tuple[float, ...]:
    levels = np.asarray(quantiles, dtype=np.float64)
    if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
        raise ValueError("quantiles must be a list of numbers between 0 and 1.")
    return tuple(levels.tolist())


def _refuse_hopeless(n_rows: int, noise: CountsNoise, confidence: float) -> None:
    """Refuse noise that gives even a share of one half an interval from 0 to 1."""
    reach = estimates.noise_factor(confidence, noise.name) * noise.std
    if 2 * reach >= n_rows:
        raise ValueError(
            f"epsilon is too small for {len(noise.weights)} tables of {n_rows} rows. The noise of a count "
            f"has a standard deviation of {noise.std:.4g} rows, and no share is above the noise. Use a "
            "larger epsilon, more rows, fewer columns or fewer crosstabs."
        )


def _warn_of_mistakes(description: TableDescription, domain: TableDomain) -> None:
    factor = estimates.noise_factor(description.confidence, "laplace")
    least = {}
    for name, column in description.columns.items():
        missing, other = column.missing, column.other
        std = (missing.value - missing.lower) / factor
        least[name] = max(least_share(domain, name, missing.value, std), other.lower if other else 0.0)
    sentences = [mostly_missing(domain, least), columns_at_a_bound(_bounded_columns(description, domain))]
    lines = description.lines()
    # If most cells are no values of the column, there is nothing that noise could hide.
    hidden = [
        line for line in lines if not line.estimate.above_noise and not least.get(line.column, 0.0) > MOSTLY
    ]
    if hidden:
        names = list(dict.fromkeys(line.column for line in hidden))
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        sentences.append(
            f"The noise hides {len(hidden)} of {len(lines)} statistics, of {shown}. Use a larger epsilon, "
            "more rows, fewer columns or fewer crosstabs."
        )
    warn_of_mistakes("private_describe", *sentences)


def _bounded_columns(description: TableDescription, domain: TableDomain) -> list[BoundedColumn]:
    columns, factor = [], estimates.noise_factor(description.confidence, "laplace")
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
    plan: tables.TablePlan,
    domain: TableDomain,
    counts: list[estimates.TableCounts],
    levels: tuple[float, ...],
) -> dict[str, Any]:
    """Return the descriptions of columns, crosstabs and survival that the counts give."""
    columns: dict[str, ColumnDescription] = {}
    crosstabs, survival = [], None
    for table, found in zip(plan.tables, counts, strict=True):
        if isinstance(table, tables.NumberTable) and isinstance(found, estimates.TreeCounts):
            columns[table.name] = _describe_numbers(table.name, table.column, found, levels)
        elif isinstance(table, tables.LevelTable):
            columns[table.name] = _describe_levels(table, domain.columns[table.name].kind, found)
        elif isinstance(table, tables.CrossTable):
            crosstabs.append(_describe_pairs(table, found))
        elif isinstance(table, tables.SurvivalTable):
            survival = _describe_survival(table, found)
    return {"columns": columns, "crosstabs": tuple(crosstabs), "survival": survival}


def _describe_numbers(
    name: str, column: Column, counts: estimates.TreeCounts, levels: tuple[float, ...]
) -> ColumnDescription:
    mean, std = estimates.mean_and_std(counts)
    within = {level: estimates.quantile(counts, level) for level in levels}
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


def _in_unit(estimate: estimates.Estimate, low: float, high: float) -> estimates.Estimate:
    """Return an estimate in [0, 1] as one between two bounds of a column."""
    shares = np.array([estimate.value, estimate.lower, estimate.upper])
    value, lower, upper = (low * (1 - shares) + high * shares).tolist()
    return estimates.Estimate(value, lower, upper, estimate.above_noise)


def _texts(column: Column, estimate: estimates.Estimate) -> tuple[str, str]:
    value, lower, upper = (
        tables.show_value(column, one) for one in (estimate.value, estimate.lower, estimate.upper)
    )
    return value, f"{lower} to {upper}"


def _describe_levels(table: tables.LevelTable, kind: str, counts: estimates.TableCounts) -> ColumnDescription:
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


def _describe_pairs(table: tables.CrossTable, counts: estimates.TableCounts) -> Crosstab:
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


def _describe_survival(table: tables.SurvivalTable, counts: estimates.TableCounts) -> SurvivalCurve:
    n_bins, width = table.n_bins, 2 * table.n_bins + 1
    lower, upper = table.column.read_bounds()
    shares = np.arange(table.every, n_bins + 1, table.every) / n_bins
    return SurvivalCurve(
        time=table.time,
        event=table.event,
        group=None if table.group is None else table.group.name,
        times=tuple((lower * (1 - shares) + upper * shares).tolist()),
        curves={
            label: tuple(
                estimates.survival_curve(counts, slice(place * width, (place + 1) * width), n_bins)[
                    table.every - 1 :: table.every
                ]
            )
            for place, label in enumerate(table.labels)
        },
    )


def _share_of(counts: estimates.TableCounts, part: Sequence[int], whole: Any = None) -> estimates.Estimate:
    """Return the share of some cells in others; None: in all."""
    above, below = np.zeros(len(counts.cells)), np.zeros(len(counts.cells))
    above[list(part)] = 1.0
    below[slice(None) if whole is None else np.asarray(whole)] = 1.0
    return counts.share(above, below)
