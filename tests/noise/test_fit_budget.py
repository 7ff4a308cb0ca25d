# SPDX-License-Identifier: BSD-3-Clause
"""The budget of a fit."""

from fractions import Fraction

from skprivate.noise import _fit_budget


def test_the_rho_of_a_request_is_looked_up_once(monkeypatch):
    asked = []
    convert = _fit_budget.zcdp_to_epsilon
    monkeypatch.setattr(
        _fit_budget, "zcdp_to_epsilon", lambda *amounts: asked.append(amounts) or convert(*amounts)
    )
    request = Fraction(10**9 + 7, 10**9)
    first, again = (_fit_budget.FitBudget.of(request, 1e-6, "gaussian") for _ in range(2))
    assert len(asked) == 1
    assert first == again
    assert first.epsilon == convert(first.rho, Fraction(1e-6)) <= request
