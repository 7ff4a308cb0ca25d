# SPDX-License-Identifier: BSD-3-Clause
"""Plans of studies before budget is spent: expected scores, or half-widths of intervals of life data."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags
from sklearn.utils.validation import check_random_state

from .._typing import FloatArray
from ..base._pipeline_report import last_step
from ..domain import TableDomain
from ..domain._labels import codes_of, declared_classes, plain_labels, refuse_unknown_labels
from ..utils import check_epsilons, check_int
from ..utils._compat import Interval, num_samples, validate_parameter_constraints
from ._planning import populations, trial_fits
from ._planning.life_widths import LifeStudyPlan, PlannedHalfWidths, RowsNeeded
from ._planning.lifetimes import (
    Cell,
    FitWidths,
    StatedLifetimes,
    Trials,
    draw_lives,
    median_widths,
    widest_of,
)
from ._planning.scores import BudgetSplit, Shift, StudyPlan, band_of, plan_score, recommend, split_budget

# Fewer rows cannot be split into useful folds.
_FEWEST_OF_CLASS, _FEWEST_ROWS = 3, 20
_CONSTRAINTS: dict[str, list[Any]] = {
    "n": [Interval(Integral, _FEWEST_ROWS, None, closed="left")],
    "n_repeats": [Interval(Integral, 4, None, closed="left")],
    "n_jobs": [Integral, None],
    "public_in_fit": ["boolean"],
    "random_state": ["random_state"],
    "scoring": [str, callable, None],
    "simulate": [callable, None],
    "param_name": [str, None],
}
_PURE = (
    ". With delta=0 the epsilons of all releases add up. Plan with delta=1e-6 as well, unless delta must be 0"
)
_OF_PUBLIC = (
    "Private rows may differ from the public ones, in their values and in how the target depends on them. "
    "The plan assumes that both are samples of one population.",
    "Patterns that are too fine for {m} public rows. Their gain is extrapolated from the learning curve "
    "between half and all of the rows, and only as far as the band shows.",
    "Values and levels that no public row has.",
)
_OF_SIMULATION = (
    "Errors of the simulation. The plan assumes that its rows and targets are like the private ones. The "
    "band counts noise and the drawing of rows, but no error of the simulation.",
)
_OF_ALL = (
    "Choices that are made after private rows were seen, mistakes in data, and scores of other kinds of "
    "models.",
)


def plan_study(
    estimator: Any,
    domain: Any,
    n: int,
    epsilons: Sequence[float | Fraction],
    public: tuple[Any, Any] | None = None,
    *,
    simulate: Callable[[int, np.random.Generator], tuple[Any, Any]] | None = None,
    target: Any = None,
    scoring: str | Callable[..., float] | None = None,
    public_in_fit: bool = False,
    total_epsilon: float | Fraction | None = None,
    param_name: str | None = None,
    n_repeats: int = 8,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> StudyPlan:
    """Plan a private fit before budget is spent: expected scores by epsilon with bands, and a decision.

    Parameters
    ----------
    estimator : estimator
        A private, unfitted estimator, or a pipeline that ends in one. Copies are fitted. The estimator is not
        changed, and its ledger is not charged.
    domain : TableDomain, (lower, upper), dict or None
        The public declaration of the columns. It is set as ``domain``, ``bounds`` or ``bounds_X`` of an
        estimator that has none, but not of steps of a pipeline. None: the estimator declares everything.
    n : int
        Planned number of private rows, at least 20.
    epsilons : sequence of float or Fraction
        Different epsilons, finite, > 0.
    public : (X, y), default=None
        At least 30 public rows. X is an array or a data frame. y has the shape (m,) and holds numbers, or
        labels (at least two classes, each of at least 3 rows). A label that the estimator does not declare is
        an error. **Never pass private rows.**
    simulate : callable, default=None
        ``simulate(n, rng)`` returns a pair (X, y) of n rows. If it is given, the fits use such rows, and
        public rows only show the score of a model without private rows. Required without ``public``.
    target : array-like of labels, (lower, upper), or None, default=None
        Classes, or bounds of the numbers, for an estimator without ``classes`` or ``bounds_y``.
    scoring : str, callable or None, default=None
        A score of scikit-learn, greater is better: "roc_auc", "accuracy", "neg_log_loss", "r2",
        "neg_mean_absolute_error". None: "roc_auc" for two classes, "roc_auc_ovr" for more, "r2" for numbers.
    public_in_fit : bool, default=False
        Whether the study's fit will use the public rows too, by ``is_public``. Planned fits then get as many
        simulated public rows.
    total_epsilon : float or Fraction, default=None
        Total budget of the study, for the suggested split; None: the greatest of `epsilons`.
    param_name : str, default=None
        Name of the parameter for the epsilon; None: ``epsilon`` of the estimator, or of the one step that has
        it.
    n_repeats : int, default=8
        Fits at each epsilon, at least 4, each in a world of its own.
    n_jobs : int, default=None
        Number of parallel repeats, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawn rows and of the noise in these fits. It is public, since no private row is used.

    Returns
    -------
    plan : StudyPlan

    Raises
    ------
    TypeError, ValueError
        There are neither public rows nor a simulation; there are too few rows, or only one class; the
        simulation does not return n rows and n targets; no parameter takes the epsilon; or a parameter is out
        of its range.
    Exception
        An error of a fit.

    See Also
    --------
    StudyPlan : The result.

    Notes
    -----
    **Privacy.** No private row is read, and nothing is charged: the copies have no ledger. All that is passed
    as ``public`` must be public.

    *Strength of the signal.* Models (linear, linear in ranks, boosting) are cross-validated on the m public
    rows. The strength is the AUC, or R2, of the best one, plus an expected gain. The gain extrapolates its
    learning curve from m/2 and 9m/10 rows to n, if the rest falls as 1/m. The standard error is that of a
    bootstrap of the cross-validated rows. It includes no further gain below, and a gain that falls as
    m^(-1/2) above.

    *Worlds.* Each repeat draws n public rows with replacement. Their numbers move in their ranks by a
    bandwidth of 0.9 m^(-1/5), so that no row occurs twice in a fit. Labels are drawn from a model that
    predicts the public rows as well as the best one. Its log-odds are stretched to a strength that is some
    standard errors from the expected one. The estimator is fitted to these rows and scored on 10,000 others
    of the same world, so that no row is both fitted and scored.

    *Shift.* A world may suit the estimator better than the public rows do. So the estimator is also
    cross-validated on the public rows with hardly any noise, and fitted to as many rows of each world. The
    difference shifts all scores, and half of it counts as an error. There is no shift if the estimator learns
    nothing from so few rows. Models of the public rows alone are shifted in the same way.

    *Bands.* Scores are fitted by a line in the standard errors. The band adds its slope and the remaining
    variation by noise and rows. It holds for nine studies of ten if the assumptions hold. With a simulation,
    only the remaining variation counts.

    References
    ----------
    J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a receiver operating characteristic
    (ROC) curve", Radiology 143, 1982. It gives the variance of an AUC in the suggested split.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogisticRegression
    >>> from skprivate.evaluation import plan_study
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(100, 2))
    >>> y = (X[:, 0] + rng.normal(size=100) > 0).astype(int)
    >>> plan = plan_study(DPLogisticRegression(delta=1e-6), (-1, 1), 2000, [0.01, 2.0], public=(X, y),
    ...                   target=[0, 1], n_repeats=4, random_state=0)
    >>> [row.epsilon for row in plan.table], plan.table[0].score < plan.table[1].score
    ([0.01, 2.0], True)
    >>> plan.mark
    'computed from public rows: nothing was spent'
    """
    given = {name: value for name, value in dict(locals()).items() if name in _CONSTRAINTS}
    validate_parameter_constraints(_CONSTRAINTS, given, "plan_study")
    grid = check_epsilons(epsilons)
    labels = _predicts_labels(estimator)
    template = trial_fits.prepare(estimator, domain, target)
    name = trial_fits.epsilon_of(template, param_name)
    trial_fits.warn_of_planned_delta(template, name, n)
    if public_in_fit and public is None and simulate is not None:
        raise ValueError("public_in_fit=True needs public rows.")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    held = domain if isinstance(domain, TableDomain) else template.get_params().get("domain")
    domain = held if isinstance(held, TableDomain) else None
    known = None if public is None else _read_public(public, domain, template, labels, target)
    drawn: list[populations.World]
    if simulate is not None:
        drawn, deviations = [populations.StatedWorld(simulate)] * n_repeats, np.zeros(n_repeats)
        sample = drawn[0].draw(trial_fits.N_TEST, rng)[1]
    elif known is not None:
        drawn, deviations = _worlds_of(known, n, n_repeats, rng)
        sample = known.y
    else:
        raise ValueError("a plan needs public rows, public=(X, y), or a simulation, simulate=...")
    if scoring is None:
        scoring = "r2" if not labels else "roc_auc" if len(np.unique(sample)) <= 2 else "roc_auc_ovr"
    scorer = check_scoring(template, scoring)
    alone, n_public = trial_fits.PublicModel(), 0
    if known is not None:
        alone = trial_fits.public_model(known, labels, scorer, int(rng.integers(2**31)))
        n_public = len(known.y)
    options = {"alone": alone.model, "in_fit": public_in_fit}
    found = Parallel(n_jobs=n_jobs)(
        delayed(trial_fits.run_world)(template, name, grid, world, n, n_public, scorer, int(seed), **options)
        for world, seed in zip(drawn, rng.integers(2**31, size=n_repeats), strict=True)
    )
    of_alone = np.array([one for _, one, _ in found])
    base = trial_fits.base_score(sample, labels, scorer)
    shift, shift_alone = Shift(), 0.0
    if simulate is None and known is not None:
        seed = int(rng.integers(2**31))
        table = known.table.table
        real = trial_fits.cross_validate_quiet(template, name, table, known.y, labels, scorer, seed)
        shift = Shift.measured(real, np.array([quiet for _, _, quiet in found]), deviations, base)
        shift_alone = alone.score - band_of(of_alone, deviations)[0]
    rows = tuple(
        plan_score(epsilon, column, of_alone, deviations, shift, shift_alone, _limits_of(scoring))
        for epsilon, column in zip(grid, np.array([scores for scores, _, _ in found]).T, strict=True)
    )
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    decision, words = recommend(rows, alone.score, base, name)
    held = last_step(template).get_params()
    if held.get("delta") == 0 and "mechanism" in held:
        words += _PURE
    total = grid[-1] if total_epsilon is None else total_epsilon
    n_columns = 1 + (len(domain.names) if domain else known.table.encoded.shape[1] if known else 0)
    return StudyPlan(
        estimator=type(estimator).__name__,
        n=int(n),
        score_name=name,
        table=rows,
        base_rate=base,
        public_alone=alone.score,
        public_alone_error=alone.error,
        public_alone_model=alone.name,
        decision=decision,
        recommendation=words,
        split=_split(rows[-1].score, name, total, int(n), sample, n_columns),
        unknowns=_unknowns(known, simulate is not None),
        source="public" if simulate is None else "simulated",
    )


def _predicts_labels(estimator: Any) -> bool:
    if is_classifier(estimator):
        return True
    if is_regressor(estimator):
        return False
    raise TypeError(f"estimator must be a classifier or a regressor, not {type(estimator).__name__}.")


def _read_public(
    public: Any, domain: TableDomain | None, template: Any, labels: bool, target: Any
) -> populations.PublicRows:
    X, y = populations.check_public(
        public, lambda y: _read_labels(y, template) if labels else np.asarray(y, dtype=np.float64)
    )
    if not labels:
        if not np.isfinite(y).all() or np.ptp(y) == 0:
            raise ValueError("the public targets must be finite numbers that differ.")
        logarithm = get_tags(template).target_tags.positive_only and bool((y > 0).all())
        low, high = (y.min(), y.max()) if target is None else (target[0], target[1])
        ends = float(low), float(high)
        return populations.PublicRows(
            populations.PublicTable(X, domain), y, np.log(y) if logarithm else y, None, ends, logarithm
        )
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2 or counts.min() < _FEWEST_OF_CLASS:
        raise ValueError(
            f"public rows must hold at least two classes, each of at least {_FEWEST_OF_CLASS} rows. A class "
            "that they do not hold cannot be planned."
        )
    return populations.PublicRows(populations.PublicTable(X, domain), y, codes, classes)


def _read_labels(given: Any, template: Any) -> NDArray[Any]:
    """Return public labels as the estimator declares them, or without white space if it declares none."""
    declared = getattr(last_step(template), "classes", None)
    if declared is None:
        return plain_labels(given)
    classes = declared_classes(declared)
    refuse_unknown_labels(given, classes)
    return classes[codes_of(given, classes, 0, num_samples(given), "the public target")]


def _worlds_of(
    known: populations.PublicRows, n: int, n_repeats: int, rng: np.random.Generator
) -> tuple[list[populations.World], FloatArray]:
    """Return a world for each repeat, and its distance from the expected one in standard errors."""
    n_classes = 0 if known.classes is None else len(known.classes)
    signal = populations.measure_signal(known.table.encoded, known.codes, n_classes, n, rng)
    deviations = rng.permutation(norm.ppf((np.arange(n_repeats) + 0.5) / n_repeats))
    drawn: list[populations.World] = []
    for repeat, deviation in enumerate(deviations):
        model, predicted = signal.models[repeat % len(signal.models)]
        strength = signal.at(float(deviation))
        if known.classes is None:
            drawn.append(populations.NumberWorld(known, model, predicted, strength, rng))
        else:
            drawn.append(populations.LabelWorld(known, known.classes, model, strength, rng))
    return drawn, deviations


def _limits_of(scoring: Any) -> tuple[float, float]:
    """Return the range of a score, as far as its name determines it."""
    if scoring == "accuracy" or (isinstance(scoring, str) and scoring.startswith("roc_auc")):
        return 0.0, 1.0
    return -np.inf, 1.0 if scoring == "r2" else np.inf


def _split(
    score: float, name: str, total: float | Fraction, n: int, sample: NDArray[Any], n_columns: int
) -> BudgetSplit | None:
    """Return the suggested split for AUC and accuracy, whose intervals are known; None for other scores."""
    if name not in ("roc_auc", "roc_auc_ovr", "accuracy"):
        return None
    counts = np.unique(sample, return_counts=True)[1]
    return split_budget(
        total, n, n_columns, score, float(counts.min() / counts.sum()), is_area=name != "accuracy"
    )


def _unknowns(known: populations.PublicRows | None, simulated: bool) -> tuple[str, ...]:
    if simulated or known is None:
        return _OF_SIMULATION + _OF_ALL
    texts = tuple(text.format(m=len(known.y)) for text in _OF_PUBLIC)
    if not known.table.is_moved:
        texts = (*texts, "Rows between the public ones: no column of numbers could be moved.")
    return texts + _OF_ALL


# Life data: half-widths of intervals, and rows needed.

# Numbers of rows that are tried for a wanted half-width: from 100, 24 in a decade, in steps of a tenth.
_LEAST_TRIED, _IN_A_DECADE = 100, 24
_LIFE_CONSTRAINTS: dict[str, list[Any]] = {
    "n_repeats": [Interval(Integral, 1, None, closed="left")],
    "max_rows": [Interval(Integral, _LEAST_TRIED, None, closed="left")],
    "half_width": [Interval(Real, 0, None, closed="neither"), None],
    "assurance": [Interval(Real, 0, 1, closed="neither")],
    "quantile": [Interval(Real, 0, 1, closed="neither")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "simulate": [callable, None],
    "stated": [StatedLifetimes, None],
}
_UNKNOWN_OF_LIVES = {
    "stated": "Errors of the stated model. With other slopes, another scale or another share of censored "
    "units, half-widths are different.",
    "simulate": "Errors of the simulation.",
    "public": "Private rows may differ from the public ones, in their values and in how the lifetime "
    "depends on them.",
}
_OF_ALL_LIVES = (
    "Whether the distribution and the stress models are right. Everything depends on them at rows beyond "
    "those of the test.",
    "Choices that are made after private rows were seen, and mistakes in data.",
)


def plan_life_study(
    estimator: Any,
    n: int | Sequence[int],
    epsilons: Sequence[float | Fraction],
    *,
    X_at: Any,
    stated: StatedLifetimes | None = None,
    public: tuple[Any, Any] | None = None,
    simulate: Callable[[int, np.random.Generator], tuple[Any, Any]] | None = None,
    quantile: float = 0.1,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    half_width: float | None = None,
    assurance: float = 0.8,
    max_rows: int = 1_000_000,
    n_repeats: int = 16,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> LifeStudyPlan:
    """Plan a private study of life data before budget is spent: the half-widths of its intervals.

    Parameters
    ----------
    estimator : DPLogLocationScaleRegressor or a preset of it
        An unfitted estimator with declared bounds. Copies are fitted. It is not changed, and its ledger is
        not charged.
    n : int or sequence of int
        Planned number of private rows, at least 20.
    epsilons : sequence of float or Fraction
        Different epsilons, finite, > 0.
    X_at : array-like or data frame of shape (m, n_features), or None
        Rows at which the quantile is wanted, as `predict` takes them, such as the use level. None: the study
        is of one population, without columns, as ``fit(None, y)`` fits it.
    stated : StatedLifetimes, default=None
        The expected model of lifetimes. Exactly one of `stated`, `public` and `simulate` must be given.
    public : (X, y), default=None
        At least 30 public rows; y holds numbers, or events and times. Trials draw such rows with replacement.
        Their lifetimes follow the model that the estimator finds in the public rows with hardly any noise.
        They are observed as long as the public ones were. **Never pass private rows.**
    simulate : callable, default=None
        ``simulate(n, rng)`` returns a pair (X, y) of n rows.
    quantile : float, default=0.1
        The quantile of the lifetime, in (0, 1); 0.1 is the B10 life.
    variants : dict of str to dict, default=None
        Fits to compare: a name, and parameters of the estimator, such as ``{"norm": {"x_norm": 2.0}}``. None:
        Laplace noise with a delta of 0, and Gaussian noise if the estimator's delta is above 0.
    half_width : float, default=None
        Wanted half-width of the quantile's 90 % interval, at the row of `X_at` where it is widest. For times
        it is relative, see `PlannedHalfWidths`. None: the rows that are needed are not computed.
    assurance : float, default=0.8
        Share of the trials whose interval must be so narrow, in (0, 1).
    max_rows : int, default=1_000_000
        The largest number of rows to try for it, at least 100.
    n_repeats : int, default=16
        Trials at each number of rows.
    n_jobs : int, default=None
        Number of parallel trials, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawn rows and of the noise in these fits. It is public, since no private row is used.

    Returns
    -------
    plan : LifeStudyPlan

    Raises
    ------
    TypeError, ValueError
        The estimator is no life-data regressor, or does not declare its bounds; none or several of `stated`,
        `public` and `simulate` are given; there are too few public rows; the simulation does not return n
        rows and n targets; or a parameter is out of its range.
    Exception
        An error of a fit.

    See Also
    --------
    plan_study : Plans expected scores of any private estimator.
    LifeStudyPlan : The result.

    Notes
    -----
    **Privacy.** No private row is read, and nothing is charged: the copies have no ledger. All that is passed
    as ``public`` or ``stated`` must be public.

    A trial draws n rows and fits the private estimator to them with the noise of the study. Its 90 %
    intervals are those that the study would print. Half-widths are medians over trials. A trial with a
    quantile that is not "known" (``quantile_state``) counts as infinitely wide. If the noise is large,
    half-widths vary from fit to fit. ``range`` shows by how much, and `assurance` requires more rows. The
    rows needed are found by bisection over numbers that are about a tenth apart. The number that is returned
    was tried itself.

    Examples
    --------
    >>> from skprivate import DPLogLocationScaleRegressor, TableDomain
    >>> from skprivate.domain import StressColumn
    >>> from skprivate.evaluation import StatedLifetimes, plan_life_study
    >>> domain = TableDomain({"celsius": StressColumn(85, 125, "arrhenius")})
    >>> model = DPLogLocationScaleRegressor(domain=domain, bounds_y=(10, 1e6), delta=1e-6)
    >>> stated = StatedLifetimes(coef=[0.7], intercept=-14.0, scale=0.5, X=[[85.0], [105.0], [125.0]])
    >>> plan = plan_life_study(model, 20_000, [1.0, 4.0], X_at=[[55.0]], stated=stated, half_width=0.2,
    ...                        max_rows=10_000, n_repeats=3, random_state=0)
    >>> [(row.variant, row.epsilon) for row in plan.table]
    [('laplace', 1.0), ('laplace', 4.0), ('gaussian', 1.0), ('gaussian', 4.0)]
    >>> plan.table[1].widest < plan.table[0].widest, plan.rows_needed[1].n < plan.rows_needed[0].n
    (True, True)
    """
    given = {name: value for name, value in dict(locals()).items() if name in _LIFE_CONSTRAINTS}
    validate_parameter_constraints(_LIFE_CONSTRAINTS, given, "plan_life_study")
    grid = check_epsilons(epsilons)
    sizes = [check_int(one, "n", least=_FEWEST_ROWS) for one in ([n] if np.ndim(n) == 0 else n)]  # type: ignore[union-attr]
    template = _prepare_life_model(estimator, X_at is not None)
    trial_fits.warn_of_planned_delta(template, "epsilon", max(sizes))
    source, draw = draw_lives(template, stated, public, simulate)
    parameters = _variants_of(template, variants)
    seeds = check_random_state(random_state).randint(2**31, size=n_repeats).tolist()
    trials = Trials(template, parameters, grid, draw, X_at, quantile, seeds, n_jobs)
    cells = [(name, epsilon) for name in parameters for epsilon in grid]
    table = tuple(
        _widths(*cell, size, trials.at(size, cells)[place])
        for place, cell in enumerate(cells)
        for size in sizes
    )
    needed = (
        ()
        if half_width is None
        else tuple(_find_rows(cell, trials, half_width, assurance, max_rows) for cell in cells)
    )
    first = trials.at(sizes[0], cells)[0][0]
    return LifeStudyPlan(
        estimator=type(estimator).__name__,
        quantile=float(quantile),
        relative=first.relative,
        slope_names=first.slope_names,
        table=table,
        half_width=None if half_width is None else float(half_width),
        assurance=float(assurance),
        rows_needed=needed,
        max_rows=int(max_rows),
        unknowns=(_UNKNOWN_OF_LIVES[source], *_OF_ALL_LIVES),
        source="public" if source == "public" else "simulated",
    )


def _prepare_life_model(estimator: Any, columns: bool) -> Any:
    """Return a clone without a ledger; refuse an estimator that cannot be planned."""
    if not all(
        hasattr(estimator, name) for name in ("predict_quantile", "acceleration_factor", "planned_cost")
    ):
        raise TypeError(f"estimator must be a life-data regressor, not {type(estimator).__name__}.")
    template = clone(estimator).set_params(ledger=None)
    if template._find_leaks(columns):
        raise ValueError("the estimator must declare its bounds: bounds_X or domain, and bounds_y.")
    return template


def _variants_of(template: Any, variants: Any) -> dict[str, dict[str, Any]]:
    if variants is None:
        laplace = {"laplace": {"mechanism": "laplace", "delta": 0}}
        return {**laplace, "gaussian": {"mechanism": "gaussian"}} if template.delta > 0 else laplace
    if not isinstance(variants, Mapping) or not all(isinstance(one, Mapping) for one in variants.values()):
        raise TypeError("variants must be a dict: name -> dict of parameters.")
    if not variants:
        raise ValueError("variants must hold at least one variant.")
    if any({"epsilon", "ledger", "random_state"} & set(one) for one in variants.values()):
        raise ValueError("variants must not set epsilon, ledger or random_state.")
    return {str(name): dict(parameters) for name, parameters in variants.items()}


def _widths(name: str, epsilon: float | Fraction, n: int, widths: list[FitWidths]) -> PlannedHalfWidths:
    # Quantiles without interpolation, since values may be infinite.
    low, high = np.quantile(widest_of(widths), [0.1, 0.9], method="inverted_cdf").tolist()
    return PlannedHalfWidths(
        variant=name,
        epsilon=epsilon,
        n=n,
        quantile=tuple(median_widths(widths, lambda one: one.quantile).tolist()),
        slopes=tuple(median_widths(widths, lambda one: one.slopes).tolist()),
        scale=float(median_widths(widths, lambda one: one.scale)),
        range=(low, high),
        warned=float(np.mean([one.warned for one in widths])),
        repeats=len(widths),
    )


def _find_rows(cell: Cell, trials: Trials, half_width: float, assurance: float, max_rows: int) -> RowsNeeded:
    """Return the smallest tried number of rows at which enough trials have narrow intervals."""

    def at(n: int) -> list[FitWidths]:
        return trials.at(n, [cell])[0]

    sizes = _tried(max_rows)
    place = bisect_left(sizes, True, key=lambda n: bool(np.mean(widest_of(at(n)) <= half_width) >= assurance))
    n = sizes[min(place, len(sizes) - 1)]
    return RowsNeeded(*cell, n if place < len(sizes) else None, _widths(*cell, n, at(n)))


def _tried(max_rows: int) -> list[int]:
    """Return the numbers of rows that are tried, of two digits each, up to the greatest."""
    decades = np.log10(max_rows / _LEAST_TRIED)
    powers = np.arange(int(decades * _IN_A_DECADE) + 1) / _IN_A_DECADE
    rounded = {int(float(f"{_LEAST_TRIED * 10**power:.1e}")) for power in powers}
    return sorted({*(one for one in rounded if one < max_rows), max_rows})
