import numpy as np
from numpy.typing import NDArray

from ..noise._stream_kernels import WordStream

def swap_rows(
    values: NDArray[np.float64],
    lower: int,
    upper: int,
    order: int,
    stream: WordStream | None,
    seed: int,
    scratch: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None: ...
def synthesize_rows(
    values: NDArray[np.float64],
    active: NDArray[np.uint8],
    weights: NDArray[np.float64],
    scratch: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
