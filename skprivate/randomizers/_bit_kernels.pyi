import numpy as np
from numpy.typing import NDArray

from ..noise._stream_kernels import WordStream

def randomize_subset(
    categories: NDArray[np.int64],
    n_categories: int,
    subset_size: int,
    threshold: int,
    stream: WordStream,
    out: NDArray[np.uint8],
) -> None: ...
def randomize_unary(
    categories: NDArray[np.int64],
    n_categories: int,
    threshold: int,
    stream: WordStream,
    out: NDArray[np.uint8],
) -> None: ...
def count_bits(
    reports: NDArray[np.uint8], n_ones: int, lanes: NDArray[np.uint64], counts: NDArray[np.int64]
) -> bool: ...
