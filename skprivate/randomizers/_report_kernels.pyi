import numpy as np
from numpy.typing import NDArray

from ..noise._stream_kernels import WordStream

def randomize_hadamard(
    categories: NDArray[np.int64],
    log2_rows: int,
    n_blocks: int,
    threshold: int,
    stream: WordStream,
    out: NDArray[np.uint16] | NDArray[np.uint32],
) -> None: ...
def count_signs(reports: NDArray[np.uint16] | NDArray[np.uint32], counts: NDArray[np.int64]) -> bool: ...
def randomize_response(
    categories: NDArray[np.int64],
    n_answers: int,
    threshold: int,
    stream: WordStream,
    out: NDArray[np.uint16] | NDArray[np.uint32],
) -> None: ...
def count_answers(reports: NDArray[np.uint16] | NDArray[np.uint32], counts: NDArray[np.int64]) -> bool: ...
