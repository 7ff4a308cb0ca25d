# SPDX-License-Identifier: BSD-3-Clause
"""Accumulator of the exact moments of batches, which are released once."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._config import get_config
from .._typing import Distribution, IntArray
from ..domain import TableDomain
from ..noise._mechanisms import FitBudget, check_entropy, resolve_mechanism
from ..rounds._accumulator import BatchAccumulator
from ..rounds._plans.moments import SCALE_BITS
from ..rounds._rows import check_target_bounds
from ..rounds._tables import iter_batches
from ..utils import check_bounds, check_characters, is_structured
from ..utils._json_documents import Fields, pack_integers, restore_in_silence, seal_document, unpack_integers
from ..utils._private_fit import one_thread_at_a_time, redact_errors, refused_within_another
from ..utils._public_module import public_module
from ..utils._tables import numbers_of
from ._accumulator_plan import AccumulatorPlan
from ._distributions import models_log_target
from ._fit import adopt, describe_moments
from ._moments.released_moments import MomentPlan, Neighbours, plan_moments
from ._regressors import BaseLogLocationScale

Regressor = TypeVar("Regressor", bound=BaseLogLocationScale)

# Document of an accumulator: its format, its version, and its fields.
_FORMAT = "skprivate.moments"
_VERSION = 1
_FIELDS = ("plan", "feature_names", "target", "n_rows", "gram", "batches")


@public_module("skprivate.linear_model")
class MomentAccumulator(BatchAccumulator):
    """Accumulates the exact moments of a private log-location-scale regression, batch by batch.

    Rows may come from files larger than memory, or from many workers. Each worker fills an accumulator of the
    same parameters, the accumulators are merged, and `release` makes the one private fit. The result is that
    of one `fit` on the same grid. It does not depend on the order or the size of batches, or on who read
    them.

    Parameters
    ----------
    bounds_X : pair or dict
        ``(lower, upper)`` of X, each a scalar or of shape (n_features,), or ``{column: (lower, upper)}``.
        They come from public knowledge. None, with ``x_norm``: rows are centred at 0.
    bounds_y : pair of floats
        ``(lower, upper)`` of the target in the units that are passed; above 0 for times.
    max_rows : int
        Public bound on the number of rows, at least 1. A larger bound makes the grid coarser, which hardly
        matters: 10 times too large is fine.
    distribution : {"weibull", "loglogistic", "lognormal", "sev", "logistic", "normal"}, default="weibull"
        The first three take times above 0, the others take numbers as they are.
    mechanism : {"laplace", "gaussian"}, default="laplace"
        Noise that `release` will draw, which determines the norm that ``x_norm`` bounds. It is Gaussian if
        the estimator's ``delta`` is above 0. Without ``x_norm`` it has no effect: the estimator determines
        the noise.
    x_norm : float, default=None
        Public bound on the norm of a row of X minus the centre of the bounds. The norm is the sum of absolute
        values (Laplace), or the Euclidean norm (Gaussian). Longer rows are shrunk to it.
    max_sample_weight : float, default=None
        Public bound on a row's weight, from 2^-20 to 2^20. The noise is in proportion to it. None: rows have
        no weights.
    max_rows_per_group : int, default=None
        The caller guarantees that no person has more rows than this in all batches together. The unit of
        privacy is then the person, and the noise grows in proportion. None: the unit is the row.
    feature_names : sequence of str, default=None
        Columns to take from data frames and Arrow data, in their order. None: the names in ``bounds_X``, if
        it is a dict of names. Otherwise they are those of the first batch that has names, and all others must
        have the same.
    target : str, default=None
        Name of the target's column in data frames and Arrow data.
    domain : TableDomain, default=None
        What is publicly known of the columns of X. The columns may then hold text, categories, dates and
        missing cells. ``bounds_X`` is None then: the domain declares the bounds.

    Attributes
    ----------
    batch_ids : tuple of str
        Ids of the batches that were added, sorted.
    feature_names : tuple of str or None
        Names of the columns, if they are known.
    target : str or None
        Name of the target's column.
    plan : AccumulatorPlan
        Everything public: the bounds, the grid, the largest number of rows, the cap on weights.
    released : bool
        Whether the moments were released, and wiped.
    released_model : estimator or None
        What `release` returned, None before.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.

    See Also
    --------
    DPLogLocationScaleRegressor : The model that `release` fits.

    Notes
    -----
    **Privacy.** An accumulator holds exact sums over private rows, and so do its bytes and its pickles: never
    publish them. Only the result of `release` is private. It has the guarantee of `fit` with the estimator's
    ``relation``, and the sums are then wiped. A copy that was made before can be released too, at its own
    cost: charge both to one ledger.

    With ``max_sample_weight`` M, a row of weight w counts as w of its products. w is clipped to [0, M] and
    rounded toward zero to a multiple of about M / 4096. The sensitivity is M times that of a row that may be
    absent, and the total weight is released with noise. Not protected: `max_rows`, the batch ids, and whether
    there are more than `max_rows` rows. Without weights and groups, the number of rows is not protected
    either, unless the estimator's relation is "add-remove".

    Proof: :doc:`/proofs/moments`.

    A batch without an id is counted under an id that this object draws once. A merge of accumulators that
    have an id in common is refused, so that nothing is counted twice. Copies of an accumulator without rows
    have none in common: make one, send it to every worker, and merge the results. Threads that use the same
    accumulator wait for each other.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogLocationScaleRegressor, MomentAccumulator
    >>> rng = np.random.default_rng(0)
    >>> moments = MomentAccumulator((0, 10), (10, 20000), max_rows=100_000)
    >>> for day in range(5):
    ...     load = rng.uniform(0, 10, size=(4000, 1))
    ...     hours = np.exp(9 - 0.2 * load[:, 0]) * rng.weibull(2.0, size=4000)
    ...     moments = moments.update(load, hours, batch_id=f"day {day}")
    >>> moments
    MomentAccumulator(n_features=1, max_rows=100000, batches=5)
    >>> model = moments.release(DPLogLocationScaleRegressor(epsilon=1.0))
    >>> bool(abs(model.coef_[0] + 0.2) < 0.05), moments.released
    (True, True)
    """

    def __init__(
        self,
        bounds_X: Any,
        bounds_y: Any,
        max_rows: int,
        *,
        distribution: Distribution = "weibull",
        mechanism: Literal["laplace", "gaussian"] = "laplace",
        x_norm: float | None = None,
        max_sample_weight: float | Fraction | None = None,
        max_rows_per_group: int | None = None,
        feature_names: Sequence[str] | None = None,
        target: str | None = None,
        domain: TableDomain | None = None,
    ) -> None:
        if domain is not None:
            if not isinstance(domain, TableDomain):
                raise TypeError("domain must be a TableDomain or None.")
            if bounds_X is not None or feature_names is not None:
                raise ValueError("domain declares bounds and columns: leave bounds_X and feature_names None.")
            bounds_X, feature_names = domain.bounds, domain.names
        names = _check_names(feature_names, bounds_X, target)
        plan = AccumulatorPlan.of(
            bounds_X,
            bounds_y,
            max_rows,
            distribution=distribution,
            mechanism=mechanism,
            x_norm=x_norm,
            max_sample_weight=max_sample_weight,
            max_rows_per_group=max_rows_per_group,
            features=None if domain is not None else names,
            domain=domain,
        )
        self._start(plan, names, target)

    def _start(self, plan: AccumulatorPlan, names: tuple[str, ...] | None, target: str | None) -> None:
        # With one pair of bounds for all columns, the plan has one column until the first batch is added.
        self.plan = plan
        self.feature_names = names
        self.target = target
        self._start_empty(np.zeros((plan.grid.size, plan.grid.size), dtype=np.int64))

    @property
    def released_model(self) -> BaseLogLocationScale | None:
        """The model that `release` made, None before. An interrupt just before it returns loses nothing."""
        return self._result

    @redact_errors
    @refused_within_another
    def update(self, X: Any, y: Any = None, *, sample_weight: Any = None, batch_id: Any = None) -> Self:
        """Add the rows of a batch: all of them, or none if there is an error.

        Parameters
        ----------
        X : array-like of shape (n, n_features), data frame, or Arrow data
            Finite numbers. Data frames (pandas, polars) and objects with ``__arrow_c_stream__`` or
            ``__arrow_c_array__`` (pyarrow, DuckDB, ...) may hold the target too; the latter need pyarrow.
        y : array-like of shape (n,), default=None
            Target, fully observed. None: the column `target` of the batch.
        sample_weight : array-like of shape (n,), default=None
            Clipped to [0, max_sample_weight]. None: 1 for every row.
        batch_id : str or int, default=None
            Public name of the batch, so that it cannot be added twice. None: the batch may be passed again.

        Returns
        -------
        self : MomentAccumulator

        Raises
        ------
        ImportError
            Arrow data, and pyarrow is not installed.
        RuntimeError
            The moments were released.
        TypeError, ValueError
            The batch id was added before; there would be more than `max_rows` rows; columns are missing;
            values are not finite, no numbers, or times not above 0; or weights are passed without
            ``max_sample_weight``. In strict mode no value of a row is an error. Infinities and times not
            above 0 are put on the bounds, a missing value in their middle, and a missing weight is 0.
        """
        self._require_unreleased()
        batch = self._check_id(batch_id)
        if sample_weight is not None and self.plan.weights is None:
            raise ValueError("sample_weight needs a public cap, max_sample_weight.")
        if y is not None and is_structured(y):
            raise ValueError(
                "an accumulator takes no censored targets: their fit reads the rows several times. Pass "
                "observed values, or use fit."
            )
        if sample_weight is not None:
            strict = get_config()["strict"]
            sample_weight = np.atleast_1d(
                numbers_of(sample_weight, "sample_weight") if strict else sample_weight
            )
        domain = self.plan.domain
        names, pieces = iter_batches(X, y, features=self.feature_names, target=self.target, domain=domain)
        plan = self.plan if names is None or domain is not None else self.plan.for_columns(len(names))
        names = self._check_names_of(names, plan)
        plan, added, n_rows = self._sum(pieces, sample_weight, plan)
        self._add(self._sums_for(plan) + added, n_rows, batch, batch_id, plan=plan, feature_names=names)
        return self

    def _sum(
        self, pieces: Any, sample_weight: NDArray[Any] | None, plan: AccumulatorPlan
    ) -> tuple[AccumulatorPlan, IntArray | int, int]:
        """Return the plan for the columns, the moments of a batch, and the number of rows including it."""
        added: IntArray | int = 0
        first = n_rows = self._n_rows
        for piece, target in pieces:
            plan = plan.for_columns(piece.shape[1])
            here = slice(n_rows - first, n_rows - first + len(piece))
            n_rows = self._check_count(n_rows + len(piece))
            weights = None if sample_weight is None else sample_weight[here]
            added = added + plan.sum_rows(piece, target, weights)
        if sample_weight is not None and len(sample_weight) != n_rows - first:
            raise ValueError("sample_weight must hold one number per row.")
        return plan, added, n_rows

    def _sums_for(self, plan: AccumulatorPlan) -> IntArray:
        """Return the sums so far. Before the number of columns was known there were none."""
        gram = self._require_unreleased()
        if self.plan.columns_known:
            return gram
        return np.zeros((plan.grid.size, plan.grid.size), dtype=np.int64)

    def _join(self, other: Any) -> tuple[IntArray, dict[str, Any]]:
        # Both plans are for the number of columns, if one of the two has it.
        plan, its_plan = self.plan, other.plan
        if its_plan.columns_known:
            plan = plan.for_columns(its_plan.grid.n_features)
        if plan.columns_known:
            its_plan = its_plan.for_columns(plan.grid.n_features)
        if plan.to_dict() != its_plan.to_dict():
            raise ValueError("the accumulators have different parameters: their moments do not add up.")
        names = self._check_names_of(other.feature_names, plan)
        return self._sums_for(plan) + other._sums_for(plan), {"plan": plan, "feature_names": names}

    def _check_count(self, n_rows: int) -> int:
        if n_rows > self.plan.max_rows:
            raise ValueError("the rows would be more than max_rows, which the grid is made for.")
        return n_rows

    def _check_names_of(self, names: tuple[str, ...] | None, plan: AccumulatorPlan) -> tuple[str, ...] | None:
        """Return the names of the features: those known before or, if there are none, these."""
        if plan.domain is not None:
            return plan.domain.names
        if names is not None and len(names) != plan.grid.n_features:
            raise ValueError(
                f"the batch has {len(names)} columns of features and bounds_X {plan.grid.n_features}."
            )
        if self.feature_names is not None and names is not None and names != self.feature_names:
            raise ValueError("the columns are not those of the batches before.")
        return names if self.feature_names is None else self.feature_names

    @refused_within_another
    def release(self, estimator: Regressor) -> Regressor:
        """Fit an estimator to the rows so far, once. Then the moments are wiped.

        Parameters
        ----------
        estimator : DPLogLocationScaleRegressor or a preset
            It is unfitted; its parameters are the plan. ``bounds_X``, ``bounds_y`` and ``x_norm`` must be
            None or those given here.

        Returns
        -------
        fitted : estimator
            A fitted clone. Its ledger is charged before noise is drawn. If an interrupt ends the release,
            there are two cases. The moments may still exist, and a new release is charged again. Or they are
            wiped, and `released_model` is this model.

        Raises
        ------
        RuntimeError
            The moments were released.
        BudgetExceededError, LedgerError
            The ledger refused; the moments still exist.
        TypeError, ValueError
            The estimator does not agree with the accumulator; the moments still exist.
        """
        self._require_unreleased()
        fitted: Regressor = fit_accumulated(clone(estimator), self)
        self._wipe(fitted)
        return fitted

    @one_thread_at_a_time
    def to_bytes(self) -> bytes:
        """Return the accumulator as JSON. It holds exact sums over private rows: never publish it."""
        content = {
            "plan": self.plan.to_dict(),
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "target": self.target,
            "n_rows": self._n_rows,
            "gram": pack_integers(self._require_unreleased()),
            "batches": list(self.batch_ids),
        }
        return seal_document(_FORMAT, _VERSION, content)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore an accumulator from `to_bytes`.

        Parameters
        ----------
        data : bytes
            Nothing in it is executed or trusted.

        Returns
        -------
        accumulator : MomentAccumulator

        Raises
        ------
        TypeError
            `data` is not bytes.
        ValueError
            The bytes are damaged, foreign, or of another version.
        """
        return restore_in_silence(data, _FORMAT, _VERSION, _FIELDS, cls._from_dict, "bytes of an accumulator")

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> Self:
        fields = Fields(content, ("format", "version", *_FIELDS))
        sums = unpack_integers(fields.text("gram"), (-1,))
        # This is checked before a plan is made, or memory used, for so many columns.
        if len(sums) != (len(fields.mapping("plan")["grid"]["lower"]) + 2) ** 2:
            raise ValueError("the sums are not those of so many columns")
        plan = AccumulatorPlan.from_dict(fields.mapping("plan"))
        gram = sums.reshape(plan.grid.size, plan.grid.size)
        target = fields.maybe(fields.text, "target")
        names = _check_names(fields.maybe(fields.texts, "feature_names"), None, target)
        if plan.domain is not None:
            if names != plan.domain.names:
                raise ValueError("the names are not those of the domain")
        elif names is not None and len(names) != plan.grid.n_features:
            raise ValueError("the names are not as many as the features")
        n_rows, batches = fields.integer("n_rows", 0, plan.max_rows), fields.texts("batches")
        if batches != sorted(set(batches)):
            raise ValueError("the batches must be sorted, and all different")
        largest, total = n_rows * 4**plan.grid.exponent * plan.largest_weight, int(gram[0, 0])
        possible = total == largest if plan.weights is None else 0 <= total <= largest
        if not possible or (gram != gram.T).any() or (gram > total).any() or (gram < -total).any():
            raise ValueError("the sums are impossible")
        accumulator = cls.__new__(cls)
        accumulator._start(plan, names, target)
        accumulator._sums, accumulator._n_rows = gram, n_rows
        accumulator._batches = frozenset(batches)
        return accumulator

    def __repr__(self) -> str:
        end = ", released" if self.released else f", batches={len(self._batches)}"
        columns = self.plan.grid.n_features if self.plan.columns_known else "?"
        return f"MomentAccumulator(n_features={columns}, max_rows={self.plan.max_rows}{end})"


