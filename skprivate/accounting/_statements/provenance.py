# SPDX-License-Identifier: BSD-3-Clause
"""Where a statement comes from: the package that made it, and an audit that was run against it."""

import functools
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, cast

from ...utils import check_positive, check_probability
from ...utils._public_module import public_module
from .._checks import check_text
from .plain_values import decode_amount, encode_amount
from .text import describe_audit, describe_package

_SOURCES = {".py", ".pyx", ".pxd"}
_KERNELS = {".so", ".pyd"}


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """A lower bound on epsilon that an audit found, with the confidence at which it holds.

    Parameters
    ----------
    lower_bound : float or Fraction
        At least 0: of the run's epsilon, at its delta.
    confidence : float or Fraction
        In (0, 1): with this probability over the audit's draws the bound is right.
    method : str
        How it was found: attack, number of trials, what was held fixed.

    Raises
    ------
    TypeError, ValueError
        If a field is of another type or out of its range.

    See Also
    --------
    PrivacySpent.with_audit : Attach it to what was spent.

    Notes
    -----
    **Privacy**: an audit says that the loss is at least so much. It never shows that it is at most what is
    claimed, and covers the mechanism and the inputs that were audited, not this very run.

    Examples
    --------
    >>> from skprivate.accounting import AuditRecord
    >>> print(AuditRecord(lower_bound=0.75, confidence=0.999, method="fixed event, 10000 trials per side"))
    audited at >= 0.75 (confidence 0.999; fixed event, 10000 trials per side)
    """

    lower_bound: Fraction
    confidence: Fraction
    method: str

    def __post_init__(self) -> None:
        bound = self.lower_bound
        nothing = not isinstance(bound, bool) and bound == 0
        object.__setattr__(
            self, "lower_bound", Fraction(0) if nothing else check_positive(bound, "lower_bound")
        )
        object.__setattr__(self, "confidence", check_probability(self.confidence, "confidence"))
        if not self.confidence:
            raise ValueError("confidence must be above 0 and below 1.")
        check_text(self.method, "method")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values that `json` writes."""
        amounts = {name: encode_amount(getattr(self, name)) for name in ("lower_bound", "confidence")}
        return {**amounts, "method": self.method}

    @classmethod
    def from_dict(cls, audit: Mapping[str, Any]) -> Self:
        """Read `to_dict` back."""
        bound, confidence = (
            cast(Fraction, decode_amount(audit[name])) for name in ("lower_bound", "confidence")
        )
        return cls(lower_bound=bound, confidence=confidence, method=audit["method"])

    def __str__(self) -> str:
        return describe_audit(self.to_dict())


@public_module("skprivate.accounting")
@dataclass(frozen=True, kw_only=True)
class PackageRecord:
    """Name, version and fingerprints of the package that made a statement.

    Two people who see the same fingerprint of the sources had the same Python and Cython files on disk; the
    fingerprint of the kernels differs between machines and compilers. Both are of the files as they were when
    a process first asked. They are no signature: whoever changes a statement can change them too, and they do
    not cover Python, NumPy, SciPy, scikit-learn or the operating system.

    Parameters
    ----------
    name, version : str
        Of the package.
    sha256_sources : str
        SHA-256, hexadecimal, over name and content of every .py, .pyx and .pxd file of the package, in the
        order of their names.
    sha256_kernels : str
        The same over the compiled extension modules.

    Raises
    ------
    TypeError, ValueError
        If a field is no text, or empty.

    Notes
    -----
    **Privacy**: a function of the package's files alone.

    Examples
    --------
    >>> from skprivate.accounting import PackageRecord
    >>> package = PackageRecord.current()
    >>> package.name, len(package.sha256_sources)
    ('skprivate', 64)
    """

    name: str
    version: str
    sha256_sources: str
    sha256_kernels: str = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("name", "version", "sha256_sources", "sha256_kernels"):
            check_text(getattr(self, name), name)

    @staticmethod
    def current() -> "PackageRecord":
        """Return the record of the package that runs; the files are read once per process.

        Returns
        -------
        package : PackageRecord
        """
        return _current()

    def to_dict(self) -> dict[str, str]:
        """Return the fields as plain values that `json` writes."""
        return asdict(self)

    @classmethod
    def from_dict(cls, package: Mapping[str, str]) -> Self:
        """Read `to_dict` back."""
        return cls(**package)

    def __str__(self) -> str:
        return describe_package(self.to_dict())


@functools.cache
def _current() -> PackageRecord:
    from ... import __file__ as found
    from ... import __version__

    top = Path(found).parent
    return PackageRecord(
        name=top.name,
        version=__version__,
        sha256_sources=fingerprint(top, _SOURCES),
        sha256_kernels=fingerprint(top, _KERNELS),
    )


def fingerprint(top: Path, suffixes: Iterable[str]) -> str:
    """SHA-256 over the names and contents of the files with these suffixes below a folder."""
    found = {path.relative_to(top).as_posix(): path for path in top.rglob("*") if path.suffix in suffixes}
    total = hashlib.sha256()
    for name in sorted(found):
        # A digest of fixed length per part: no two sets of files give the same text.
        for part in (name.encode(), found[name].read_bytes()):
            total.update(hashlib.sha256(part).digest())
    return total.hexdigest()
