# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of single columns (kind, bounds or levels, what a missing cell means), and their documents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import date
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from .._typing import FloatArray, MissingRule
from ..utils._json_documents import UNREADABLE, Fields, check_envelope
from ..utils._public_module import public_module
from . import _text_values as texts

_RULES = ("error", "fill", "indicator")
#: Elementary charge over Boltzmann's constant, exact in the SI since 2019: kelvin in an electronvolt.
KELVIN_PER_EV = 1.602176634e-19 / 1.380649e-23
_ZERO_CELSIUS = 273.15
FORMAT = "skprivate.domain"
VERSION = 1
# Fields that a column has only where its text is written in another way than usual.
_WRITTEN = {"decimal": ".", "thousands": None, "unit": None, "format": None}

StressLaw = Literal["arrhenius", "arrhenius-kelvin", "inverse-power"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Column:
    """What all declarations share: what a missing cell means, and which values stand for one."""

    kind: ClassVar[str]
    #: The rule where values are declared that stand for a missing one, and nothing else is said.
    usual_rule: ClassVar[MissingRule] = "fill"

    missing: MissingRule | None = None
    fill: Any = None
    missing_values: Sequence[texts.Marker] = ()

    def __post_init__(self) -> None:
        markers = texts.check_list(self.missing_values, "missing_values")
        if self.missing is None and (markers or self.fill is not None):
            self._set("missing", self.usual_rule if self.fill is None else "fill")
        if self.missing is not None and self.missing not in _RULES:
            raise ValueError(f"missing must be one of {', '.join(map(repr, _RULES))}, or None.")
        self._set("missing_values", texts.check_markers(markers))
        self._check_declaration()
        if self.fill is not None and self.missing == "error":
            raise ValueError("fill is given, and missing='error' does not use it.")
        self._check_markers()

    def resolved(self, missing: MissingRule | None, markers: Sequence[texts.Marker]) -> Self:
        """Return the column with what the table says of missing values added to what it says itself."""
        column = replace(
            self, missing=self.missing or missing, missing_values=(*self.missing_values, *markers)
        )
        return column if column.missing is not None else replace(column, missing="error")

    def suffixes(self) -> tuple[str, ...]:
        """Return the ends of the names of the encoded columns, without that of the indicator."""
        return ("",)

    def encoded_bounds(self) -> tuple[float, float]:
        """Return the public bounds of each of the encoded values."""
        return 0.0, 1.0

    def read_bounds(self) -> tuple[float, float]:
        """Return the public bounds of the values as they are read."""
        return self.encoded_bounds()

    def encode_values(self, values: FloatArray) -> FloatArray:
        """Return finite values as they are encoded, where they stay one column."""
        return values

    def fill_value(self) -> float | None:
        """Return what a missing value becomes; None for a row of zeros."""
        low, high = self.encoded_bounds()
        # Halves first: the sum of two large bounds is infinite.
        return low / 2 + high / 2

    def _check_declaration(self) -> None:
        raise NotImplementedError

    def _check_markers(self) -> None:
        """Refuse a marker that is also a value; of numbers and dates every value may be one."""

    def __repr__(self) -> str:
        # What is required first, and then what differs from its default.
        required = [repr(getattr(self, one.name)) for one in fields(self) if one.default is MISSING]
        said = [
            f"{one.name}={getattr(self, one.name)!r}"
            for one in fields(self)
            if one.default is not MISSING and getattr(self, one.name) != one.default
        ]
        return f"{type(self).__name__}({', '.join(required + said)})"

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _set_bounds(self, check: Callable[[Any, str], Any]) -> None:
        """Check bounds, and the value that is filled in where one is declared."""
        for name in ("lower", "upper", "fill"):
            value = getattr(self, name)
            if name != "fill" or value is not None:
                self._set(name, check(value, name))


@public_module("skprivate.domain")
@dataclass(frozen=True, repr=False)
class NumberColumn(Column):
    """A column of numbers between public bounds.

    Parameters
    ----------
    lower, upper : float
        Bounds in the column's unit, from public knowledge. A value beyond them is kept by
        `TableDomain.encode`, and clipped by the estimators.
    missing : {"error", "fill", "indicator"}, default=None
        What a missing cell becomes: "fill" writes ``fill``; "indicator" does so too, and adds a column that
        is 1 where the value is missing; "error" refuses the table, and in strict mode, where nothing may be
        refused, acts as "fill". None follows the table; where values are declared that stand for a missing
        one, "fill".
    fill : float, default=None
        A value within the bounds. None is their middle.
    missing_values : sequence of str, int or float, default=()
        Values that stand for a missing one, beside None, NaN and empty text, in this column.
    decimal : str, default="."
        The sign before the decimals where a number is text: "," reads "0,5". Cells that are numbers, bounds,
        ``fill`` and missing values are not concerned.
    thousands : str, default=None
        The sign between groups of three digits where a number is text: "," reads "1,234" as 1234.
    unit : str, default=None
        Text before or behind a number, with or without a space, which is left out: "%" reads "5 %" as 5.

    Raises
    ------
    TypeError, ValueError
        Bounds that are no numbers, not finite or not in order; ``fill`` beyond them; an unknown rule;
        ``decimal`` or ``thousands`` that is not one sign, or both the same.

    See Also
    --------
    TableDomain : Holds the columns of a table.

    Examples
    --------
    >>> from skprivate.domain import NumberColumn, TableDomain
    >>> NumberColumn(0, 120, missing="indicator", missing_values=[-999])
    NumberColumn(0.0, 120.0, missing='indicator', missing_values=(-999,))
    >>> TableDomain({"share": NumberColumn(0, 100, decimal=",", unit="%")}).encode([["12,5 %"]])
    array([[12.5]])
    """

    kind: ClassVar[str] = "number"

    lower: float
    upper: float
    decimal: str = field(default=".", kw_only=True)
    thousands: str | None = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)

    @property
    def style(self) -> texts.NumberStyle:
        """How numbers are written where they are text."""
        return texts.NumberStyle(self.decimal, self.thousands, self.unit)

    def encoded_bounds(self) -> tuple[float, float]:
        return self.lower, self.upper

    def fill_value(self) -> float | None:
        return super().fill_value() if self.fill is None else self.fill

    def _check_declaration(self) -> None:
        self._set_bounds(texts.check_finite)
        texts.check_order(self.lower, self.upper)
        texts.check_style(self.decimal, self.thousands, self.unit)
        if self.fill is not None and not self.lower <= self.fill <= self.upper:
            raise ValueError("fill must lie within the bounds.")


