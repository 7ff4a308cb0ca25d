# SPDX-License-Identifier: BSD-3-Clause
"""A plan of a study of life data before anything is spent: half-widths of intervals, and rows needed."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_random_state

from ..utils import check_int
from ..utils._compat import Interval, validate_parameter_constraints
from ._plan_study import _check_epsilons
from ._planning.fits import warn_of_planned_delta
from ._planning.half_widths import FitWidths, Trials, median_widths, widest_of
from ._planning.life_result import LifeStudyPlan, PlannedHalfWidths, RowsNeeded
from ._planning.lifetimes import Draw, StatedLifetimes, draw_from_public, draw_from_simulation

_FEWEST_ROWS, _FEWEST_PUBLIC = 20, 30
# Numbers of rows that are tried for a wanted half-width: from 100 on, 24 in a decade, in steps of a tenth.
_LEAST_TRIED, _IN_A_DECADE = 100, 24
_CONSTRAINTS: dict[str, list[Any]] = {
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
_UNKNOWN = {
    "stated": "The stated model is taken at its word: other slopes, another scale or another share of "
    "censored units have other half-widths.",
    "simulate": "The simulation is taken at its word.",
    "public": "Private rows may differ from the public ones: in what they hold, and in how the lifetime "
    "depends on it.",
}
_OF_ALL = (
    "Whether the distribution and the stress laws are right; at rows beyond those of the test, everything "
    "rests on them.",
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
    """Plan a private study of life data before anything is spent: how wide its intervals will be.

    Parameters
    ----------
    estimator : DPLogLocationScaleRegressor or a preset of it
        Unfitted, with declared bounds. Copies are fitted; it is not changed, and its ledger is not charged.
    n : int or sequence of int
        Private rows that are planned for, at least 20.
    epsilons : sequence of float or Fraction
        Different ones, finite, > 0.
    X_at : array-like or data frame of shape (m, n_features)
        Rows at which the quantile is wanted, as `predict` takes them: the use level, say.
    stated : StatedLifetimes, default=None
        The model that lifetimes are expected to follow. One of `stated`, `public` and `simulate` is given.
    public : (X, y), default=None
        Public rows, at least 30; y are numbers, or events and times. Trials are of such rows, drawn with
        replacement, whose lifetimes follow the model that the estimator finds in the public rows with hardly
        any noise, watched as long as theirs were. **Never pass private rows.**
    simulate : callable, default=None
        ``simulate(n, rng)`` returns a pair (X, y) of n rows.
    quantile : float, default=0.1
        Which quantile of the lifetime; 0.1 is the B10 life.
    variants : dict of str to dict, default=None
        Fits to compare, by a name: parameters of the estimator, such as ``{"norm": {"x_norm": 2.0}}``. None:
        Laplace noise with a delta of 0, and, where the estimator's delta is above 0, Gaussian noise with it.
    half_width : float, default=None
        Wanted half-width of the quantile's 90 % interval, at the row of `X_at` where it is widest; of times
        relative, see `PlannedHalfWidths`. None: rows that are needed are not looked for.
    assurance : float, default=0.8
        Share of the trials whose interval must be so narrow.
    max_rows : int, default=1_000_000
        The most rows to try for it.
    n_repeats : int, default=16
        Trials at each number of rows.
    n_jobs : int, default=None
        Trials at a time, as joblib has it.
    random_state : int, RandomState instance or None, default=None
        Of rows that are drawn and of the noise in these fits. None of it touches private rows: it is public.

    Returns
    -------
    plan : LifeStudyPlan

    Raises
    ------
    TypeError, ValueError
        No life-data regressor, or one without declared bounds; none or several of `stated`, `public` and
        `simulate`; too few public rows; a simulation that returns something else than n rows and n targets; a
        parameter out of its range.
    Exception
        What a fit raised.

    See Also
    --------
    plan_study : Plans expected scores of any private estimator.
    LifeStudyPlan : What is returned.

    Notes
    -----
    **Privacy.** No private row is read, and nothing is charged: ledgers are taken out of the copies. What is
    given as ``public`` or ``stated`` must be public.

    A trial draws n rows, fits the private estimator to them with noise as that of the study, and reads the 90
    % intervals that the study would print. Half-widths are medians over trials, of which those that warn of
    their noise count as infinitely wide: their intervals are no claim. Where the noise is large, half-widths
    vary from fit to fit; ``range`` tells how much, and `assurance` asks for more rows. The rows needed are
    found by bisection over numbers that are about a tenth apart; the one that is returned was tried itself.

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
    given = {name: value for name, value in locals().items() if name in _CONSTRAINTS}
    validate_parameter_constraints(_CONSTRAINTS, given, "plan_life_study")
    grid = _check_epsilons(epsilons)
    sizes = [check_int(one, "n", least=_FEWEST_ROWS) for one in ([n] if np.ndim(n) == 0 else n)]  # type: ignore[union-attr]
    template = _prepare(estimator)
    warn_of_planned_delta(template, "epsilon", max(sizes))
    source, draw = _draw(template, stated, public, simulate)
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
        else tuple(_find_rows(*cell, trials, half_width, assurance, max_rows) for cell in cells)
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
        unknowns=(_UNKNOWN[source], *_OF_ALL),
        source="public" if source == "public" else "simulated",
    )


