# SPDX-License-Identifier: BSD-3-Clause
"""Print published figures beside those of the methods as printed: ``python -m benchmarks.reproduction``."""

from . import games_as_printed, lls_as_printed

games_as_printed.run()
lls_as_printed.run()
