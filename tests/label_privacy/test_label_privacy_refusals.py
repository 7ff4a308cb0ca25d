# SPDX-License-Identifier: BSD-3-Clause
"""Reports and bounds that are refused."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skprivate import LabelPrivateClassifier, LabelPrivateRegressor
from skprivate.label_privacy import ClassReporter, NumberReporter

X, Y = np.arange(40.0)[:, None], np.arange(40) % 2
KINDS = [
    (LabelPrivateClassifier, {"classes": [0, 1]}, ClassReporter(1.0, [0, 1])),
    (LabelPrivateRegressor, {"bounds_y": (0, 1)}, NumberReporter(1.0, (0, 1))),
]


def floats(reports):
    return reports.astype(float)


def collected(kind, declared, change=lambda reports: reports, X=X, **given):
    def fit():
        plan = kind(Ridge(), **declared)
        reports = kind(Ridge(), **KINDS[kind is LabelPrivateRegressor][1]).make_reporter().randomize(Y)
        plan.fit_reports(X, change(reports), **given)

    return fit


REFUSALS = {
    **{
        f"bounds {bounds}": (
            lambda bounds=bounds: NumberReporter(1.0, bounds),
            "too close together or too far",
        )
        for bounds in ((-1e200, 1e200), (0, 5e-324))
    },
    **{
        f"{name}, {kind.__name__}": refusal
        for kind, declared, reporter in KINDS
        for name, refusal in {
            "not declared": (collected(kind, {}), "declare them"),
            "reports of floats": (
                collected(kind, declared, lambda found: found.astype(float)),
                None,
                TypeError,
            ),
            "a row less": (collected(kind, declared, X=X[1:]), "inconsistent numbers"),
            "public rows alone": (collected(kind, declared, is_public=np.ones(40, bool)), "no reports"),
            "reports of two dimensions": (
                lambda reporter=reporter: reporter.check_reports(reporter.randomize(Y)[:, None]),
                None,
                *(TypeError, ValueError),
            ),
            "no report": (
                lambda reporter=reporter: reporter.check_reports(
                    np.full_like(reporter.randomize(Y), np.iinfo(reporter.randomize(Y).dtype).max)
                ),
                None,
            ),
        }.items()
    },
}


@pytest.mark.parametrize("name", REFUSALS)
def test_is_refused(name):
    call, match, *error = REFUSALS[name]
    with pytest.raises(tuple(error) or ValueError, match=match):
        call()
