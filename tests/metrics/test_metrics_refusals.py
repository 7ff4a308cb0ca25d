# SPDX-License-Identifier: BSD-3-Clause
"""What the scores refuse; no message shows a value."""

import numpy as np
import pytest

from skprivate.metrics import correct_orientation_score, record_linkage_score


def scored_with(mu):
    return lambda: correct_orientation_score(np.zeros((2, 1)), np.zeros((2, 1)), mu=mu)


REFUSALS = {
    "mu below 0": (scored_with(-1.0), ValueError, "mu must be finite"),
    "mu nan": (scored_with(np.nan), ValueError, "mu must be finite"),
    "mu inf": (scored_with(np.inf), ValueError, "mu must be finite"),
    "mu of another number of columns": (scored_with([1.0, 2.0]), ValueError, "mu must be a number"),
    "mu of two dimensions": (scored_with([[1.0]]), ValueError, "mu must be a number"),
    "mu text": (scored_with("small"), TypeError, "mu must hold numbers"),
    "mu boolean": (scored_with(True), TypeError, "mu must hold numbers"),
    "orientation, shapes": (
        lambda: correct_orientation_score(np.zeros((2, 2)), np.zeros((2, 3))),
        ValueError,
        "same rows and columns",
    ),
    "orientation, infinity": (
        lambda: correct_orientation_score([[np.inf]], [[1.0]]),
        ValueError,
        "infinity",
    ),
    "orientation, text": (
        lambda: correct_orientation_score([["secret"]], [["other"]]),
        ValueError,
        "text",
    ),
    "linkage, shapes": (
        lambda: record_linkage_score(np.zeros((2, 3)), np.zeros((3, 2))),
        ValueError,
        "same shape",
    ),
    "linkage, nan": (lambda: record_linkage_score([[np.nan, 1.0]], [[1.0, 1.0]]), ValueError, "NaN"),
    "linkage, text": (lambda: record_linkage_score([["secret"]], [["other"]]), ValueError, "text"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_is_refused(name):
    call, error, match = REFUSALS[name]
    with pytest.raises(error, match=match) as caught:
        call()
    assert "secret" not in str(caught.value)
