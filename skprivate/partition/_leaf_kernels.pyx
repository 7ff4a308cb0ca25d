# SPDX-License-Identifier: BSD-3-Clause
"""Assignment of rows to leaves, and counts of rows by leaf and label."""

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

cdef enum:
    LANES = 8


cdef struct Node:
    # The three fields of a step are in one cache line.
    double threshold
    int32_t feature
    int32_t left


cdef Node* pack_nodes(
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] left,
    const int32_t[::1] leaf_index,
) noexcept nogil:
    """Copy the nodes into one array; a leaf's threshold is NaN, so no value, not even +inf, leaves it."""
    cdef Py_ssize_t k
    cdef Node* nodes = <Node*>malloc(feature.shape[0] * sizeof(Node))
    if nodes != NULL:
        for k in range(feature.shape[0]):
            nodes[k].threshold = threshold[k] if leaf_index[k] < 0 else NAN
            nodes[k].feature = feature[k]
            nodes[k].left = left[k]
    return nodes


cdef inline void walk_lanes(
    const double* x, Py_ssize_t width, const Node* nodes, int depth, int32_t* at
) noexcept nogil:
    """Route LANES rows at once without a branch, so that their memory accesses overlap."""
    cdef int _step, lane
    cdef const Node* node
    for lane in range(LANES):
        at[lane] = 0
    for _step in range(depth):
        for lane in range(LANES):
            node = nodes + at[lane]
            at[lane] = node.left + (x[lane * width + node.feature] >= node.threshold)


def apply_rows(
    const double[:, ::1] X,
    const int32_t[::1] feature,
    const double[::1] threshold,
    const int32_t[::1] left,
    const int32_t[::1] leaf_index,
    int depth,
    int32_t[::1] out,
):
    """Fill `out` with the leaf number of every row; `depth` is that of the deepest leaf."""
    cdef Py_ssize_t n = X.shape[0], width = X.shape[1], i = 0
    cdef int lane
    cdef int32_t node
    cdef int32_t[LANES] at
    cdef Node* nodes = NULL
    if n >= LANES:
        nodes = pack_nodes(feature, threshold, left, leaf_index)
        if nodes == NULL:
            raise MemoryError
    with nogil:
        while i + LANES <= n:
            walk_lanes(&X[i, 0], width, nodes, depth, at)
            for lane in range(LANES):
                out[i + lane] = leaf_index[at[lane]]
            i += LANES
        free(nodes)
        while i < n:
            node = 0
            while leaf_index[node] < 0:
                node = left[node] + (X[i, feature[node]] >= threshold[node])
            out[i] = leaf_index[node]
            i += 1


def count_leaves(const int32_t[::1] leaves, const int32_t[::1] labels, int64_t[:, ::1] out):
    """Add every row to `out[leaf, label]`."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(leaves.shape[0]):
            out[leaves[i], labels[i]] += 1
