# SPDX-License-Identifier: BSD-3-Clause
"""Evaluation of a finished model on private rows, from one noisy histogram of scores and labels."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor

from .._config import get_config
from .._typing import CentralRelation, FloatArray, IndexArray, RandomSource
from ..accounting import PrivacyLedger
from ..base import redact_errors, refuse_seed
from ..base._likely_mistakes import warn_of_mistakes
from ..base._pipeline_report import last_step
from ..domain._labels import class_positions, codes_of, plain_classes, refuse_label_types
from ..exceptions import LedgerError
from ..metrics._model_outputs import check_table, choose_number, predicted_numbers, predictions, probabilities
from ..noise import check_entropy
from ..rounds._rows import refuse_text
from ..utils._arguments import as_column, is_structured, number_units
from ..utils._compat import Interval, StrOptions, num_samples, validate_parameter_constraints
from ..utils._private_fit import failures_counted, public_errors
from ..utils._tables import check_array, kind_of_labels, numbers_of, refuse_missing
from ._counts import COUNT_CONSTRAINTS, CountsNoise, plan_noise, release_counts
from ._scores import statistics
from ._scores.intervals import quantile
from ._scores.result import ALL, OTHER, Kind, PrivateEvaluation

_NAME = "private_evaluate"
# Names in a ledger that no model comes from.
_NO_FITS = (_NAME, "private_describe", "estimate_bounds")

CONSTRAINTS: dict[str, list[Any]] = {
    **COUNT_CONSTRAINTS,
    "n_bins": [StrOptions({"auto"}), Interval(Integral, 2, 1000, closed="both"), "array-like"],
    "confidence": [Interval(Real, 0, 1, closed="neither")],
    "on_training_rows": ["boolean", None],
}


@redact_errors
def private_evaluate(
    model: Any,
    X: Any,
    y: Any,
    epsilon: float | Fraction,
    *,
    delta: float | Fraction = 0,
    mechanism: str = "auto",
    groups_of_interest: tuple[Any, Any] | None = None,
    classes: Any = None,
    bounds_y: tuple[float, float] | None = None,
    n_bins: Any = "auto",
    confidence: float = 0.9,
    on_training_rows: bool | None = None,
    relation: CentralRelation = "replace-one",
    groups: Any = None,
    max_rows_per_group: int = 1,
    ledger: PrivacyLedger | None = None,
    random_state: RandomSource = None,
) -> PrivateEvaluation:
    """Evaluate a finished classifier or regressor on private rows, under differential privacy.

    One histogram of score by label by group of interest is released. Each row is in one cell of it. All
    statistics are computed from it, for all rows and for every group: accuracy, balanced accuracy, AUC,
    Brier score, log loss, calibration, and the confusion matrix at any threshold. Their intervals count the
    noise and the sampling.

    Parameters
    ----------
    model : estimator
        A fitted model of any library, with ``predict_proba`` or at least ``predict``. It is public: the
        release protects the rows that are passed here, but not the rows that the model was fitted on. It
        predicts one row at a time, unless a table of all rows is known to get the same bits. It must give
        the same answer for the same row again: a model that draws random numbers does not.
    X : array-like or data frame of shape (n_samples, n_features)
        The private rows, as the model takes them.
    y : array-like of shape (n_samples,)
        Labels, or numbers. White space around text does not count. A label that is not among the classes
        counts as the first class, and a number outside ``bounds_y`` as the nearer bound. There is no warning.
        If ``y`` is text and the classes are numbers, or the reverse, there is a ``TypeError``.
    epsilon : float or Fraction
        Greatest privacy loss of the whole evaluation, > 0 and finite.
    delta : float or Fraction, default=0
        Allowed probability of a greater loss, in [0, 1). Above 0 it permits Gaussian noise. There is a
        warning if it is spent and not below 1 / n, and n is public.
    mechanism : {"auto", "laplace", "gaussian"}, default="auto"
        Noise of the counts. "auto" takes the one with the smaller variance. "laplace" with a ``delta`` above
        0 is an error.
    groups_of_interest : tuple (values, levels), default=None
        ``values``: one per row. ``levels``: the declared, public values to report on. Rows with another value
        go to a group "(other)", without a warning. Each group makes the figures of all rows less accurate,
        but spends no epsilon.
    classes : array-like of shape (n_classes,), default=None
        The public labels; None: ``model.classes_``. Of two classes, scores are probabilities of the second.
    bounds_y : tuple (lower, upper), default=None
        For a regressor: public bounds of the target. None: the bounds that the model declares.
    n_bins : "auto", int or array-like, default="auto"
        Number of intervals of scores, or the public ends of these intervals, such as quantiles of scores on
        public rows. For a regressor, the ends are errors in the units of the target, mirrored at 0. "auto"
        chooses a number by the public number of rows and epsilon.
    confidence : float, default=0.9
        Confidence of every interval by itself, in (0, 1).
    on_training_rows : bool, default=None
        Whether a fit of the model has used any of these rows. The result shows it. None: not declared. This
        is refused if the ledger, or one in the model, holds a fit to data that may be the same, or cannot
        be read.
    relation : {"replace-one", "add-remove"}, default="replace-one"
        Which data sets count as neighbours. With "add-remove" the noise is half as large, and the number of
        rows is not public.
    groups : array-like of shape (n_samples,), default=None
        The person of every row, if persons are to be protected. None: the unit is the row.
    max_rows_per_group : int, default=1
        With ``groups``: the number of rows of one person that count, drawn at random. The noise grows in
        proportion.
    ledger : PrivacyLedger, default=None
        Charged before any noise is drawn. If a fit has used the rows, both costs add up.
    random_state : None, int, RandomState or Generator, default=None
        None: entropy of the operating system. Anything else makes the result reproducible, and not private.

    Returns
    -------
    evaluation : PrivateEvaluation

    Warns
    -----
    UtilityWarning
        By the released counts, a class has hardly any row, or the interval of a statistic is its whole
        range.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range; epsilon is so small that the interval of the accuracy is certainly its
        whole range; scores are missing or no probabilities; or the target has times of events. (Such a score
        would need an assumption about rows that were not followed long enough, which no interval here
        counts.) Nothing is charged.
    BudgetExceededError
        The ledger has too little left; nothing was released.

    See Also
    --------
    skprivate.inspection.PrivateEvaluationDisplay : The calibration curve and the ROC curve.

    Notes
    -----
    **Privacy.** The noisy counts of the cells are released. All else is computed from them, from the model
    and from public parameters. The cell of a row depends on the row, the model and random bytes of its own.
    So replacing the row takes 1 from one count and adds 1 to another, or changes nothing. This is at most 2
    in L1 and in squared L2. Adding or removing it changes one count by 1. With ``groups``, these figures are
    multiplied by ``max_rows_per_group`` in L1, and by its square in squared L2. Exact discrete noise is added
    to every count, also of empty cells. In strict mode, a row on which the model fails, or whose score is no
    probability, counts as one with equal probabilities. Whoever calls this sees the rows and is trusted. The
    epsilon does not cover the rows that the model was fitted on.

    Proof: :doc:`/proofs/evaluation`. Other rows stay in their cells: :doc:`/proofs/rows`.

    A score is rounded to the node below or above it, at random so that its mean is kept, and never across
    1/2. So predicted labels are counted exactly. A mean of squares errs by at most a quarter of an interval's
    squared width, which its interval includes. Scores are clipped to [0.001, 0.999], and the log loss is that
    of clipped scores. The order of two rows is known if their scores are in different intervals. Within one
    interval, the rounding shows it for densities that are straight lines there. If many pairs are in one
    interval, the interval of the AUC holds every possible order of them. Possible are orders whose log odds
    rise at most twice as steeply as the interval of the calibration slope allows. If ``n_bins`` declares the
    ends, the AUC is that of scores put into these intervals.

    For more than two classes, labels are counted by predicted label and by the largest probability. The
    statistics are accuracy, balanced accuracy, the confusion matrix and the calibration of the largest
    probability. There are no AUC and no losses. For a regressor, they are bias, mean absolute error, root
    mean squared error and quantiles of the absolute error. R2 would need the variance of the target, which a
    histogram of errors does not hold.

    The intervals are sets of values that a test does not reject. Ratios of noisy counts have Fieller's test
    [1]_, with Wilson's variance for shares [2]_. The AUC has the variance of DeLong [3]_ or of Hanley and
    McNeil [4]_. Intervals are about the population that the rows were drawn from. With ``groups``, this is
    the population of persons, whose rows may be copies of each other: the variance by sampling is multiplied
    by ``max_rows_per_group``.

    References
    ----------
    .. [1] E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B,
       1954.
    .. [2] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
       the American Statistical Association, 1927.
    .. [3] E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, "Comparing the areas under two or more correlated
       receiver operating characteristic curves", Biometrics, 1988.
    .. [4] J. A. Hanley, B. J. McNeil, "The meaning and use of the area under a receiver operating
       characteristic (ROC) curve", Radiology, 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skprivate import private_evaluate
    >>> X = np.random.default_rng(0).normal(size=(6000, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).logistic(size=6000) > 0
    >>> model = LogisticRegression().fit(X[:1000], y[:1000])
    >>> result = private_evaluate(model, X[1000:], y[1000:], epsilon=1.0)
    >>> bool(0.6 < result.accuracy.lower < result.accuracy.upper < 0.8)
    True
    >>> result.privacy_spent.epsilon, result.privacy_spent.private
    (Fraction(1, 1), True)
    """
    given = {name: value for name, value in dict(locals()).items() if name in CONSTRAINTS}
    validate_parameter_constraints(CONSTRAINTS, given, _NAME)
    refuse_seed(random_state, _NAME)
    entropy: Any = check_entropy(random_state)
    strict = get_config()["strict"]
    with failures_counted([] if ledger is None else [ledger], _NAME):
        with public_errors():
            values, levels = _read_groups_of_interest(groups_of_interest)
            kind, labels, bounds = find_kind(model, y, classes, bounds_y)
            if on_training_rows is None:
                _refuse_training_rows(model, ledger)
            X = check_table(model, X)
            n_rows = num_samples(X)
            if num_samples(y) != n_rows:
                raise ValueError("X and y must have the same number of rows.")
            noise = plan_noise(
                1, epsilon, delta, mechanism, relation, 1 if groups is None else max_rows_per_group
            )
            known = n_rows if groups is None and relation == "replace-one" else None
            std = noise.std * float(np.sqrt(max(len(levels), 1)))
            grid = plan_grid(
                kind, model, labels, bounds, choose_intervals(n_bins, kind, known, std, len(labels))
            )
            _refuse_small_epsilon(noise, std, grid, known, confidence)
        units = number_units(groups, np.ones(n_rows, dtype=bool), strict=strict)
        cells = grid.cells(model, X, y, strict, entropy.random_bytes)
        if levels:
            cells = cells + grid.size * codes_of(
                values, levels[:-1], len(levels) - 1, n_rows, "groups_of_interest"
            )
        released = release_counts(
            [cells],
            [grid.size * max(len(levels), 1)],
            noise,
            name=_NAME,
            what="the counts of rows by score, label and group",
            units=units,
            ledger=ledger,
            random_state=entropy,
            public_inputs=(
                *("model", "bounds_y" if kind == "errors" else "classes"),
                *(() if groups_of_interest is None else ("groups_of_interest",)),
                *(() if isinstance(n_bins, str) else ("n_bins",)),
            ),
            unprotected={} if known is None else {"n_rows": known},
        )
    result = PrivateEvaluation(
        kind,
        tuple(labels),
        levels,
        grid.nodes,
        grid.n_low,
        released.tables[0].reshape(max(len(levels), 1), *grid.shape),
        noise.std,
        released.n_rows,
        float(confidence),
        None if on_training_rows is None else bool(on_training_rows),
        not isinstance(n_bins, str | Integral),
        released.spent,
    )
    # The result is returned whatever happens to its statistics, since the budget is spent.
    with suppress(ArithmeticError, IndexError, ValueError):
        warn_of_mistakes(_NAME, *result.remarks)
    return result


def _read_groups_of_interest(declared: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the value of every row and the declared levels, with one for other values at the end."""
    if declared is None:
        return None, ()
    problem = (
        "groups_of_interest must be a tuple (values, levels): one value per row, and the levels, "
        "which are declared and never read from rows."
    )
    values, levels = declared if isinstance(declared, tuple) and len(declared) == 2 else (None, None)
    if isinstance(levels, str) or not np.iterable(levels):
        raise ValueError(problem)
    names = [level.item() if isinstance(level, np.generic) else level for level in levels]
    try:
        repeated = len(set(names)) < len(names)
    except TypeError:
        raise ValueError(problem) from None
    texts = [str(name) for name in names]
    if not names or repeated or len({*texts, ALL, OTHER}) < len(texts) + 2:
        raise ValueError(
            "the levels of groups_of_interest must be different, also as text, and none of them "
            f"{OTHER!r} or {ALL!r}."
        )
    kind = kind_of_labels(values)
    if kind and {isinstance(name, str) for name in names} == {kind != "text"}:
        raise TypeError(
            f"the values of groups_of_interest are {kind}, and its levels are not. Declare the levels as "
            "they are in the values."
        )
    return values, (*names, OTHER)


def _refuse_training_rows(model: Any, ledger: PrivacyLedger | None) -> None:
    """Refuse if a ledger that is given, or is in the model, may hold a fit to these rows."""
    if any(_may_hold_fit(one) for one in {ledger, *_ledgers_in(model)} if one is not None):
        raise ValueError(
            "the given ledger, or one in the model, holds a fit to data that may be these rows, or cannot be "
            "read. Pass on_training_rows=True if the model was fitted to any of them, and "
            "on_training_rows=False if it was not."
        )


def _ledgers_in(model: Any) -> Iterator[PrivacyLedger]:
    """Yield every ledger among a model's parameters and attributes, and those of the estimators in it."""
    waiting: list[Any] = [getattr(model, "__dict__", {})]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, PrivacyLedger):
            yield value
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, BaseEstimator):
            value = vars(value)
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


