# SPDX-License-Identifier: BSD-3-Clause
"""Columns that a tree compares, derived from encoded rows."""

from libc.stdint cimport int32_t

cdef enum:
    VALUE = 0
    FILLED = 1


cdef inline double place_of_level(
    const double* x, int32_t n_levels, bint missing, const double* places
) noexcept nogil:
    """Return the place of the first level of the row; the places of missing and absent follow the levels."""
    cdef int32_t level
    if missing:
        return places[n_levels]
    for level in range(n_levels):
        if x[level] > 0.5:
            return places[level]
    return places[n_levels + 1]


def derive_rows(
    const double[:, ::1] X,
    const int32_t[::1] kind,
    const int32_t[::1] first,
    const int32_t[::1] n_levels,
    const int32_t[::1] indicator,
    const int32_t[::1] offset,
    const double[::1] numbers,
    double[:, ::1] out,
):
    """Fill `out` with the derived columns of every row.

    Kind 0 is column `first` without a change. Kind 1 is that column clipped to `numbers[offset + 1]` and
    `numbers[offset + 2]` (NaN to the first), or `numbers[offset]` if the indicator is 1. Kind 2 is the place
    of the level whose column, from `first` on, is 1. The places of `n_levels` levels, of a missing cell, and
    of a row without a level start at `numbers[offset]`. An indicator of -1 is never 1.
    """
    cdef Py_ssize_t i, j
    cdef const double* x
    cdef const double* about
    cdef double value
    cdef bint missing
    with nogil:
        for i in range(X.shape[0]):
            for j in range(kind.shape[0]):
                x = &X[i, first[j]]
                if kind[j] == VALUE:
                    out[i, j] = x[0]
                    continue
                about = &numbers[offset[j]]
                missing = indicator[j] >= 0 and X[i, indicator[j]] > 0.5
                if kind[j] == FILLED:
                    value = x[0] if x[0] > about[1] else about[1]
                    value = value if value < about[2] else about[2]
                    out[i, j] = about[0] if missing else value
                else:
                    out[i, j] = place_of_level(x, n_levels[j], missing, about)
