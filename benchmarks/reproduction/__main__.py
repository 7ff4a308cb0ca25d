# SPDX-License-Identifier: BSD-3-Clause
"""Print published figures beside those of the methods as printed: ``python -m benchmarks.reproduction``."""

from ..bench_paper_lls import run
from ._paper_games import run as run_games

run_games()
run()
