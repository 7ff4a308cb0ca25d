# SPDX-License-Identifier: BSD-3-Clause
"""A plan of a study before anything is spent: expected scores by epsilon, and whether they are worth it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags
from sklearn.utils.validation import check_random_state

from .._typing import FloatArray
from ..base._pipeline_report import last_step
from ..domain import TableDomain
from ..domain._labels import codes_of, declared_classes, plain_labels, refuse_unknown_labels
from ..utils import check_positive
from ..utils._compat import Interval, num_samples, validate_parameter_constraints
from ._planning.bands import Shift, band_of, plan_score, recommend
from ._planning.budget import BudgetSplit, split_budget
from ._planning.fits import (
    N_TEST,
    base_score,
    check_domain,
    cross_validate_quiet,
    epsilon_of,
    prepare,
    public_model,
    run_world,
    warn_of_planned_delta,
)
from ._planning.result import StudyPlan
from ._planning.signal import Signal, measure_signal
from ._planning.tables import PublicTable
from ._planning.worlds import LabelWorld, NumberWorld, StatedWorld, World

# Fewer rows cannot be split into folds that tell anything.
_FEWEST_PUBLIC, _FEWEST_OF_CLASS, _FEWEST_ROWS = 30, 3, 20
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
_OF_PUBLIC = (
    "Private rows may differ from the public ones: in what they hold, and in how the target depends on it. "
    "The plan takes both for samples of one population.",
    "Patterns finer than {m} public rows show: their gain is extended from the learning curve between "
    "half and all of them, no farther than the band says.",
    "Values and levels that no public row has.",
)
_OF_SIMULATION = (
    "The simulation is taken at its word: the plan is as good as what it says of rows and targets. The band "
    "counts noise and the drawing of rows, and not an error of the simulation.",
)
_OF_ALL = (
    "Choices that are made after private rows were seen, mistakes in data, and what a model of another kind "
    "would do.",
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
    """Plan a private fit before anything is spent: expected score by epsilon, with a band, and a verdict.

    Parameters
    ----------
    estimator : estimator
        Private and unfitted, or a pipeline that ends in one. Copies are fitted; it is not changed, and its
        ledger is not charged.
    domain : TableDomain, (lower, upper), dict or None
        What is publicly known of the columns. An estimator that takes it as ``domain``, ``bounds`` or
        ``bounds_X`` and has none gets it; steps of a pipeline do not. None: the estimator says it all.
    n : int
        Private rows that are planned for, at least 20.
    epsilons : sequence of float or Fraction
        Different ones, finite, > 0.
    public : (X, y), default=None
        Public rows, at least 30: an array or a data frame, and labels (at least two classes, each of at least
        3 rows) or numbers of shape (m,). A label that the estimator does not declare is an error. **Never
        pass private rows.**
    simulate : callable, default=None
        ``simulate(n, rng)`` returns a pair (X, y) of n rows. With it the fits are on such rows, and public
        rows serve to say what they alone give. It must be given where ``public`` is not.
    target : array-like of labels, (lower, upper), or None, default=None
        Classes, or bounds of the numbers: what an estimator without ``classes`` or ``bounds_y`` gets.
    scoring : str, callable or None, default=None
        As scikit-learn has it, greater is better: "roc_auc", "accuracy", "neg_log_loss", "r2",
        "neg_mean_absolute_error". None: "roc_auc" for two classes, "roc_auc_ovr" for more, "r2".
    public_in_fit : bool, default=False
        Whether the study's fit will get the public rows too, by ``is_public``. Fits then get as many
        simulated ones.
    total_epsilon : float or Fraction, default=None
        What the study may spend in all, for the suggested split; None: the greatest of `epsilons`.
    param_name : str, default=None
        Parameter that takes the epsilon; None: ``epsilon`` of the estimator, or of the one step that has it.
    n_repeats : int, default=8
        Fits at each epsilon, at least 4, each in a world of its own.
    n_jobs : int, default=None
        Repeats at a time, as joblib has it.
    random_state : int, RandomState instance or None, default=None
        Of rows that are drawn and of the noise in these fits. None of it touches private rows: it is public.

    Returns
    -------
    plan : StudyPlan

    Raises
    ------
    TypeError, ValueError
        Neither public rows nor a simulation; too few of them, or of one class; a simulation that returns
        something else than n rows and n targets; no parameter for the epsilon; a parameter out of its range.
    Exception
        What a fit raised.

    See Also
    --------
    StudyPlan : What is returned.

    Notes
    -----
    **Privacy.** No private row is read, and nothing is charged: ledgers are taken out of the copies. What is
    given as ``public`` must be public.

    From m public rows: models (linear, linear in ranks, boosting) are cross-validated on them. The strength
    of the signal is the AUC, or R2, of the best one, plus what its learning curve from m/2 to 9m/10 rows
    gains until n if the rest falls as 1/m. Its standard error is that of a bootstrap of the cross-validated
    rows, and reaches down to no further gain and up to one that falls as m^(-1/2). Each repeat draws n rows:
    public rows with replacement, whose numbers move in their ranks by a bandwidth of 0.9 m^(-1/5), so that a
    fit meets no row twice; labels are drawn from a model that predicts the public rows as well as the best
    one, its log-odds stretched to a strength some standard errors from the expected one. The estimator is
    fitted to these rows and scored on 10,000 others of the same world, so that no row is both fitted and
    scored. A world may suit the estimator better than the public rows do: with hardly any noise it is also
    cross-validated on these, and fitted to as many rows of each world; the difference shifts all scores, and
    half of it counts as an error (there is no shift where so few rows teach it nothing). So it is with the
    models of public rows alone. Scores are a line in the standard errors; the band adds its slope and what is
    left, noise and rows, for nine studies of ten if the assumptions hold. Of a simulation, what is left is
    all there is.

    References
    ----------
    J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a receiver operating characteristic
    (ROC) curve", Radiology 143, 1982: the variance of an AUC in the suggested split.

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
    given = {name: value for name, value in locals().items() if name in _CONSTRAINTS}
    validate_parameter_constraints(_CONSTRAINTS, given, "plan_study")
    grid = _check_epsilons(epsilons)
    check_domain(domain)
    labels = _predicts_labels(estimator)
    template = prepare(estimator, domain, target)
    name = epsilon_of(template, param_name)
    warn_of_planned_delta(template, name, n)
    if public is None and simulate is None:
        raise ValueError("give public rows, public=(X, y), or a simulation, simulate=...: there is no plan "
                         "from nothing.")  # fmt: skip
    if public_in_fit and public is None:
        raise ValueError("public_in_fit=True needs public rows.")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    known = None if public is None else _read_public(public, _domain_of(domain, template), template, labels)
    if simulate is None:
        if known is None:
            raise RuntimeError("public rows were checked above.")
        worlds, deviations = _worlds_of(known, template, target, n, n_repeats, rng)
        sample = known.y
    else:
        worlds, deviations = [StatedWorld(simulate)] * n_repeats, np.zeros(n_repeats)
        sample = worlds[0].draw(N_TEST, rng)[1]
    scoring = _default_score(sample, labels) if scoring is None else scoring
    scorer = check_scoring(template, scoring)
    alone = (
        None
        if known is None
        else public_model(known.table, known.y, labels, scorer, int(rng.integers(2**31)))
    )
    n_public = 0 if known is None else len(known.y)
    options = {"alone": None if alone is None else alone[1], "in_fit": public_in_fit}
    found = Parallel(n_jobs=n_jobs)(
        delayed(run_world)(template, name, grid, world, n, n_public, scorer, int(seed), **options)
        for world, seed in zip(worlds, rng.integers(2**31, size=n_repeats), strict=True)
    )
    of_alone = np.array([one for _, one, _ in found])
    base = base_score(sample, labels, scorer)
    shift, shift_alone = Shift(), 0.0
    if simulate is None and known is not None:
        seed = int(rng.integers(2**31))
        real = cross_validate_quiet(template, name, known.table.table, known.y, labels, scorer, seed)
        shift = Shift.measured(real, np.array([quiet for _, _, quiet in found]), deviations, base)
        if alone is not None:
            shift_alone = alone[2] - band_of(of_alone, deviations)[0]
    rows = tuple(
        plan_score(epsilon, column, of_alone, deviations, shift, shift_alone, _limits_of(scoring))
        for epsilon, column in zip(grid, np.array([scores for scores, _, _ in found]).T, strict=True)
    )
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    decision, words = recommend(rows, None if alone is None else alone[2], base, name)
    total = grid[-1] if total_epsilon is None else total_epsilon
    return StudyPlan(
        estimator=type(estimator).__name__,
        n=int(n),
        score_name=name,
        table=rows,
        base_rate=base,
        public_alone=None if alone is None else alone[2],
        public_alone_error=None if alone is None else alone[3],
        public_alone_model=None if alone is None else alone[0],
        decision=decision,
        recommendation=words,
        split=_split(rows[-1].score, name, total, int(n), sample, _count_columns(domain, template, known)),
        unknowns=_unknowns(known, simulate is not None),
        source="public" if simulate is None else "simulated",
    )


