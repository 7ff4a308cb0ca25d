# SPDX-License-Identifier: BSD-3-Clause
"""The example with Flower's client and server, where Flower is installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "federated_flower.py"


def test_twelve_clients_predict_together():
    pytest.importorskip("flwr")
    pytest.importorskip("ray")
    run = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True, timeout=500)
    (error,) = re.findall(r"12 hospitals, RMSE (0\.\d+)", run.stdout)
    # A site alone has .05, the platform in one process .03.
    assert float(error) < 0.04
