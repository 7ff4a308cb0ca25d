# SPDX-License-Identifier: BSD-3-Clause
"""A value is found in texts and in bytes, in whatever form it was written."""

import numpy as np

from skprivate.audit._observation.known_values import forms_of_text, packed_forms


def test_forms():
    assert "0.618033" in forms_of_text(0.6180339887)
    assert "53918.4" in forms_of_text(53918.421773519)
    assert forms_of_text("text") == ["text"]
    assert np.float64(0.618).tobytes() in packed_forms(0.618)
    assert b"text" in packed_forms("text")
