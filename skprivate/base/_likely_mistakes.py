# SPDX-License-Identifier: BSD-3-Clause
"""What users are told after a fit about mistakes that released values suggest.

Every function takes released values and public facts alone, and returns a sentence or None.
"""

from ..exceptions import UtilityWarning
from ..utils._user_frame import warn_after_release

# Values of y at both ends of bounds_y

# Of all values, so many make a pile at a bound: with another unit nearly all of them are there.
_NEARLY_ALL = 0.9
# A mean so near to a bound, in half-widths of the bounds, says the same: of values that are spread between
# the bounds one in a hundred would be. Or within two standard deviations of its noise, where these are no
# more than a tenth: nine values in ten are then at the bound, if the others are spread.
_NEAR, _NEAR_AT_MOST = 0.01, 1.0 - _NEARLY_ALL

_UNIT = (
    "by the released values, nearly all values of y lie at the {} bound of bounds_y or beyond it: is y in "
    "another unit than bounds_y?"
)


def warn_of_mistake(model: object, reason: str | None) -> None:
    """Warn of a reason, if there is one; after a release, so never an error."""
    if reason:
        warn_after_release(f"{type(model).__name__}: {reason}", UtilityWarning)


def count_at_a_bound(below: float, above: float, n: float) -> str | None:
    """Return what counts of values beyond the bounds suggest.

    Parameters
    ----------
    below, above : float
        Released numbers of values beyond the lower and the upper bound.
    n : float
        Number of values, at least 1.

    Examples
    --------
    >>> from skprivate.base._likely_mistakes import count_at_a_bound
    >>> count_at_a_bound(40.0, 3.0, 1000.0) is None
    True
    >>> count_at_a_bound(0.0, 998.0, 1000.0)[24:69]
    'nearly all values of y lie at the upper bound'
    """
    shares = {"lower": below / n, "upper": above / n}
    return next((_UNIT.format(end) for end, share in shares.items() if share > _NEARLY_ALL), None)


def mean_at_a_bound(mean: float, noise_std: float, bounds: tuple[float, float]) -> str | None:
    """Return what the mean of values that were clipped to their bounds suggests.

    Parameters
    ----------
    mean : float
        Released.
    noise_std : float
        Standard deviation of its noise.
    bounds : tuple of two floats
        Of the values, in the same unit. Zeros may be many: nothing is said of a mean at a lower bound of 0.

    Examples
    --------
    >>> from skprivate.base._likely_mistakes import mean_at_a_bound
    >>> [mean_at_a_bound(mean, 0.001, (0.0, 10.0)) is None for mean in (0.0, 5.0, 9.9, 10.0)]
    [True, True, True, False]
    """
    low, high = bounds
    half = high / 2 - low / 2
    reach = half * _NEAR if half * _NEAR > 2.0 * noise_std else 2.0 * noise_std
    if reach > _NEAR_AT_MOST * half:
        return None
    if mean > high - reach:
        return _UNIT.format("upper")
    return _UNIT.format("lower") if low != 0 and mean < low + reach else None
