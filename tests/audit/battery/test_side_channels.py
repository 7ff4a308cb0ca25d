# SPDX-License-Identifier: BSD-3-Clause
"""A value is found in texts and in bytes, in whatever form it was written."""

import numpy as np

from skprivate.audit._battery.side_channels import bytes_of_value, texts_of_value


def test_forms():
    assert "0.618033" in texts_of_value(0.6180339887)
    assert "53918.4" in texts_of_value(53918.421773519)
    assert texts_of_value("text") == ["text"]
    assert np.float64(0.618).tobytes() in bytes_of_value(0.618)
    assert b"text" in bytes_of_value("text")
