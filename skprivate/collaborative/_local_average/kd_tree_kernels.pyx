# SPDX-License-Identifier: BSD-3-Clause
"""A balanced kd-tree whose rows stand leaf by leaf; nearest rows, and averages over balls.

The tree over leaves a, ..., b - 1 splits before leaf (a + b) / 2, and the number of that leaf is the number
of the split: no pointers. All leaves are full but the last, which rows at infinity fill up.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from .lanes cimport LANES, add_parabolas, scale_row, squares, total

# A bound on a distance is a sum and difference of rounded squares: rows this share beyond it may be nearer.
cdef double SAFE = 1 - 1e-12
cdef double INFINITE = float("inf")


cdef inline void swap_rows(
    double[:, ::1] rows, int64_t[::1] order, Py_ssize_t a, Py_ssize_t b
) noexcept nogil:
    cdef Py_ssize_t j
    cdef double value
    cdef int64_t index = order[a]
    order[a] = order[b]
    order[b] = index
    for j in range(rows.shape[1]):
        value = rows[a, j]
        rows[a, j] = rows[b, j]
        rows[b, j] = value


cdef inline double middle(double a, double b, double c) noexcept nogil:
    return max(min(a, b), min(max(a, b), c))


cdef void select(
    double[:, ::1] rows, int64_t[::1] order, Py_ssize_t first, Py_ssize_t last, Py_ssize_t k, Py_ssize_t j
) noexcept nogil:
    """Reorder rows first, ..., last - 1 so that those before k have the smaller values of column j."""
    cdef Py_ssize_t low = first, high = last - 1, a, b
    cdef uint64_t state = 1
    cdef double pivot
    while low < high:
        # Rows at scattered places, so that no order of the rows makes this slow.
        state = state * 6364136223846793005u + 1442695040888963407u
        a = low + <Py_ssize_t>((state >> 33) % <uint64_t>(high - low + 1))
        pivot = middle(rows[low, j], rows[a, j], rows[high, j])
        a = low
        b = high
        while a <= b:
            while rows[a, j] < pivot:
                a += 1
            while rows[b, j] > pivot:
                b -= 1
            if a <= b:
                swap_rows(rows, order, a, b)
                a += 1
                b -= 1
        if k <= b:
            high = b
        elif k >= a:
            low = a
        else:
            return


cdef Py_ssize_t widest(
    const double[:, ::1] rows, Py_ssize_t first, Py_ssize_t last, double* box
) noexcept nogil:
    """Return the column of the largest range; `box` is scratch for d lowest and d highest values."""
    cdef Py_ssize_t i, j, d = rows.shape[1], best = 0
    for j in range(d):
        box[j] = box[d + j] = rows[first, j]
    for i in range(first + 1, last):
        for j in range(d):
            box[j] = min(box[j], rows[i, j])
            box[d + j] = max(box[d + j], rows[i, j])
    for j in range(1, d):
        if box[d + j] - box[j] > box[d + best] - box[best]:
            best = j
    return best


cdef void split(
    double[:, ::1] rows, int64_t[::1] order, Py_ssize_t size, Py_ssize_t a, Py_ssize_t b,
    int32_t[::1] feature, double[:, ::1] gap, double* box
) noexcept nogil:
    cdef Py_ssize_t mid = (a + b) // 2, first = a * size, cut = mid * size, i, j
    cdef Py_ssize_t last = min(b * size, rows.shape[0])
    if b - a < 2:
        return
    j = widest(rows, first, last, box)
    select(rows, order, first, last, cut, j)
    gap[mid, 0] = rows[first, j]
    for i in range(first, cut):
        gap[mid, 0] = max(gap[mid, 0], rows[i, j])
    gap[mid, 1] = rows[cut, j]
    for i in range(cut, last):
        gap[mid, 1] = min(gap[mid, 1], rows[i, j])
    feature[mid] = <int32_t>j
    split(rows, order, size, a, mid, feature, gap, box)
    split(rows, order, size, mid, b, feature, gap, box)


def build_tree(
    double[:, ::1] rows, int64_t[::1] order, int32_t[::1] feature, double[:, ::1] gap, Py_ssize_t size
):
    """Reorder the rows leaf by leaf, `order` with them; fill in the column and the gap of every split.

    The gap is the highest value of the lower side and the lowest of the other; `size` is that of a leaf;
    `feature` and `gap` have a line per leaf, of which the first is not used.
    """
    cdef double* box = <double*>malloc(2 * rows.shape[1] * sizeof(double))
    if box == NULL:
        raise MemoryError
    with nogil:
        split(rows, order, size, 0, feature.shape[0], feature, gap, box)
        free(box)


cdef struct Row:
    double distance
    int64_t index
    double y


cdef struct Walk:
    # The tree, a query, and for each column the distance from the query to the cell that is visited.
    const double* columns
    const double* y
    const int64_t* index
    const int32_t* feature
    const double* gap
    Py_ssize_t d
    Py_ssize_t size
    const double* query
    double* offset
    # The nearest rows: a heap with the farthest on top.
    Row* heap
    Py_ssize_t found
    Py_ssize_t wanted
    double* scratch
    # The ball: its squared radius and the sums.
    double squared_radius
    double* sums


cdef inline bint is_farther(Row a, Row b) noexcept nogil:
    return a.distance > b.distance or (a.distance == b.distance and a.index > b.index)


cdef inline void sink(Row* heap, Py_ssize_t n, Py_ssize_t at, Row row) noexcept nogil:
    """Put a row where the heap's place `at` was left empty, or below."""
    cdef Py_ssize_t child = 2 * at + 1
    while child < n:
        if child + 1 < n and is_farther(heap[child + 1], heap[child]):
            child += 1
        if not is_farther(heap[child], row):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = row