@public_module("skprivate.domain")
@dataclass(frozen=True, repr=False)
class DateColumn(Column):
    """A column of dates, or of times, between public bounds.

    It is encoded as the number of days since ``lower``, with a fraction for the time of the day.

    Parameters
    ----------
    lower, upper : str, datetime.date, datetime.datetime or numpy.datetime64
        Bounds, from public knowledge; text is ISO 8601, such as "2001-01-31" or "2001-01-31T12:30".
    missing : {"error", "fill", "indicator"}, default=None
        As in `NumberColumn`.
    fill : as ``lower``, default=None
        A date within the bounds. None is their middle.
    missing_values : sequence of str, int or float, default=()
        As in `NumberColumn`; text that is a date stands for that date however it is written.
    format : str, default=None
        How dates are written where they are text, with ``%Y`` (or ``%y``, from 1969 to 2068), ``%m``, ``%d``,
        ``%H``, ``%M``, ``%S`` and ``%f`` as in `datetime.datetime.strptime`: "%d/%m/%Y" reads "31/01/2001".
        None: ISO 8601. Text in another format is no value of the column. Bounds and ``fill`` are ISO 8601.

    Raises
    ------
    TypeError, ValueError
        Bounds that are no dates or not in order; ``fill`` beyond them; an unknown rule; a format without
        year, month and day, or with other fields, whose meaning depends on the language of the machine.

    See Also
    --------
    TableDomain : Holds the columns of a table.

    Notes
    -----
    A time with a zone is converted to UTC, and one without a zone is taken as one of UTC. What is finer than
    a microsecond is cut off.

    Examples
    --------
    >>> from skprivate.domain import DateColumn, TableDomain
    >>> DateColumn("2001-01-01", "2020-12-31").upper
    '2020-12-31'
    >>> day = DateColumn("2001-01-01", "2020-12-31", format="%d/%m/%Y")
    >>> TableDomain({"day": day}).encode([["03/01/2001"]])
    array([[2.]])
    """

    kind: ClassVar[str] = "date"

    lower: Any
    upper: Any
    format: str | None = field(default=None, kw_only=True)

    @property
    def start(self) -> int:
        """Microseconds from 1970 to the lower bound."""
        return texts.check_date(self.lower, "lower")

    def days(self, value: str) -> float:
        """Return the days from the lower bound to a date in text."""
        return float(texts.check_date(value, "fill") - self.start) / texts.DAY

    def encoded_bounds(self) -> tuple[float, float]:
        return 0.0, self.days(self.upper)

    def fill_value(self) -> float | None:
        return super().fill_value() if self.fill is None else self.days(self.fill)

    def _check_declaration(self) -> None:
        self._set_bounds(lambda value, name: texts.text_of_instant(texts.check_date(value, name)))
        texts.check_order(self.start, texts.check_date(self.upper, "upper"))
        texts.check_format(self.format)
        if self.fill is not None and not 0 <= self.days(self.fill) <= self.days(self.upper):
            raise ValueError("fill must lie within the bounds.")


