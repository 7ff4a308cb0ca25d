# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions and warnings of skprivate.

Every exception takes one message and survives pickling, so that it reaches the user from a worker process.
"""

__all__ = [
    "BudgetExceededError",
    "ConsentError",
    "DisclosureWarning",
    "LedgerError",
    "PrivacyLeakError",
    "PrivacyLeakWarning",
    "PrivacyUnboundedError",
    "PrivateSearchError",
    "SiteError",
    "SiteWarning",
    "UtilityWarning",
]


class PrivacyLeakWarning(UserWarning):
    """A fit is not private by accident, and its result is recorded as not private.

    It read bounds or classes from private rows, or a meta-estimator seeded its noise.
    """


class UtilityWarning(UserWarning):
    """By released and public values, something is probably declared wrongly, or the noise hides the result.

    Its sentences name the likely mistake first: the spelling of classes, the unit of bounds, the format of
    columns. The noise comes last.

    After a private release it is shown even if a filter turns warnings into errors: an error would lose the
    release that was charged.
    """


class DisclosureWarning(UserWarning):
    """A protection does less than promised: too few parties, a narrow window, a size that stands out."""


class SiteWarning(UserWarning):
    """A site of a collaborative platform failed and was left out of a prediction."""


class SiteError(RuntimeError):
    """A site of a collaborative platform failed; the message names the site and the kind of the failure."""


class ConsentError(ValueError):
    """A message is missing, altered, replayed, of another query or without consent: nothing is decrypted."""


class PrivacyLeakError(ValueError):
    """A fit in strict mode would have read private rows or seeded its noise, or a client sent features."""


class PrivacyUnboundedError(PrivacyLeakError):
    """No finite guarantee holds for a release: nothing bounds its sensitivity."""


class PrivateSearchError(RuntimeError):
    """A run of a private search failed: nothing is released, and the charge stays.

    The error names the type of the cause. It holds the message of the cause if this package wrote it, since
    such messages hold no private value.
    """


class BudgetExceededError(ValueError):
    """A charge would exceed the ceiling of a `PrivacyLedger`, or too many fits failed. Nothing was spent."""


class LedgerError(RuntimeError):
    """The file behind a `PrivacyLedger` is missing, moved, copied, damaged, older, read-only or another's."""
