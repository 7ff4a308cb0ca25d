# SPDX-License-Identifier: BSD-3-Clause
"""Settings of the whole suite."""

import os

# Set before numpy is imported by a test: two workers of pytest-xdist share the machine.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
