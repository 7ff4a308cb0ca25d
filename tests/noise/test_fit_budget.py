# SPDX-License-Identifier: BSD-3-Clause
"""The budget of a fit."""

from fractions import Fraction

from skprivate.noise import _mechanisms


def test_the_rho_of_a_request_is_looked_up_once(monkeypatch):
    asked = []
    convert = _mechanisms.zcdp_to_epsilon
    monkeypatch.setattr(
        _mechanisms, "zcdp_to_epsilon", lambda *amounts: asked.append(amounts) or convert(*amounts)
    )
    request = Fraction(10**9 + 7, 10**9)
    first = _mechanisms.FitBudget.of(request, 1e-6, "gaussian")
    assert asked
    asked.clear()
    assert _mechanisms.FitBudget.of(request, 1e-6, "gaussian") == first
    assert not asked
    assert first.epsilon == convert(first.rho, Fraction(1e-6)) <= request