@dataclass(frozen=True, eq=False)
class _Public:
    """Public rows that were checked; of labels, codes and classes."""

    table: PublicTable
    y: NDArray[Any]
    classes: NDArray[Any] | None
    codes: NDArray[Any]


def _check_epsilons(epsilons: Any) -> list[float | Fraction]:
    if isinstance(epsilons, str) or not np.iterable(epsilons):
        raise TypeError(f"epsilons must be a sequence of numbers, got {type(epsilons).__name__}.")
    grid = sorted(epsilons, key=lambda epsilon: check_positive(epsilon, "each of epsilons"))
    if not grid or len(set(grid)) < len(grid):
        raise ValueError("epsilons must be at least one number, and none of them twice.")
    return [epsilon if isinstance(epsilon, Fraction) else float(epsilon) for epsilon in grid]


def _predicts_labels(estimator: Any) -> bool:
    if is_classifier(estimator):
        return True
    if is_regressor(estimator):
        return False
    raise TypeError(f"estimator must be a classifier or a regressor, not {type(estimator).__name__}.")


def _domain_of(domain: Any, template: Any) -> TableDomain | None:
    """Return the domain that tables are read by."""
    if isinstance(domain, TableDomain):
        return domain
    held = template.get_params().get("domain")
    return held if isinstance(held, TableDomain) else None