@public_module("skprivate.domain")
@dataclass(frozen=True, repr=False)
class BooleanColumn(Column):
    """A column of true and false.

    It is encoded as 1 and 0. The numbers 1 and 0 and the texts true, false, yes, no, 1 and 0, in upper or
    lower case, are read as booleans.

    Parameters
    ----------
    missing : {"error", "fill", "indicator"}, default=None
        As in `NumberColumn`; where values are declared that stand for a missing one, None is "indicator".
    fill : bool, default=None
        What a missing value becomes. None is 0.5.
    missing_values : sequence of str, int or float, default=()
        As in `NumberColumn`.

    Raises
    ------
    TypeError, ValueError
        ``fill`` is no boolean, a missing value reads as one, or an unknown rule.

    See Also
    --------
    TableDomain : Holds the columns of a table; ``bool`` is short for this class there.

    Examples
    --------
    >>> from skprivate.domain import BooleanColumn
    >>> BooleanColumn(missing="fill", fill=False)
    BooleanColumn(missing='fill', fill=False)
    """

    kind: ClassVar[str] = "boolean"
    usual_rule: ClassVar[MissingRule] = "indicator"

    def fill_value(self) -> float | None:
        return super().fill_value() if self.fill is None else float(self.fill)

    def _check_declaration(self) -> None:
        if self.fill is not None:
            if not isinstance(self.fill, bool | np.bool_):
                raise TypeError("fill must be True, False or None.")
            self._set("fill", bool(self.fill))

    def _check_markers(self) -> None:
        if any(texts.boolean_of_text(texts.text_of_level(one)) is not None for one in self.missing_values):
            raise ValueError("a missing value reads as true or false.")


@public_module("skprivate.domain")
@dataclass(frozen=True, repr=False)
class CategoricalColumn(Column):
    """A column that takes one of several public levels.

    Parameters
    ----------
    levels : sequence of str, int, float or bool
        All text, all numbers or all booleans, none of them twice; text without the spaces around it.
    ordered : bool, default=False
        False: encoded as one column a level, 1 where the row has it and 0 elsewhere. True: encoded as one
        column, the position of the level from 0.
    missing : {"error", "fill", "indicator"}, default=None
        As in `NumberColumn`; where values are declared that stand for a missing one, None is "indicator": a
        column of its own for missing.
    fill : str, int, float or bool, default=None
        The level that a missing value becomes. None is the middle of the positions where the levels are
        ordered, and zeros in all columns of levels where they are not.
    missing_values : sequence of str, int or float, default=()
        As in `NumberColumn`.

    Raises
    ------
    TypeError, ValueError
        No levels, repeated ones or of several types; one level that is ordered; ``fill`` is no level; a
        missing value is one; an unknown rule.

    See Also
    --------
    TableDomain : Holds the columns of a table; a list of levels is short for this class there.

    Notes
    -----
    Levels that are text match text, and a number that is written like one: 12 and 12.0 match "12". Levels
    that are numbers match numbers of that value, and text that says one.

    Examples
    --------
    >>> from skprivate.domain import CategoricalColumn
    >>> CategoricalColumn(["small", "large"], ordered=True).encoded_bounds()
    (0.0, 1.0)
    """

    kind: ClassVar[str] = "categorical"
    usual_rule: ClassVar[MissingRule] = "indicator"

    levels: Sequence[texts.Level]
    ordered: bool = False

    def suffixes(self) -> tuple[str, ...]:
        return ("",) if self.ordered else tuple(f"={texts.text_of_level(level)}" for level in self.levels)

    def encoded_bounds(self) -> tuple[float, float]:
        return 0.0, float(len(self.levels) - 1) if self.ordered else 1.0

    def fill_value(self) -> float | None:
        if self.fill is None:
            return super().fill_value() if self.ordered else None
        return float(self.levels.index(self.fill))

    def _check_declaration(self) -> None:
        self._set("levels", texts.check_levels(self.levels))
        if not isinstance(self.ordered, bool):
            raise TypeError("ordered must be True or False.")
        if self.ordered and len(self.levels) == 1:
            raise ValueError("one level has no order.")
        if self.fill is not None:
            fill = texts.plain_level(self.fill)
            # By type, too: True is no 1 among levels.
            if (type(fill) is bool, fill) not in [(type(level) is bool, level) for level in self.levels]:
                raise ValueError("fill must be one of the levels.")
            self._set("fill", self.levels[self.levels.index(fill)])

    def _check_markers(self) -> None:
        marked = {texts.text_of_level(marker) for marker in self.missing_values}
        if type(self.levels[0]) is bool:
            clash: set[Any] = {texts.boolean_of_text(text) for text in marked} - {None}
        elif isinstance(self.levels[0], str):
            clash = {texts.text_of_level(level) for level in self.levels} & marked
        else:
            clash = {texts.number_of_text(text) for text in marked} & {*self.levels}
        if clash:
            raise ValueError("a missing value is also a level.")


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