cdef inline void rise(Row* heap, Py_ssize_t at, Row row) noexcept nogil:
    cdef Py_ssize_t parent
    while at > 0:
        parent = (at - 1) // 2
        if not is_farther(row, heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = row


cdef inline void keep(Walk* w, Row row) noexcept nogil:
    """Keep a row that is among the nearest up to now."""
    if w.found < w.wanted:
        rise(w.heap, w.found, row)
        w.found += 1
    elif is_farther(w.heap[0], row):
        sink(w.heap, w.wanted, 0, row)


cdef inline double reach(Walk* w) noexcept nogil:
    """Squared distance beyond which no row matters any more."""
    return w.heap[0].distance if w.found == w.wanted else INFINITE


cdef void visit_nearest(Walk* w, Py_ssize_t leaf) noexcept nogil:
    cdef Py_ssize_t i
    cdef Row row
    cdef double limit = reach(w)
    squares(w.columns + leaf * w.d * w.size, w.size, w.d, w.query, w.scratch)
    for i in range(w.size):
        if w.scratch[i] <= limit:
            row.distance = w.scratch[i]
            row.index = w.index[leaf * w.size + i]
            row.y = w.y[leaf * w.size + i]
            # A row at infinity is kept until there are enough others.
            keep(w, row)
            limit = reach(w)


cdef void visit_ball(Walk* w, Py_ssize_t leaf) noexcept nogil:
    add_parabolas(
        w.columns + leaf * w.d * w.size, w.y + leaf * w.size, w.size, w.d, w.query, 1.0 / w.squared_radius,
        w.sums,
    )


cdef void walk(Walk* w, Py_ssize_t a, Py_ssize_t b, double bound, bint ball) noexcept nogil:
    """Visit the leaves a, ..., b - 1, at a squared distance of at least `bound`, nearer sides first."""
    cdef Py_ssize_t mid = (a + b) // 2, j
    cdef double value, below, above, old
    if bound * SAFE > (w.squared_radius if ball else reach(w)):
        return
    if b - a == 1:
        if ball:
            visit_ball(w, a)
        else:
            visit_nearest(w, a)
        return
    j = w.feature[mid]
    value = w.query[j]
    below = value - w.gap[2 * mid]
    above = w.gap[2 * mid + 1] - value
    old = w.offset[j]
    if below < above:
        walk(w, a, mid, bound, ball)
        w.offset[j] = above
        walk(w, mid, b, bound - old * old + above * above, ball)
    else:
        walk(w, mid, b, bound, ball)
        w.offset[j] = below
        walk(w, a, mid, bound - old * old + below * below, ball)
    w.offset[j] = old


cdef inline void begin(Walk* w, const double* query, double* offset) noexcept nogil:
    cdef Py_ssize_t j
    w.query = query
    w.offset = offset
    for j in range(w.d):
        offset[j] = 0


cdef void add_nearest(Walk* w, const int64_t[::1] wanted, double* out) noexcept nogil:
    """Fill `out` with the mean y of the so many nearest rows, from the heap's, summed from the nearest on."""
    cdef Py_ssize_t n = w.found, k = 0
    cdef double sum_y = 0
    cdef Row row
    while n > 1:
        n -= 1
        row = w.heap[n]
        w.heap[n] = w.heap[0]
        sink(w.heap, n, 0, row)
    for n in range(w.found):
        sum_y += w.heap[n].y
        while k < wanted.shape[0] and wanted[k] == n + 1:
            out[k] = sum_y / (n + 1)
            k += 1


def nearest_averages(
    const double[:, ::1] X,
    const double[:, ::1] ranges,
    const double[:, :, ::1] columns,
    const double[:, ::1] y,
    const int64_t[:, ::1] index,
    const int32_t[::1] feature,
    const double[:, ::1] gap,
    const int64_t[::1] wanted,
    double[:, ::1] values,
):
    """Fill `values[query, k]` with the mean y of the `wanted[k]` nearest rows; on ties, of the first.

    `wanted` ascends and ends at the number of rows at most. Leaf by leaf: `columns` (leaf, column, row), `y`,
    and `index`, the rows' numbers.
    """
    cdef Py_ssize_t i, d = columns.shape[1], k = wanted[wanted.shape[0] - 1]
    cdef Walk w
    cdef double* memory
    if X.shape[1] != d:
        raise ValueError
    memory = <double*>malloc((2 * d + columns.shape[2]) * sizeof(double) + k * sizeof(Row))
    if memory == NULL:
        raise MemoryError
    w.columns = &columns[0, 0, 0]
    w.y = &y[0, 0]
    w.index = &index[0, 0]
    w.feature = &feature[0]
    w.gap = &gap[0, 0]
    w.d = d
    w.size = columns.shape[2]
    w.scratch = memory + 2 * d
    w.heap = <Row*>(memory + 2 * d + w.size)
    w.wanted = k
    with nogil:
        for i in range(X.shape[0]):
            scale_row(&X[i, 0], ranges, memory)
            begin(&w, memory, memory + d)
            w.found = 0
            walk(&w, 0, feature.shape[0], 0, False)
            add_nearest(&w, wanted, &values[i, 0])
        free(memory)


def ball_averages(
    const double[:, ::1] X,
    const double[:, ::1] ranges,
    const double[:, :, ::1] columns,
    const double[:, ::1] y,
    const int32_t[::1] feature,
    const double[:, ::1] gap,
    const double[::1] radii,
    double[:, ::1] values,
    uint8_t[:, ::1] support,
):
    """Fill `values[query, k]` with means of y, weights (1 - (distance / radii[k])^2)_+; 0 without support."""
    cdef Py_ssize_t i, j, k, d = columns.shape[1]
    cdef Walk w
    cdef double* memory
    cdef double[16] sums
    cdef double under
    if X.shape[1] != d:
        raise ValueError
    memory = <double*>malloc(2 * d * sizeof(double))
    if memory == NULL:
        raise MemoryError
    w.columns = &columns[0, 0, 0]
    w.y = &y[0, 0]
    w.feature = &feature[0]
    w.gap = &gap[0, 0]
    w.d = d
    w.size = columns.shape[2]
    w.sums = sums
    with nogil:
        for i in range(X.shape[0]):
            scale_row(&X[i, 0], ranges, memory)
            for k in range(radii.shape[0]):
                begin(&w, memory, memory + d)
                w.squared_radius = radii[k] * radii[k]
                for j in range(2 * LANES):
                    sums[j] = 0
                walk(&w, 0, feature.shape[0], 0, True)
                under = total(sums + LANES)
                support[i, k] = under > 0
                values[i, k] = total(sums) / under if under > 0 else 0.0
        free(memory)
