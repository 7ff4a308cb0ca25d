# SPDX-License-Identifier: BSD-3-Clause
"""The digest of a query, which every mask, seal, tag and answer is bound to.

The encoding that is hashed is a sequence of byte strings, each behind its length in 8 bytes (big-endian):

1. the domain and version of the encoding, `_DOMAIN`;
2. the query id, 16 bytes;
3. the roster that is asked: empty, or 32 bytes;
4. the shape: two whole numbers of 8 bytes (big-endian);
5. ``names``, and then one string per column, its name in UTF-8; or ``no names``;
6. ``<f8``, and then one string with all rows, row by row, as little-endian doubles bit for bit; or
   ``cells``, and then one string per cell, row by row, whose first byte tells its kind: ``N`` None, ``M``
   missing (NaN), ``B`` a truth value, ``I`` a whole number in decimal digits, ``F`` a double in
   little-endian order, ``S`` text in UTF-8.

**Proof that it is injective.** A sequence of strings behind their lengths is read back in one way. The
strings 1 to 4 are at fixed places and give the number of columns; the fifth says whether so many names
follow; the next says whether one string of rows follows or as many cells as the shape has. Each string is an
injective encoding of its part: doubles go bit for bit, so that -0.0 is not 0.0, and 1, 1.0 and True have
other first bytes; UTF-8 without surrogates is injective, and a NUL is a character as any other. The lengths
are those of whole strings, so that no text can look like two. Hence two queries of one encoding have the same
id, roster, shape, names and cells; SHA-256 is taken to be free of collisions.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DOMAIN = b"skprivate query digest 1"
_KINDS = {type(None): b"N", bool: b"B", int: b"I", float: b"F", str: b"S"}


def query_digest(
    query_id: bytes, X: NDArray[Any] | Sequence[Sequence[Any]], names: Sequence[str] | None, roster: bytes
) -> bytes:
    """Return the digest of a query, the same at every party that was asked the same.

    Parameters
    ----------
    query_id : bytes of length 16
    X : ndarray of float64 of shape (n_queries, n_features), or as many lists of cells
        Cells are None, bool, int, float or str.
    names : sequence of str, or None
        Names of the columns.
    roster : bytes
        Digest of who is asked; empty where the query does not say it.

    Returns
    -------
    digest : bytes of length 32

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.collaborative._protocols.query_digest import query_digest
    >>> one, other = (query_digest(bytes(16), np.array([[zero]]), None, b"") for zero in (0.0, -0.0))
    >>> len(one), one == other
    (32, False)
    """
    found = hashlib.sha256()
    for part in _parts(query_id, X, names, roster):
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()


def _parts(query_id: bytes, X: Any, names: Sequence[str] | None, roster: bytes) -> Iterator[bytes]:
    yield from (_DOMAIN, query_id, roster, struct.pack(">QQ", len(X), len(X[0])))
    yield b"no names" if names is None else b"names"
    yield from (name.encode() for name in names or ())
    if isinstance(X, np.ndarray):
        yield from (b"<f8", X.astype("<f8").tobytes())
        return
    yield b"cells"
    yield from (_cell(cell) for row in X for cell in row)


def _cell(cell: Any) -> bytes:
    if cell != cell:
        return b"M"
    content = struct.pack("<d", cell) if type(cell) is float else "" if cell is None else str(cell)
    return _KINDS[type(cell)] + (content.encode() if isinstance(content, str) else content)