def column_of(declaration: Any) -> Column:
    """Return the column that a declaration stands for, in its short form or its long one."""
    if isinstance(declaration, Column):
        return declaration
    if declaration is bool:
        return BooleanColumn()
    if isinstance(declaration, tuple):
        if len(declaration) != 2:
            raise ValueError("a tuple must be (lower, upper); levels are a list.")
        return _between(*declaration)
    if isinstance(declaration, list | range | np.ndarray):
        return CategoricalColumn(list(declaration))
    raise TypeError(
        "a declaration must be (lower, upper), a list of levels, bool, or a column of skprivate.domain."
    )


def _between(lower: Any, upper: Any) -> Column:
    if all(isinstance(side, Integral | Real) and not isinstance(side, bool) for side in (lower, upper)):
        return NumberColumn(lower, upper)
    if all(isinstance(side, str) and texts.instant_of_text(side.strip()) is None for side in (lower, upper)):
        raise ValueError(
            f"({lower!r}, {upper!r}) in round brackets must be two dates or numbers; levels are a list: "
            f"[{lower!r}, {upper!r}]."
        )
    if all(isinstance(side, str | date | np.datetime64) for side in (lower, upper)):
        return DateColumn(lower, upper)
    raise TypeError("(lower, upper) must be two numbers or two dates; levels are a list.")


def columns_to_dict(columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return the document of columns."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "columns": [_column_to_dict(name, column) for name, column in columns.items()],
    }


def _column_to_dict(name: str, column: Column) -> dict[str, Any]:
    own = {each: getattr(column, each) for each in _KINDS[column.kind][1]}
    written = {each: getattr(column, each, usual) for each, usual in _WRITTEN.items()}
    return {
        "name": name,
        "kind": column.kind,
        "missing": column.missing,
        "fill": column.fill,
        "missing_values": list(column.missing_values),
        **{each: list(value) if isinstance(value, tuple) else value for each, value in own.items()},
        **{each: sign for each, sign in written.items() if sign != _WRITTEN[each]},
    }


def columns_from_dict(state: Any) -> dict[str, Column]:
    """Return the columns of a document.

    Parameters
    ----------
    state : object
        Parsed JSON.

    Returns
    -------
    columns : dict

    Raises
    ------
    ValueError
        Anything that `columns_to_dict` does not return; the message repeats no content.
    """
    check_envelope(state, FORMAT, VERSION, ("columns",))
    fields = Fields({"columns": state["columns"]}, ("columns",), what="the domain")
    try:
        found = [_column_from_dict(one) for one in fields.items("columns")]
    except UNREADABLE as error:
        raise ValueError(f"a column of it is no declaration: {error}") from None
    if len(dict(found)) < len(found):
        raise ValueError("it declares a column twice")
    return dict(found)


def _column_from_dict(state: Any) -> tuple[str, Column]:
    kind = state.get("kind") if isinstance(state, dict) else None
    if type(kind) is not str or kind not in _KINDS:
        raise ValueError("its kind must be one of " + ", ".join(_KINDS))
    build, own = _KINDS[kind]
    written = [name for name in _WRITTEN if name in state and hasattr(build, name)]
    readers: dict[str, Callable[..., Any]] = {
        **own,
        **dict.fromkeys(written, Fields.text),
        "missing": Fields.text,
        "missing_values": Fields.items,
    }
    fields = Fields(state, ("name", "kind", "fill", *readers), what="a column")
    given = {name: read(fields, name) for name, read in readers.items()}
    return fields.text("name"), build(fill=state["fill"], **given)


_BOUNDS: dict[str, Callable[..., Any]] = {"lower": Fields.number, "upper": Fields.number}
# The class of every kind, and how the fields that it has beside those of all are read.
_KINDS: dict[str, tuple[Callable[..., Column], dict[str, Callable[..., Any]]]] = {
    "number": (NumberColumn, _BOUNDS),
    "stress": (StressColumn, {**_BOUNDS, "law": Fields.text}),
    "date": (DateColumn, {"lower": Fields.text, "upper": Fields.text}),
    "categorical": (CategoricalColumn, {"levels": Fields.items, "ordered": Fields.flag}),
    "boolean": (BooleanColumn, {}),
}