def _read_public(public: Any, domain: TableDomain | None, template: Any, labels: bool) -> _Public:
    if not isinstance(public, tuple | list) or len(public) != 2:
        raise TypeError("public must be a pair (X, y).")
    X, given = public
    y = _read_labels(given, template) if labels else np.asarray(given, dtype=np.float64)
    if y.ndim != 1 or num_samples(X) != len(y):
        raise ValueError("public=(X, y) must hold as many targets as rows, y of shape (m,).")
    if len(y) < _FEWEST_PUBLIC:
        raise ValueError(f"{_FEWEST_PUBLIC} public rows at least are needed, and better some hundreds.")
    if not labels:
        if not np.isfinite(y).all() or np.ptp(y) == 0:
            raise ValueError("the public targets must be finite numbers that differ.")
        return _Public(PublicTable(X, domain), y, None, y)
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2 or counts.min() < _FEWEST_OF_CLASS:
        raise ValueError(
            f"public rows must hold at least two classes, each of at least {_FEWEST_OF_CLASS} rows: nothing "
            "can be planned of a class that they do not show."
        )
    return _Public(PublicTable(X, domain), y, classes, codes)


def _read_labels(given: Any, template: Any) -> NDArray[Any]:
    """Return public labels as the estimator declares them, or without white space where it does not."""
    declared = getattr(last_step(template), "classes", None)
    if declared is None:
        return plain_labels(given)
    classes = declared_classes(declared)
    refuse_unknown_labels(given, classes)
    labels: NDArray[Any] = classes[codes_of(given, classes, 0, num_samples(given), "the public target")]
    return labels


def _worlds_of(
    known: _Public, template: Any, target: Any, n: int, n_repeats: int, rng: np.random.Generator
) -> tuple[list[World], FloatArray]:
    """Return a world for each repeat, and its distance from the expected one in standard errors."""
    tags = get_tags(template).target_tags
    logarithm = known.classes is None and tags.positive_only and bool((known.y > 0).all())
    codes = np.log(known.y) if logarithm else known.codes
    n_classes = 0 if known.classes is None else len(known.classes)
    signal: Signal = measure_signal(known.table.encoded, codes, n_classes, n, rng)
    deviations = rng.permutation(norm.ppf((np.arange(n_repeats) + 0.5) / n_repeats))
    limits = None
    if known.classes is None and target is not None:
        limits = (float(target[0]), float(target[1]))
    worlds: list[World] = []
    for repeat, deviation in enumerate(deviations):
        model, predicted = signal.models[repeat % len(signal.models)]
        strength = signal.at(float(deviation))
        if known.classes is None:
            options: dict[str, Any] = {"limits": limits, "logarithm": logarithm}
            worlds.append(NumberWorld(known.table, known.y, model, predicted, strength, rng, **options))
        else:
            worlds.append(LabelWorld(known.table, codes, known.classes, model, strength, rng))
    return worlds, deviations


def _limits_of(scoring: Any) -> tuple[float, float]:
    """Return the values that a score can take, as far as its name says."""
    if scoring == "accuracy" or (isinstance(scoring, str) and scoring.startswith("roc_auc")):
        return 0.0, 1.0
    return -np.inf, 1.0 if scoring == "r2" else np.inf


def _default_score(y: NDArray[Any], labels: bool) -> str:
    if not labels:
        return "r2"
    return "roc_auc" if len(np.unique(y)) <= 2 else "roc_auc_ovr"


def _count_columns(domain: Any, template: Any, known: _Public | None) -> int:
    """Return the number of columns that a description would count, the target included."""
    declared = _domain_of(domain, template)
    if declared is not None:
        return len(declared.names) + 1
    if known is not None:
        return known.table.encoded.shape[1] + 1
    return 1


def _split(
    score: float, name: str, total: float | Fraction, n: int, sample: NDArray[Any], n_columns: int
) -> BudgetSplit | None:
    """Return the suggested split, for scores whose interval is known: AUC and accuracy."""
    if name not in ("roc_auc", "roc_auc_ovr", "accuracy"):
        return None
    counts = np.unique(sample, return_counts=True)[1]
    return split_budget(
        total, n, n_columns, score, float(counts.min() / counts.sum()), is_area=name != "accuracy"
    )


def _unknowns(known: _Public | None, simulated: bool) -> tuple[str, ...]:
    if simulated or known is None:
        return _OF_SIMULATION + _OF_ALL
    texts = tuple(text.format(m=len(known.y)) for text in _OF_PUBLIC)
    if not known.table.is_moved:
        texts = (*texts, "Rows between the public ones: no column of numbers could be moved.")
    return texts + _OF_ALL
