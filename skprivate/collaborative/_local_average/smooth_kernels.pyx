# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian and Laplace averages: every row has a weight, but far blocks of rows no visible one.

Rows stand block by block, each the leaf of a kd-tree (see `build_tree`), so that a block lies in a small box.
A block is passed over where a mean does not change visibly without it.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, uintptr_t
from libc.stdlib cimport free, malloc

from .lanes cimport LANES, add_powers, distances, scale_row, total

cdef enum:
    # Queries that read a block in turn, while it is in the first cache.
    TILE = 64
    # The sums of a query: two times LANES.
    SUMS = 16
    # Bytes of a line of the cache, with which the scratch starts.
    LINE = 64

# Below this a sum of weights is no longer known to 2^-60, see `skp_power`.
cdef double SMALL = 2.0**-900
cdef double INFINITE = float("inf")
# The distance to a box and to a row at its edge are rounded otherwise: by far less than this.
cdef double SAFE = 1 - 1e-12


cdef struct Blocks:
    const double* columns
    const double* y
    const double* boxes
    const int32_t* feature
    const double* gap
    Py_ssize_t count
    Py_ssize_t size
    Py_ssize_t d
    # Whether weights fall with the squared distance, and how fast: 2^-(factor * distance).
    bint squared
    const double* factors
    Py_ssize_t n_factors
    # A block this many powers of two below one row is not seen.
    double invisible
    double* scratch


cdef struct Queries:
    Py_ssize_t count
    double* points
    # Per query and factor: the distance beyond which a block is not seen, and the sums.
    double* reach
    double* sums


def scale_rows(const double[:, ::1] X, const double[:, ::1] ranges, double[:, ::1] out):
    """Fill `out` with rows clipped and scaled to [0, 1]; `ranges`: lower, upper, a unit, width in units."""
    cdef Py_ssize_t i
    if X.shape[1] != ranges.shape[1]:
        raise ValueError
    with nogil:
        for i in range(X.shape[0]):
            scale_row(&X[i, 0], ranges, &out[i, 0])


cdef void measure(const Blocks* b, Py_ssize_t block, const double* point) noexcept nogil:
    """Fill the scratch with the distances, or their squares, from a block's rows."""
    distances(b.columns + block * b.d * b.size, b.size, b.d, point, not b.squared, b.scratch)


cdef double least_distance(const Blocks* b, Py_ssize_t block, const double* point) noexcept nogil:
    """Return the distance to the nearest row of a block; left in the scratch are the distances to all."""
    cdef Py_ssize_t i
    cdef double least = INFINITE
    measure(b, block, point)
    for i in range(b.size):
        least = min(least, b.scratch[i])
    return least


cdef inline double box_distance(const Blocks* b, Py_ssize_t block, const double* point) noexcept nogil:
    """Return the distance to the box around a block."""
    cdef const double* low = b.boxes + 2 * b.d * block
    cdef const double* high = low + b.d
    cdef Py_ssize_t j
    cdef double gap, total_squares = 0
    for j in range(b.d):
        gap = max(max(low[j] - point[j], point[j] - high[j]), 0.0)
        total_squares += gap * gap
    return SAFE * (total_squares if b.squared else sqrt(total_squares))


cdef Py_ssize_t block_around(const Blocks* b, const double* point) noexcept nogil:
    """Return the block in whose part of space a query lies."""
    cdef Py_ssize_t first = 0, last = b.count, mid
    while last - first > 1:
        mid = (first + last) // 2
        if point[b.feature[mid]] < b.gap[2 * mid + 1]:
            last = mid
        else:
            first = mid
    return first


cdef void begin(const Blocks* b, Queries* q) noexcept nogil:
    """Set the sums to 0, and every query's reach from a row near it, whose weight the sum exceeds."""
    cdef Py_ssize_t t, k
    cdef double near
    for k in range(q.count * b.n_factors * SUMS):
        q.sums[k] = 0
    for t in range(q.count):
        near = INFINITE
        if b.count > 1:
            near = least_distance(b, block_around(b, q.points + t * b.d), q.points + t * b.d)
        for k in range(b.n_factors):
            q.reach[t * b.n_factors + k] = near + b.invisible / b.factors[k]


