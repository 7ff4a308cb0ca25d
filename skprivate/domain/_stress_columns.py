# SPDX-License-Identifier: BSD-3-Clause
"""Columns of stresses, encoded by the law in which the logarithm of a lifetime is linear."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .._typing import FloatArray
from ..utils._public_module import public_module
from ._columns import Column, NumberColumn

#: Elementary charge over Boltzmann's constant, exact in the SI since 2019: kelvin in an electronvolt.
KELVIN_PER_EV = 1.602176634e-19 / 1.380649e-23
_ZERO_CELSIUS = 273.15

StressLaw = Literal["arrhenius", "arrhenius-kelvin", "inverse-power"]


@dataclass(frozen=True)
class Law:
    """A monotone transform of stresses above a limit, and its inverse.

    Parameters
    ----------
    zero : float
        Stresses must be above it.
    reciprocal : bool
        True: 11604.5 / (stress - zero), in 1/eV; False: the natural logarithm.
    """

    zero: float
    reciprocal: bool

    def transform(self, stress: FloatArray) -> FloatArray:
        """Return the transformed values; NaN where the law is not defined, or has no finite value."""
        with np.errstate(all="ignore"):
            above = stress - self.zero
            values = KELVIN_PER_EV / above if self.reciprocal else np.log(above)
            found: FloatArray = np.where((above > 0) & np.isfinite(values), values, np.nan)
        return found

    def invert(self, values: FloatArray) -> FloatArray:
        """Return the stresses of transformed values; NaN or infinite where there is none."""
        with np.errstate(all="ignore"):
            # One by one, as the exponential of many may round otherwise than that of one.
            above = KELVIN_PER_EV / values if self.reciprocal else np.array([*map(np.exp, values)])
            return above + self.zero


LAWS: dict[str, Law] = {
    "arrhenius": Law(-_ZERO_CELSIUS, reciprocal=True),
    "arrhenius-kelvin": Law(0.0, reciprocal=True),
    "inverse-power": Law(0.0, reciprocal=False),
}


@public_module("skprivate.domain")
@dataclass(frozen=True, repr=False)
class StressColumn(NumberColumn):
    """A column of stresses between public bounds, encoded by the law that ties it to log lifetimes.

    The slope that a regressor of lifetimes then has is the parameter that engineers quote: the activation
    energy in electronvolts, or minus the exponent of the power law. Tables, bounds and predictions stay in
    the unit of the stress.

    Parameters
    ----------
    lower, upper : float
        Bounds in the unit of the stress, from public knowledge, above the limit of the law. A value beyond
        them is kept by `TableDomain.encode`, and clipped by the estimators when they are fitted.
    law : {"arrhenius", "arrhenius-kelvin", "inverse-power"}
        "arrhenius": a temperature T in degrees Celsius, encoded as 11604.5 / (T + 273.15) in 1/eV, with T
        above -273.15; "arrhenius-kelvin": the same of kelvins above 0. "inverse-power": a voltage, load or
        relative humidity above 0, encoded as its natural logarithm. A temperature by "arrhenius" beside a
        humidity by "inverse-power" is Peck's model.
    missing : {"error", "fill", "indicator"}, default=None
        As in `NumberColumn`.
    fill : float, default=None
        A value within the bounds. None is the middle of the encoded bounds.
    missing_values : sequence of str, int or float, default=()
        As in `NumberColumn`.

    Raises
    ------
    TypeError, ValueError
        As of `NumberColumn`; an unknown law; bounds for which it is not defined.

    See Also
    --------
    skprivate.DPLogLocationScaleRegressor.acceleration_factor : How many times longer units last at use.

    Notes
    -----
    **Privacy.** The law and the bounds are public. A stress for which the law is not defined is an error that
    shows no value; in strict mode it counts as missing, and ``fill`` stands in its place.

    Examples
    --------
    >>> from skprivate.domain import StressColumn, TableDomain
    >>> domain = TableDomain({"celsius": StressColumn(20, 150, "arrhenius"),
    ...                       "volt": StressColumn(1, 10, "inverse-power")})
    >>> domain.encoded_names
    ('celsius:arrhenius', 'volt:inverse-power')
    >>> domain.encode([[20, 10], [150, 1]]).round(2)
    array([[39.59,  2.3 ],
           [27.42,  0.  ]])
    >>> [side.round(2).tolist() for side in domain.bounds]
    [[27.42, 0.0], [39.59, 2.3]]
    """

    kind: ClassVar[str] = "stress"

    law: StressLaw

    @property
    def transform(self) -> Law:
        """The law as a function."""
        return LAWS[self.law]

    def suffixes(self) -> tuple[str, ...]:
        return (f":{self.law}",)

    def read_bounds(self) -> tuple[float, float]:
        return self.lower, self.upper

    def encode_values(self, values: FloatArray) -> FloatArray:
        return self.transform.transform(values)

    def encoded_bounds(self) -> tuple[float, float]:
        # Arrhenius' law falls.
        lower, upper = sorted(self.encode_values(np.array([self.lower, self.upper])).tolist())
        return lower, upper

    def fill_value(self) -> float | None:
        if self.fill is None:
            return Column.fill_value(self)
        return float(self.encode_values(np.array([self.fill]))[0])

    def _check_declaration(self) -> None:
        super()._check_declaration()
        if self.law not in LAWS:
            raise ValueError(f"law must be one of {', '.join(map(repr, LAWS))}.")
        lower, upper = self.encoded_bounds()
        if not lower < upper:
            raise ValueError(f"bounds of a stress of law {self.law!r} must be above {self.transform.zero:g}.")