def _may_hold_fit(ledger: PrivacyLedger) -> bool:
    here = ledger._group
    try:
        fits = [entry for entry in ledger.entries() if entry.estimator not in _NO_FITS]
    except LedgerError:
        return True
    return any(entry.data is None or here is None or entry.data == here for entry in fits)


def _refuse_small_epsilon(
    noise: CountsNoise, std: float, grid: "Grid", n_rows: int | None, confidence: float
) -> None:
    """Refuse if the noise alone makes the interval of the accuracy, or of a mean, the whole range.

    A share of n rows is a sum of about half of the cells. If the total is known, its standard deviation is
    at most std sqrt(cells) / 2.
    """
    if n_rows is not None and quantile(confidence) * std * np.sqrt(grid.size) / 2 >= n_rows / 2:
        raise ValueError(
            f"epsilon={float(noise.epsilon):g} is too small for {n_rows} rows: by the noise alone, the "
            "interval of the accuracy would reach from 0 to 1. Use more rows, a larger epsilon, fewer groups "
            "or fewer bins. Nothing was charged."
        )


# The cell of a row in an evaluation: public grids for classifiers and regressors.


@dataclass(frozen=True, eq=False)
class Grid:
    """Public cells of rows: labels by nodes.

    Attributes
    ----------
    kind : {"two-classes", "classes", "errors"}
    labels : list
        Empty for errors.
    bounds : tuple (lower, upper)
        For errors: bounds of the target.
    nodes : ndarray of shape (n_nodes,)
    n_low : int
        For two classes: the number of nodes for scores of at most 1/2.
    shape : tuple of int
        Shape of the table of counts of one group.
    """

    kind: Kind
    labels: list[Any]
    bounds: tuple[float, float]
    nodes: FloatArray
    n_low: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(np.prod(self.shape))

    def cells(self, model: Any, X: Any, y: Any, strict: bool, random_bytes: Any) -> IndexArray:
        """Return the cell of every row."""
        n_rows = num_samples(X)
        if self.kind == "errors":
            low, high = self.bounds
            target = _read_numbers(y, strict, (low + high) / 2)
            predicted = predicted_numbers(model, X, strict, (low + high) / 2)
            errors = np.clip(predicted, low, high) - np.clip(target, low, high)
            return statistics.round_at_random(errors, self.nodes, random_bytes)
        if not strict:
            refuse_missing(y)
        label = codes_of(y, self.labels, 0, n_rows, "y")
        if len(self.nodes) == 1:
            predicted_label = _predicted_labels(model, X, self.labels, strict)
            return label * len(self.labels) + predicted_label
        table = _in_order(model, self.labels, probabilities(model, X, len(self.labels), strict))
        if self.kind == "two-classes":
            node = statistics.round_probabilities(table[:, 1], self.nodes, self.n_low, random_bytes)
            return label * len(self.nodes) + node
        top = table.argmax(axis=1)
        node = statistics.round_at_random(table.max(axis=1), self.nodes, random_bytes)
        return (label * len(self.labels) + top) * len(self.nodes) + node


