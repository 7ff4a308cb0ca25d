# SPDX-License-Identifier: BSD-3-Clause
"""Run ``python -m skprivate.collection --help``."""

import sys

from ._commands import main

if __name__ == "__main__":
    sys.exit(main())