def _prepare(estimator: Any) -> Any:
    """Return a clone without a ledger; an error where it is not one that can be planned for."""
    if not all(
        hasattr(estimator, name) for name in ("predict_quantile", "acceleration_factor", "planned_cost")
    ):
        raise TypeError(f"estimator must be a life-data regressor, not {type(estimator).__name__}.")
    template = clone(estimator).set_params(ledger=None)
    leaks = template.planned_cost(False).leaks
    if leaks:
        raise ValueError("the estimator must declare its bounds: bounds_X or domain, and bounds_y.")
    return template


def _draw(template: Any, stated: Any, public: Any, simulate: Any) -> tuple[str, Draw]:
    """Return where rows come from, and what draws them."""
    given = {"stated": stated, "public": public, "simulate": simulate}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ValueError("give one of stated=StatedLifetimes(...), public=(X, y) and simulate=...")
    if stated is not None:
        return "stated", stated.draw_for(template)
    if public is not None:
        return "public", draw_from_public(public, template, _FEWEST_PUBLIC)
    return "simulate", draw_from_simulation(simulate)


def _variants_of(template: Any, variants: Any) -> dict[str, dict[str, Any]]:
    if variants is None:
        laplace = {"laplace": {"mechanism": "laplace", "delta": 0}}
        return {**laplace, "gaussian": {"mechanism": "gaussian"}} if template.delta > 0 else laplace
    if not isinstance(variants, Mapping) or not all(isinstance(one, Mapping) for one in variants.values()):
        raise TypeError("variants must be a dict: name -> dict of parameters.")
    if not variants:
        raise ValueError("variants must hold at least one.")
    if any({"epsilon", "ledger", "random_state"} & set(one) for one in variants.values()):
        raise ValueError("variants must not set epsilon, ledger or random_state.")
    return {str(name): dict(parameters) for name, parameters in variants.items()}


def _widths(name: str, epsilon: float | Fraction, n: int, fits: list[FitWidths]) -> PlannedHalfWidths:
    # Quantiles that are values of trials: some may be infinite.
    low, high = np.quantile(widest_of(fits), [0.1, 0.9], method="inverted_cdf").tolist()
    return PlannedHalfWidths(
        variant=name,
        epsilon=epsilon,
        n=n,
        quantile=tuple(median_widths(fits, lambda one: one.quantile).tolist()),
        slopes=tuple(median_widths(fits, lambda one: one.slopes).tolist()),
        scale=float(median_widths(fits, lambda one: one.scale)),
        range=(low, high),
        warned=float(np.mean([one.warned for one in fits])),
        repeats=len(fits),
    )


def _find_rows(
    name: str,
    epsilon: float | Fraction,
    trials: Trials,
    half_width: float,
    assurance: float,
    max_rows: int,
) -> RowsNeeded:
    """Return the fewest rows of those that are tried at which enough trials have narrow intervals."""

    def at(n: int) -> list[FitWidths]:
        return trials.at(n, [(name, epsilon)])[0]

    sizes = _tried(max_rows)
    place = bisect_left(sizes, True, key=lambda n: bool(np.mean(widest_of(at(n)) <= half_width) >= assurance))
    if place == len(sizes):
        return RowsNeeded(name, epsilon, None, _widths(name, epsilon, sizes[-1], at(sizes[-1])))
    return RowsNeeded(name, epsilon, sizes[place], _widths(name, epsilon, sizes[place], at(sizes[place])))


def _tried(max_rows: int) -> list[int]:
    """Return the numbers of rows that are tried, of two figures each, up to the greatest."""
    decades = np.log10(max_rows / _LEAST_TRIED)
    powers = np.arange(int(decades * _IN_A_DECADE) + 1) / _IN_A_DECADE
    rounded = {int(float(f"{_LEAST_TRIED * 10**power:.1e}")) for power in powers}
    return sorted({*(one for one in rounded if one < max_rows), max_rows})