def _check_names(
    feature_names: Sequence[str] | None, bounds_X: Any, target: str | None
) -> tuple[str, ...] | None:
    """Return the names of the features, as given or those of the bounds; all of them differ."""
    if feature_names is None and isinstance(bounds_X, Mapping) and bounds_X:
        feature_names = list(bounds_X) if all(isinstance(name, str) for name in bounds_X) else None
    if isinstance(feature_names, str) or not (target is None or isinstance(target, str)):
        raise TypeError("feature_names must be a list of names, and target a name.")
    if target is not None:
        check_characters(target, "target")
    if feature_names is None:
        return None
    names = tuple(feature_names)
    if not names or not all(isinstance(name, str) for name in names) or len({*names, target}) <= len(names):
        raise ValueError("feature_names and target must be different names.")
    for name in names:
        check_characters(name, "a name of feature_names")
    return names


# Fit of an estimator to the moments: checks, charge, release, in this order.


def fit_accumulated(estimator: Any, moments: MomentAccumulator) -> Any:
    """Fit an unfitted clone to the moments of an accumulator, which stay as they are.

    The caller wipes them when it has the model: a refusal or an interrupt loses none.
    """
    if not isinstance(estimator, BaseLogLocationScale):
        raise TypeError(
            f"estimator must be a DPLogLocationScaleRegressor or a preset, not {type(estimator).__name__}."
        )
    estimator._validate_params()
    if estimator.scale_by is not None:
        raise ValueError(
            "a MomentAccumulator counts nothing by level: leave out scale_by, or use fit_rounds."
        )
    plan, grid = moments.plan, moments.plan.grid
    _check_agreement(estimator, plan, moments.feature_names)
    declared: dict[str, Any] = {"x_norm": grid.x_norm}
    for name, bounds in plan.declared_bounds.items():
        # The cost of the accumulator's estimated bounds is the cost of the estimator's, which are the same.
        if getattr(estimator, name) is None or name in plan.estimates:
            declared[name] = bounds
    if plan.max_rows_per_group is not None:
        declared["max_rows_per_group"] = plan.max_rows_per_group
    estimator.set_params(**declared)
    weights, grouped = plan.weights, plan.max_rows_per_group is not None
    task = estimator._resolve_task(
        (grid.lower, grid.upper),
        plan.bounds_y,
        None if grouped or weights is not None else moments._n_rows,
        grouped,
        plan.log_target,
        {},
        max_weight=None if weights is None else Fraction(weights.largest, 2**weights.bits),
    )
    estimator.announce_leaks([])
    entropy = check_entropy(estimator.random_state)
    release_plan = _plan_release(plan, task.neighbours, task.budget)
    spent = describe_moments(estimator, task, release_plan.unit, entropy.source)
    spent = spent.with_releases([release_plan.noise.describe("moments")])
    estimator.charge(spent)
    estimator.n_features_in_ = grid.n_features
    if moments.feature_names is not None:
        estimator.feature_names_in_ = np.array(moments.feature_names, dtype=object)
    estimator._name_columns()
    # It is a copy, for a release that is covered by the budget.
    gram = moments._require_unreleased().copy()
    adopt(estimator, release_plan.release(gram, entropy), grid, task, spent)
    estimator._after_release()
    return estimator


