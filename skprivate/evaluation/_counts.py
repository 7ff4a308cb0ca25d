# SPDX-License-Identifier: BSD-3-Clause
"""Release of tables of counts that count a row once each: plan, charge, noise."""

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from .._typing import CentralRelation, FloatArray, IntArray, RandomSource
from ..accounting import PrivacyLedger, PrivacySpent, ReleaseRecord
from ..base import SHARED_CONSTRAINTS, claim_of
from ..base._mixin import warn_of_delta
from ..noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism, check_entropy
from ..noise._mechanisms import resolve_mechanism
from ..rounds._driver import Round, Rounds, drive, open_record
from ..rounds._plans.descriptions import DescriptionPlan
from ..rounds._sources import SourceRun
from ..utils import check_epsilon, check_probability
from ..utils._arguments import KEY_BYTES, RowUnits
from ..utils._compat import Interval, StrOptions
from ..utils._json_documents import canonical

#: Binary digits below one row in which noise is drawn. Its scale is a whole number of steps, rounded up by
#: less than a thousandth of a row.
DIGITS = 10

#: Constraints of the parameters that every release of counts takes.
COUNT_CONSTRAINTS: dict[str, list[Any]] = {
    **SHARED_CONSTRAINTS,
    "delta": [Fraction, Interval(Real, 0, 1, closed="left")],
    "mechanism": [StrOptions({"auto", "laplace", "gaussian"})],
    "relation": [StrOptions({"replace-one", "add-remove"})],
}


@dataclass(frozen=True)
class CountsNoise:
    """Noise of tables of counts: public, made before rows are read.

    Attributes
    ----------
    weights : tuple of int
        For every table, by how much a row counts in it, in steps of ``2**-DIGITS``. A row is in one cell of
        each. A table that is one level of several has a smaller weight, and so more noise for a row.
    rows_per_unit : int
        Rows of one person that count; 1 if the unit is the row.
    relation : {"replace-one", "add-remove"}
    mechanism : DiscreteLaplaceMechanism or DiscreteGaussianMechanism
        Noise of a count times its weight, in steps.
    epsilon, delta : Fraction
        What the release of all tables spends.

    Notes
    -----
    **Privacy.** Replacing a row takes 1 from one cell of a table and adds 1 to another, or changes nothing.
    This is at most 2 in L1 and 2 in squared L2 per table. Adding or removing it changes one cell by 1. If up
    to k rows of a person are replaced by up to k others, a table changes by at most 2 k in L1. In squared L2
    it changes by at most 2 k^2, which is reached if all are in one cell before and in one after. If they are
    only removed, the figures are k and k^2. A weight of w multiplies these figures by w and by w^2, and those
    of the tables add up.
    """

    weights: tuple[int, ...]
    rows_per_unit: int
    relation: CentralRelation
    mechanism: DiscreteLaplaceMechanism | DiscreteGaussianMechanism
    epsilon: Fraction
    delta: Fraction

    @property
    def name(self) -> str:
        """ "laplace" or "gaussian"."""
        return "laplace" if isinstance(self.mechanism, DiscreteLaplaceMechanism) else "gaussian"

    @property
    def std(self) -> float:
        """Standard deviation of the noise of a count in a table without levels, in rows."""
        return float(np.sqrt(self.mechanism.variance)) / 2**DIGITS

    @property
    def stds(self) -> list[float]:
        """Standard deviation of the noise of a count, in rows, of every table."""
        return [self.std * 2**DIGITS / weight for weight in self.weights]

    def draw(self, shape: tuple[int, ...], random_state: Any) -> FloatArray:
        """Draw noise of counts, in rows. It is for intervals that replay it, not for a release."""
        return self.mechanism.randomize(np.zeros(shape, dtype=np.int64), random_state) / 2.0**DIGITS

    def randomize(self, counts: IntArray, entropy: Any, weights: Any = 2**DIGITS) -> FloatArray:
        """Return noisy counts, in rows, of cells with these weights."""
        return self.mechanism.randomize(counts * weights, entropy) / np.asarray(weights, dtype=np.float64)

    def describe(self, what: str, grouped: bool, source: Any, **more: Any) -> PrivacySpent:
        """Return what the release spends and claims; `what` names the counts."""
        amounts: dict[str, Any]
        if isinstance(self.mechanism, DiscreteGaussianMechanism):
            kind, amounts = "Gaussian", {"rho": self.mechanism.rho, "noise_scale": self.mechanism.sigma}
        else:
            kind = "Laplace"
            amounts = {"sensitivity": self.mechanism.sensitivity, "noise_scale": self.mechanism.scale}
        return PrivacySpent(
            releases=(ReleaseRecord.of(what, self.mechanism),),
            mechanism=f"discrete {kind} noise on {what}",
            epsilon=self.epsilon,
            delta=self.delta,
            **amounts,
            relation=self.relation,
            unit="group" if grouped else "row",
            max_rows_per_unit=self.rows_per_unit,
            noise_source=source,
            deployment="curator",
            **more,
        )


