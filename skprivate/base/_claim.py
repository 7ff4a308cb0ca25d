# SPDX-License-Identifier: BSD-3-Clause
"""Whether a release may claim differential privacy, and the refusal of seeds in strict mode."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, TypedDict

from .. import _config
from .._typing import Claim
from ..accounting import PrivacySpent
from ..accounting._statements.estimated_bounds import reasons_of_inputs
from ..exceptions import PrivacyLeakError
from ..noise._fit_budget import warn_of_large_delta

UNSEEDED = (
    "Leave it None; in a test or a simulation declare that with skprivate.config_context(allow_seeds=True)."
)


class ClaimArguments(TypedDict):
    """The two arguments of `PrivacySpent` that say what is claimed, and why not more."""

    claim: Claim
    reasons: tuple[str, ...]


def claim_of(
    leaks: Iterable[str], source: str, estimator: Any = None, inputs: Iterable[str] = ()
) -> ClaimArguments:
    """Return what a release may claim, in the form that `PrivacySpent` takes.

    Parameters
    ----------
    leaks : iterable of str
        What was read from private rows without payment; the same as passed to
        `PrivateEstimatorMixin.announce_leaks`.
    source : str
        ``source`` of the entropy that the noise is drawn from; "seeded" is not private.
    estimator : estimator, default=None
        Whose parameters may hold bounds that `estimate_bounds` returned.
    inputs : iterable of str, default=()
        Names of these parameters.

    Returns
    -------
    claim : dict
        ``claim`` ("dp" without a reason against it, otherwise "not-private") and ``reasons``, to be passed as
        ``PrivacySpent(..., **claim_of(leaks, entropy.source))``.

    Notes
    -----
    **Privacy.** The claim is a function of parameters and of the kind of the noise's source. It tells nothing
    about rows, and it does not check the leaks that it is given.

    Examples
    --------
    >>> from skprivate.base import claim_of
    >>> claim_of([], "os-entropy")
    {'claim': 'dp', 'reasons': ()}
    >>> claim_of(["the bounds were read from private rows"], "os-entropy")["claim"]
    'not-private'
    """
    seeded = ("random_state is seeded: who knows the seed can undo the noise",) if source == "seeded" else ()
    reasons = (*leaks, *seeded, *reasons_of_inputs(estimator, inputs))
    return {"claim": "not-private" if reasons else "dp", "reasons": reasons}


def warn_of_delta(spent: PrivacySpent) -> None:
    """Warn before a charge where delta is not below 1 / n, and the statement shows n: where n is public."""
    # A statement names the number of units, or that of the rows that they may hold together.
    of_units, of_rows = ("groups", "private groups"), ("rows", "private rows", "n_rows")
    for name in (*of_units, *of_rows):
        count = spent.unprotected.get(name)
        if isinstance(count, Integral):
            n_units = int(count) if name in of_units else int(count) // spent.max_rows_per_unit
            warn_of_large_delta(spent.delta, n_units, spent.unit)
            break


def refuse_seed(random_state: Any, name: str) -> None:
    """Refuse seeded noise in strict mode, unless seeds are declared to be allowed.

    It is for functions that draw noise; estimators call `PrivateEstimatorMixin.announce_leaks`.

    Parameters
    ----------
    random_state : None, int, RandomState or Generator
        None: there is no seed.
    name : str
        The function that the user called, for the message.

    Raises
    ------
    PrivacyLeakError
        Strict mode is on, seeds are not allowed, and there is one.

    Notes
    -----
    **Privacy.** Who knows a seed can subtract the noise. The check looks at the parameter alone.

    Examples
    --------
    >>> import skprivate
    >>> from skprivate.base import refuse_seed
    >>> with skprivate.config_context(strict=True):
    ...     refuse_seed(0, "mean")
    Traceback (most recent call last):
    skprivate.exceptions.PrivacyLeakError: mean is not private: its noise is seeded by random_state. ...
    """
    config = _config.get_config()
    if random_state is not None and config["strict"] and not config["allow_seeds"]:
        raise PrivacyLeakError(f"{name} is not private: its noise is seeded by random_state. {UNSEEDED}")