def _check_agreement(estimator: Any, plan: AccumulatorPlan, names: tuple[str, ...] | None) -> None:
    """Refuse an estimator whose parameters contradict those that the rows were scaled by."""
    if not plan.columns_known:
        raise ValueError(
            "there is nothing to release: no batch was added, and the number of columns is unknown."
        )
    grid = plan.grid
    if models_log_target(estimator.distribution) != plan.log_target:
        raise ValueError("the estimator's distribution and the accumulator's differ in whether y is a time.")
    if estimator.x_norm not in (None, grid.x_norm):
        raise ValueError("x_norm of the estimator must be None or that of the accumulator.")
    mechanism = resolve_mechanism(estimator.mechanism, estimator.delta)
    if grid.x_norm is not None and mechanism != plan.mechanism:
        delta = "delta=0" if plan.mechanism == "laplace" else "a delta above 0"
        raise ValueError(
            f"x_norm bounds another norm for {mechanism.capitalize()} noise: pass the estimator {delta}, or "
            f"make the accumulator with mechanism={mechanism!r}."
        )
    allowed = (1, plan.max_rows_per_group)
    if plan.max_rows_per_group is not None and estimator.max_rows_per_group not in allowed:
        raise ValueError("max_rows_per_group of the estimator must be 1 or that of the accumulator.")
    _check_bounds(estimator, plan, names)


