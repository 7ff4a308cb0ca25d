# SPDX-License-Identifier: BSD-3-Clause
from types import TracebackType
from typing import final

from ._mechanisms import Entropy

@final
class WordStream:
    def __init__(self, entropy: Entropy, expected_words: int) -> None: ...
    def __enter__(self) -> WordStream: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def close(self) -> None: ...
