# SPDX-License-Identifier: BSD-3-Clause
"""Life distributions and life-stress models of the package reliability, in the terms of ours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .lifelines import LikelihoodFit

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_QUIET: dict[str, Any] = {"show_probability_plot": False, "print_results": False}


def life_fit(distribution: str, time: FloatArray, event: BoolArray) -> LikelihoodFit:
    """Fit a distribution of two parameters, without features, to events and right-censored times."""
    from reliability import Fitters

    name = {"weibull": "Weibull", "loglogistic": "Loglogistic", "lognormal": "Lognormal"}[distribution]
    fit = getattr(Fitters, f"Fit_{name}_2P")(time[event], time[~event] if not event.all() else None, **_QUIET)
    if distribution == "lognormal":
        # Parameters mu and sigma; those of the others are exp(mu) and 1 / sigma.
        values, jacobian = (fit.mu, fit.sigma), np.diag([1.0, 1 / fit.sigma])
        among = fit.Cov_mu_sigma
        deviations = fit.mu_SE, fit.sigma_SE
    else:
        values, jacobian = (np.log(fit.alpha), 1 / fit.beta), np.diag([1 / fit.alpha, -1 / fit.beta])
        among = fit.Cov_alpha_beta
        deviations = fit.alpha_SE, fit.beta_SE
    covariance = np.diag(np.square(deviations))
    covariance[0, 1] = covariance[1, 0] = among
    return LikelihoodFit(np.empty(0), float(values[0]), float(values[1]), jacobian @ covariance @ jacobian)


def stress_fit(
    time: FloatArray, event: BoolArray, kelvin: FloatArray, stress: FloatArray | None = None
) -> dict[str, tuple[float, float]]:
    """Fit a Weibull life-stress model: Arrhenius, and with `stress` also the inverse power law.

    Returns
    -------
    found : dict
        Estimates and standard errors of "arrhenius" (the slope of 1 / kelvin), "power" (that of log stress),
        "factor" (the scale is factor * exp(arrhenius / kelvin) * stress^power) and "shape".
    """
    from reliability import ALT_fitters

    names = {"arrhenius": "a", "factor": "b", "shape": "beta"}
    if stress is None:
        fit = ALT_fitters.Fit_Weibull_Exponential(
            time[event], kelvin[event], time[~event], kelvin[~event], show_life_stress_plot=False, **_QUIET
        )
    else:
        names |= {"power": "n", "factor": "c"}
        fit = ALT_fitters.Fit_Weibull_Power_Exponential(
            *(time[event], kelvin[event], stress[event], time[~event], kelvin[~event], stress[~event]),
            show_life_stress_plot=False,
            **_QUIET,
        )
    return {name: (getattr(fit, field), getattr(fit, f"{field}_SE")) for name, field in names.items()}