def level_shares(n_levels: int) -> list[Fraction]:
    """Return the shares of the levels of a table in its budget: the first has twice that of the others.

    The noise of means depends on the first level. Quantiles would be best with equal shares, and lose little.
    """
    parts = [2, *[1] * (n_levels - 1)]
    return [Fraction(part, sum(parts)) for part in parts]


def plan_noise(
    n_tables: int | Sequence[int],
    epsilon: Any,
    delta: Any = 0,
    mechanism: str = "auto",
    relation: CentralRelation = "replace-one",
    rows_per_unit: int = 1,
) -> CountsNoise:
    """Return the noise of some tables; "auto" takes the one with the smaller variance.

    All tables have equal shares of the budget. An entry of a sequence is the number of levels of a table.
    Each level is released as a table of its own, with a part of that share.

    Raises
    ------
    ValueError
        The delta does not fit the mechanism, or no noise is fine or wide enough for the budget.
    """
    request, probability = check_epsilon(epsilon), check_probability(delta, "delta")
    resolve_mechanism(mechanism, probability)
    ends = 2 if relation == "replace-one" else 1
    levels = [1] * n_tables if isinstance(n_tables, int) else n_tables
    shares = [share for one in levels for share in level_shares(one)]
    found: list[CountsNoise] = []
    if mechanism != "gaussian":
        # Shares of epsilon are proportional to the weights, those of rho to their squares.
        weights = tuple(int(share * 2**DIGITS) for share in shares)
        laplace = DiscreteLaplaceMechanism(request, ends * rows_per_unit * sum(weights))
        found.append(CountsNoise(weights, rows_per_unit, relation, laplace, laplace.epsilon, Fraction(0)))
    if mechanism != "laplace" and probability:
        weights = tuple(math.isqrt(int(share * 4**DIGITS)) for share in shares)
        squared = ends * rows_per_unit**2 * sum(weight**2 for weight in weights)
        gaussian = DiscreteGaussianMechanism(epsilon=request, delta=probability, squared_sensitivity=squared)
        if gaussian.epsilon is None:
            raise RuntimeError("a mechanism that was asked for by epsilon has one.")
        found.append(CountsNoise(weights, rows_per_unit, relation, gaussian, gaussian.epsilon, probability))
    return min(found, key=lambda noise: noise.std)


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """What `release_counts` returns: released values and public facts.

    Attributes
    ----------
    tables : list of ndarray of float64 of shape (n_cells,)
        Noisy counts, in rows; they may be negative.
    n_rows : int or None
        The number of rows that were counted; None if it is not public (relation "add-remove", or groups).
    noise : CountsNoise
    spent : PrivacySpent
    """

    tables: list[FloatArray] = field(repr=False)
    n_rows: int | None
    noise: CountsNoise
    spent: PrivacySpent