cdef void add_blocks(const Blocks* b, Queries* q) noexcept nogil:
    cdef Py_ssize_t block, t, k, place
    cdef double distance
    cdef bint measured
    for block in range(b.count):
        for t in range(q.count):
            distance = box_distance(b, block, q.points + t * b.d) if b.count > 1 else 0
            measured = False
            for k in range(b.n_factors):
                place = t * b.n_factors + k
                if distance > q.reach[place]:
                    continue
                if not measured:
                    measure(b, block, q.points + t * b.d)
                    measured = True
                add_powers(b.scratch, b.y + block * b.size, b.size, -b.factors[k], q.sums + place * SUMS)


cdef void add_rescaled(const Blocks* b, const double* point, double factor, double* sums) noexcept nogil:
    """Sum with weights relative to the nearest row's, where all weights themselves underflow."""
    cdef Py_ssize_t block, i
    cdef double nearest = INFINITE
    for i in range(SUMS):
        sums[i] = 0
    for block in range(b.count):
        if box_distance(b, block, point) <= nearest:
            nearest = min(nearest, least_distance(b, block, point))
    for block in range(b.count):
        if box_distance(b, block, point) <= nearest + b.invisible / factor:
            measure(b, block, point)
            for i in range(b.size):
                b.scratch[i] -= nearest
            add_powers(b.scratch, b.y + block * b.size, b.size, -factor, sums)


cdef void answer(const Blocks* b, Queries* q, double* out) noexcept nogil:
    cdef Py_ssize_t place
    cdef double* sums
    begin(b, q)
    add_blocks(b, q)
    for place in range(q.count * b.n_factors):
        sums = q.sums + place * SUMS
        if total(sums + LANES) < SMALL:
            add_rescaled(b, q.points + place // b.n_factors * b.d, b.factors[place % b.n_factors], sums)
        out[place] = total(sums) / total(sums + LANES)


def smooth_averages(
    const double[:, ::1] X,
    const double[:, ::1] ranges,
    const double[:, :, ::1] columns,
    const double[:, ::1] y,
    const double[:, :, ::1] boxes,
    const int32_t[::1] feature,
    const double[:, ::1] gap,
    const double[::1] factors,
    bint squared,
    double invisible,
    double[:, ::1] values,
):
    """Fill `values[query, k]` with means of y, weights 2^(-factors[k] distance), of squared distances or not.

    Block by block: `columns` (block, column, row), filled up at infinity, `y`, and `boxes`, lowest and
    highest values of the columns; `feature` and `gap` as `build_tree` fills them. A block is passed over
    where each of its rows weighs less than 2^-invisible of another row.
    """
    cdef Py_ssize_t first, t, d = columns.shape[1], size = columns.shape[2], n_factors = factors.shape[0]
    cdef Py_ssize_t tile = min(X.shape[0], <Py_ssize_t>TILE)
    cdef Blocks b
    cdef Queries q
    cdef void* memory
    if X.shape[1] != d:
        raise ValueError
    memory = malloc((size + tile * (d + n_factors * (1 + SUMS))) * sizeof(double) + LINE)
    if memory == NULL:
        raise MemoryError
    b.scratch = <double*>((<uintptr_t>memory + LINE) & ~<uintptr_t>(LINE - 1))
    b.columns = &columns[0, 0, 0]
    b.y = &y[0, 0]
    b.boxes = &boxes[0, 0, 0]
    b.feature = &feature[0]
    b.gap = &gap[0, 0]
    b.count = columns.shape[0]
    b.size = size
    b.d = d
    b.squared = squared
    b.factors = &factors[0]
    b.n_factors = n_factors
    b.invisible = invisible
    q.points = b.scratch + size
    q.reach = q.points + tile * d
    q.sums = q.reach + tile * n_factors
    with nogil:
        for first in range(0, X.shape[0], 64):  # TILE
            q.count = min(<Py_ssize_t>TILE, X.shape[0] - first)
            for t in range(q.count):
                scale_row(&X[first + t, 0], ranges, q.points + t * d)
            answer(&b, &q, &values[first, 0])
        free(memory)
