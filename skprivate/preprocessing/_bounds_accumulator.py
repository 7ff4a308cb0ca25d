# SPDX-License-Identifier: BSD-3-Clause
"""Accumulator of the counts that private bounds are read from, batch by batch."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .._typing import CentralRelation, RandomSource
from ..accounting import EstimatedBounds, PrivacyLedger
from ..base import refuse_seed
from ..noise import check_entropy
from ..rounds._accumulator import PlanAccumulator
from ..rounds._reading.columns import TableColumns
from ..utils import check_epsilon, check_int
from ..utils._atomic_state import refused_within_another
from ..utils._compat import validate_parameter_constraints
from ..utils._private_fit import redact_errors
from ..utils._public_module import public_module
from ._estimate_bounds import CONSTRAINTS, BoundsPlan, bounds_schema, charge_of, plan_bounds

# As many rows as an exact count of them can be scaled for: 2^20 steps of each in 62 bits.
_MOST_ROWS = 2**42


@public_module("skprivate.preprocessing")
class BoundsAccumulator(PlanAccumulator):
    """Accumulates the counts by sign and power of two that bounds of columns are estimated from.

    Rows may come from files larger than memory, or from many workers: each fills an accumulator of the same
    columns, they are merged, and `release` estimates the bounds once, as `estimate_bounds` does of all rows
    together. For rows that one program can reach, `estimate_bounds` takes a `skprivate.rounds.TableSource`.

    Parameters
    ----------
    features : int or list of str
        Number of the columns, or their names in order.

    Attributes
    ----------
    batch_ids : tuple of str
        Ids of the batches that are in, sorted.
    released : bool
        Whether the counts were released, and wiped.

    See Also
    --------
    estimate_bounds : The same for rows in memory or in a source.

    Notes
    -----
    **Privacy.** As that of `estimate_bounds`, the unit being the row. The object and its bytes hold exact
    counts of private rows, until `release` wipes them: they stay within the trust boundary.

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
        # The cells alone matter: epsilon comes with the release.
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
        """Estimate the bounds of the rows so far, once; then the counts are wiped.

        Parameters
        ----------
        epsilon, ledger, coverage, relation, random_state
            As of `estimate_bounds`.

        Returns
        -------
        bounds : EstimatedBounds

        Raises
        ------
        RuntimeError
            The counts were released.
        BudgetExceededError, LedgerError
            The ledger refused; the counts are still there.
        TypeError, ValueError
            A parameter is out of range; the counts are still there.
        """
        self._require_unreleased()
        parameters: dict[str, Any] = {"epsilon": epsilon, "ledger": ledger, "coverage": coverage}
        parameters |= {"relation": relation, "random_state": random_state}
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