def release_counts(
    codes: Sequence[IntArray],
    sizes: Sequence[int],
    noise: CountsNoise,
    *,
    name: str,
    what: str,
    units: RowUnits | None = None,
    ledger: PrivacyLedger | None = None,
    random_state: RandomSource = None,
    **more: Any,
) -> NoisyTables:
    """Charge for tables of counts, then release them with noise.

    Parameters
    ----------
    codes : sequence of ndarray of int of shape (n_rows,)
        For every table, the cell of every row, from 0 to size - 1. It depends on that row alone.
    sizes : sequence of int
        Numbers of cells.
    noise : CountsNoise
        From `plan_noise`, for ``len(codes)`` tables. A level counts as a table.
    name : str
        The name of the function in the ledger.
    what : str
        The name of the counts in the statement.
    units : RowUnits, default=None
        Persons of the rows, from `number_units`. At most ``noise.rows_per_unit`` rows of each are counted,
        drawn at random. None: the unit is the row.
    ledger : PrivacyLedger, default=None
        Charged before the noise is drawn.
    random_state : None, int, RandomState or Generator
    **more
        Fields of `PrivacySpent`: ``public_inputs``, ``unprotected``.

    Returns
    -------
    released : NoisyTables

    Raises
    ------
    BudgetExceededError, LedgerError
        The ledger refuses the charge. Nothing was drawn.

    Warns
    -----
    UserWarning
        Delta is not below 1 / n, and n is public. It comes before the charge.
    """
    if not len(codes) == len(sizes) == len(noise.weights):
        raise RuntimeError("the noise was planned for another number of tables.")
    entropy = check_entropy(random_state)
    n_rows: int | None = len(codes[0])
    if units is not None:
        kept = units.choose_rows(noise.rows_per_unit, entropy.random_bytes(KEY_BYTES))
        codes = [column[kept] for column in codes]
    counts = [
        np.bincount(column, minlength=size).astype(np.int64)
        for column, size in zip(codes, sizes, strict=True)
    ]
    if any(len(table) != size for table, size in zip(counts, sizes, strict=True)):
        raise RuntimeError("a row is in no cell of its table.")
    if units is not None or noise.relation == "add-remove":
        n_rows = None
    spent = noise.describe(what, units is not None, entropy.source, **claim_of((), entropy.source), **more)
    warn_of_delta(spent)
    if ledger is not None:
        ledger.charge(spent, estimator=name)
    noisy = noise.randomize(np.concatenate(counts), entropy, np.repeat(noise.weights, sizes))
    return NoisyTables(np.split(noisy, np.cumsum(sizes)[:-1]), n_rows, noise, spent)


@dataclass(frozen=True, eq=False)
class _WeighedNoise:
    """Noise of counts times their weights, in steps."""

    noise: CountsNoise
    weights: IntArray

    def randomize(self, values: IntArray, entropy: Any) -> IntArray:
        return self.noise.mechanism.randomize(values * self.weights, entropy)


def release_sums(
    plan: DescriptionPlan,
    open_run: Callable[[str], SourceRun],
    noise: CountsNoise,
    *,
    entropy: Any,
    name: str,
    what: str,
    ledger: PrivacyLedger | None,
    checkpoint: str | os.PathLike[str] | None,
    **more: Any,
) -> NoisyTables:
    """Charge for and release counts as `release_counts` does, of tables that are read after the charge.

    Parameters
    ----------
    plan : DescriptionPlan
    open_run : callable
        Returns the source of the sums for the id of a run.
    noise : CountsNoise
        From `plan_noise`, for the tables of the plan.
    entropy : Entropy
    name, what, ledger, **more
        As in `release_counts`.
    checkpoint : path-like or None
        File from which a stopped release continues without a second charge.

    Returns
    -------
    released : NoisyTables
    """
    spent = noise.describe(what, False, entropy.source, **claim_of((), entropy.source), **more)
    warn_of_delta(spent)
    weights = np.repeat(noise.weights, plan.sizes)

    def rounds() -> Rounds[IntArray]:
        return (yield Round(plan, _WeighedNoise(noise, weights), spent))

    def charge(spent: PrivacySpent, **charge_id: Any) -> None:
        if ledger is not None:
            ledger.charge(spent, estimator=name, **charge_id)

    facts = {"plan": plan.to_dict(), "spent": repr(spent)}
    with open_record(checkpoint, hashlib.sha256(canonical(facts)).hexdigest()) as record:
        record.begin(b"")
        run = open_run(record.run)
        noisy = drive(rounds(), run, entropy, charge, record) / weights
        run.finish(record)
    n_rows = more["unprotected"].get("n_rows")
    return NoisyTables(np.split(noisy, np.cumsum(plan.sizes)[:-1]), n_rows, noise, spent)