def _check_bounds(estimator: Any, plan: AccumulatorPlan, names: tuple[str, ...] | None) -> None:
    grid = plan.grid
    two = estimator.bounds_X is not None and plan.domain is not None
    if two or estimator.domain not in (None, plan.domain):
        raise ValueError("domain of the estimator must be None or that of the accumulator.")
    if estimator.bounds_X is not None:
        bounds = check_bounds(estimator.bounds_X, grid.n_features, names, name="bounds_X")
        if not all(map(np.array_equal, bounds, (grid.lower, grid.upper))):
            raise ValueError("bounds_X of the estimator must be None or those of the accumulator.")
    if estimator.bounds_y is None:
        return
    if check_target_bounds(estimator.bounds_y, plan.log_target) != plan.bounds_y:
        raise ValueError("bounds_y of the estimator must be None or those of the accumulator.")


def _plan_release(plan: AccumulatorPlan, neighbours: Neighbours, budget: FitBudget) -> MomentPlan:
    """Plan the noise, and check that it fits 64-bit integers, before anything is charged."""
    try:
        release_plan = plan_moments(plan.grid, neighbours, budget, plan.weights.bits if plan.weights else 0)
        if release_plan.noise.scales.max() <= 2**SCALE_BITS:
            return release_plan
    except OverflowError:
        pass
    raise ValueError("epsilon is too small for an accumulator: the noise does not fit 64-bit integers.")