def _in_order(model: Any, labels: list[Any], table: FloatArray) -> FloatArray:
    """Return the columns in the order of the declared classes."""
    own = getattr(model, "classes_", None)
    if own is None:
        return table
    return table[:, codes_of(labels, np.asarray(own), 0, len(labels), "classes")]


def _predicted_labels(model: Any, X: Any, classes: list[Any], strict: bool) -> IndexArray:
    """Return the places of predicted labels among the classes; an unknown label counts as the first."""

    def check(found: Any, n_rows: int) -> IndexArray:
        return codes_of(found, classes, 0, n_rows, "what predict returns")

    return predictions(model, "predict", X, strict, check, 0)


def _read_numbers(y: Any, strict: bool, middle: float) -> FloatArray:
    try:
        target = np.asarray(numbers_of(as_column(y), "y") if strict else y)
        checked = check_array(
            target, ensure_2d=False, dtype=np.float64, ensure_all_finite=not strict, input_name="y"
        )
    except Exception:
        checked = None
    if checked is None:
        # Raised outside the handler, so that __context__ does not keep the message about a cell.
        raise ValueError("y must be finite numbers, one per row.")
    numbers: FloatArray = np.asarray(checked, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError("y must have one number per row.")
    return np.where(np.isnan(numbers), middle, numbers)


def find_kind(model: Any, y: Any, classes: Any, bounds_y: Any) -> tuple[Kind, list[Any], tuple[float, float]]:
    """Return what is evaluated, the labels and the bounds of the target."""
    if is_structured(y):
        raise TypeError(
            "targets with times of events cannot be evaluated. Rows that were not followed long enough would "
            "need an assumption that no interval here counts."
        )
    if _predicts_numbers(model, bounds_y):
        refuse_text(y)
        declared = bounds_y if bounds_y is not None else getattr(last_step(model), "bounds_y", None)
        return "errors", [], _check_bounds_y(declared)
    if not hasattr(model, "predict"):
        raise TypeError("model must be a fitted classifier or regressor, with predict.")
    own = getattr(model, "classes_", None)
    if classes is None and own is None:
        raise ValueError("the model has no classes_: fit it first, or declare classes=[...].")
    labels: list[Any] = plain_classes(own if classes is None else classes)
    if own is not None and set(class_positions(np.asarray(own))) != set(class_positions(labels)):
        raise ValueError("classes must be those of the model, in the order that you want.")
    refuse_label_types(y, labels)
    two = len(labels) == 2 and hasattr(model, "predict_proba")
    return ("two-classes" if two else "classes"), labels, (0.0, 1.0)


def _predicts_numbers(model: Any, bounds_y: Any) -> bool:
    """Return whether a model of any library is a regressor."""
    if hasattr(model, "predict_proba"):
        return False
    try:
        return bool(is_regressor(model))
    except AttributeError:  # without tags of scikit-learn
        return bounds_y is not None


def _check_bounds_y(bounds: Any) -> tuple[float, float]:
    if bounds is None:
        raise ValueError("declare bounds_y=(lower, upper): errors of a regressor are counted within them.")
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError("bounds_y must be two numbers (lower, upper).") from None
    if not (np.isfinite([low, high, low * low, high * high, 4 * low * high]).all() and low < high):
        raise ValueError("bounds_y must be finite, as must be their squares, with lower < upper.")
    return low, high


def choose_intervals(
    n_bins: Any, kind: Kind, n_rows: int | None, std: float, n_classes: int
) -> int | FloatArray:
    """Return the number of intervals of scores, or their declared ends."""
    if isinstance(n_bins, str):
        # Labels by predicted labels have n_classes^2 / 2 times the cells of two classes.
        many = std * n_classes / np.sqrt(2) if kind == "classes" else std
        return choose_number(n_rows, many)
    if isinstance(n_bins, Integral):
        return int(n_bins)
    edges = np.unique(np.asarray(n_bins, dtype=np.float64))
    if edges.ndim != 1 or not len(edges) or not np.isfinite(edges).all():
        raise ValueError("n_bins must be a number of intervals, or their finite ends.")
    return edges


def plan_grid(
    kind: Kind, model: Any, labels: list[Any], bounds: tuple[float, float], intervals: int | FloatArray
) -> Grid:
    """Return the public cells of rows, by what is evaluated."""
    k, n_low = len(labels), 0
    if kind == "errors":
        nodes = statistics.residual_nodes(intervals, bounds[1] - bounds[0])
        return Grid(kind, labels, bounds, nodes, 0, (len(nodes),))
    if kind == "two-classes":
        nodes, n_low = statistics.probability_nodes(intervals)
        return Grid(kind, labels, bounds, nodes, n_low, (2, len(nodes)))
    nodes = statistics.top_nodes(intervals, k) if hasattr(model, "predict_proba") else np.ones(1)
    return Grid(kind, labels, bounds, nodes, 0, (k, k, len(nodes)))
