# SPDX-License-Identifier: BSD-3-Clause
"""A buffered stream of random words that is used for one call and wipes the words it has read."""

cimport cython
from cpython.pythread cimport PyThread_get_thread_ident

cdef Py_ssize_t MIN_WORDS = 4
cdef Py_ssize_t MAX_WORDS = 8192  # 64 KiB


# no_gc_clear: the collector must not drop the buffer before __dealloc__ has wiped it.
@cython.final
@cython.no_gc_clear
cdef class WordStream:
    """Random 64-bit words for the samplers, each used once.

    A stream is not shared between threads, which would draw one word twice: only the thread that made it gets
    words from its source. Each call makes a new stream, so that a forked process inherits no words. The
    inline draws are in the `.pxd`.

    Parameters
    ----------
    entropy : Entropy
        Its ``random_bytes(n)`` returns the only reference to new bytes, which are overwritten with zeros.
    expected_words : int
        Approximate number of words for the call; it sets the size of requests (4 to 8192 words each).
    """

    def __cinit__(self, object entropy, Py_ssize_t expected_words):
        if expected_words < 0:
            raise ValueError("expected_words must not be negative")
        self._entropy = entropy
        self._thread = PyThread_get_thread_ident()
        self._planned = expected_words
        # The words needed beyond the plan are a small part of it.
        self._top_up = expected_words // 32
        self._chunk = None
        self._ours = getattr(entropy, "private", True)
        self._words_left = 0
        self._reservoir = 0
        self._reservoir_size = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __dealloc__(self):
        self._wipe()

    def __reduce__(self):
        raise TypeError("a WordStream cannot be pickled or copied")

    def close(self):
        """Wipe the remaining words; further draws raise."""
        self._wipe()
        self._entropy = None

    cdef int _wipe(self) except -1:
        # volatile: the compiler may not drop stores to memory that is about to be freed.
        cdef volatile char* memory
        cdef Py_ssize_t i
        # Bytes of a caller's own generator may belong to it, and are not secret from it.
        if self._chunk is not None and self._ours:
            memory = <char*> self._chunk
            for i in range(len(self._chunk)):
                memory[i] = 0
        self._chunk = None
        self._words_left = 0
        self._reservoir = 0
        self._reservoir_size = 0
        return 0

    cdef int _refill(self) except -1 with gil:
        cdef Py_ssize_t n_words = min(max(self._planned, self._top_up, MIN_WORDS), MAX_WORDS)
        # The reservoir holds unused bits, so it stays.
        cdef uint64_t reservoir = self._reservoir
        cdef int reservoir_size = self._reservoir_size
        cdef bytes chunk
        if self._entropy is None:
            raise ValueError("the stream is closed")
        if PyThread_get_thread_ident() != self._thread:
            raise RuntimeError("a WordStream is for the thread that made it")
        chunk = self._entropy.random_bytes(8 * n_words)
        if len(chunk) != 8 * n_words:
            raise ValueError("the source of entropy returned another number of bytes than requested")
        self._wipe()
        self._reservoir = reservoir
        self._reservoir_size = reservoir_size
        self._chunk = chunk
        self._cursor = <const char*> <char*> chunk
        self._words_left = n_words
        self._planned = max(self._planned - n_words, 0)
        return 0
