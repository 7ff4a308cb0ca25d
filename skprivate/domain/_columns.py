# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of single columns (kind, bounds or levels, missing cells), and their documents."""

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
# Fields that a document has only if the text of a column has another format than usual.
_WRITTEN = {"decimal": ".", "thousands": None, "unit": None, "format": None}

StressLaw = Literal["arrhenius", "arrhenius-kelvin", "inverse-power"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Column:
    """Base of all declarations: the rule for missing cells, and the values that mean a missing one."""

    kind: ClassVar[str]
    #: The rule if values are declared that mean a missing one, and no rule is given.
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
        """Return the column with its own declaration of missing values and that of the table."""
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
        """Return the public bounds of the values before encoding."""
        return self.encoded_bounds()

    def encode_values(self, values: FloatArray) -> FloatArray:
        """Return encoded values of finite ones, for columns that are encoded as one column."""
        return values

    def fill_value(self) -> float | None:
        """Return the encoded value of a missing one; None for a row of zeros."""
        low, high = self.encoded_bounds()
        # Bounds are halved first: the sum of two large ones is infinite.
        return low / 2 + high / 2

    def _check_declaration(self) -> None:
        raise NotImplementedError

    def _check_markers(self) -> None:
        """Refuse a marker that is also a value; for numbers and dates every value may be a marker."""

    def __repr__(self) -> str:
        # Required parameters first, then those that differ from their defaults.
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
        """Check the bounds, and the fill value if one is declared."""
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
        Bounds in the column's unit, from public knowledge. `TableDomain.encode` keeps a value beyond them,
        and the estimators clip it.
    missing : {"error", "fill", "indicator"}, default=None
        Rule for missing cells. "fill" writes ``fill``. "indicator" does the same, and adds a column that is 1
        if the value is missing. "error" raises an error, but in strict mode, where no cell may raise one, it
        acts as "fill". None: the rule of the table, or "fill" if values are declared that mean a missing one.
    fill : float, default=None
        A value within the bounds. None: the middle of the bounds.
    missing_values : sequence of str, int or float, default=()
        Values in this column that mean a missing one, in addition to None, NaN and empty text.
    decimal : str, default="."
        The sign before the decimals of a number in text: "," reads "0,5". It has no effect on cells that are
        numbers, on bounds, ``fill`` and missing values.
    thousands : str, default=None
        The sign between groups of three digits of a number in text: "," reads "1,234" as 1234. None: there is
        no such sign.
    unit : str, default=None
        Text before or behind a number, with or without a space, which is ignored: "%" reads "5 %" as 5. None:
        there is no unit.

    Raises
    ------
    TypeError, ValueError
        Bounds are not numbers, not finite or not in order. ``fill`` is beyond them, or the rule is unknown.
        ``decimal`` or ``thousands`` is not a single sign, or both are equal.

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
        """The format of numbers in text."""
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

    It is encoded as the number of days since ``lower``, with a fraction for the time of day.

    Parameters
    ----------
    lower, upper : str, datetime.date, datetime.datetime or numpy.datetime64
        Bounds, from public knowledge. Text is ISO 8601, such as "2001-01-31" or "2001-01-31T12:30".
    missing : {"error", "fill", "indicator"}, default=None
        As in `NumberColumn`.
    fill : as ``lower``, default=None
        A date within the bounds. None: the middle of the bounds.
    missing_values : sequence of str, int or float, default=()
        As in `NumberColumn`. Text that is a date means that date in any format.
    format : str, default=None
        Format of dates in text, with ``%Y`` (or ``%y``, from 1969 to 2068), ``%m``, ``%d``, ``%H``, ``%M``,
        ``%S`` and ``%f`` as in `datetime.datetime.strptime`: "%d/%m/%Y" reads "31/01/2001". None: ISO 8601.
        Text in another format is not a value of the column. Bounds and ``fill`` are ISO 8601.

    Raises
    ------
    TypeError, ValueError
        Bounds are not dates or not in order. ``fill`` is beyond them, or the rule is unknown. The format
        lacks year, month or day, or has other fields, whose meaning depends on the language of the machine.

    See Also
    --------
    TableDomain : Holds the columns of a table.

    Notes
    -----
    A time with a zone is converted to UTC. A time without a zone is read as UTC. Fractions of a microsecond
    are cut off.

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
    """A column of true and false values.

    It is encoded as 1 and 0. The numbers 1 and 0 and the texts true, false, yes, no, 1 and 0, in upper or
    lower case, are read as booleans.

    Parameters
    ----------
    missing : {"error", "fill", "indicator"}, default=None
        As in `NumberColumn`, but None is "indicator" if values are declared that mean a missing one.
    fill : bool, default=None
        The value of a missing cell. None: it is encoded as 0.5.
    missing_values : sequence of str, int or float, default=()
        As in `NumberColumn`.

    Raises
    ------
    TypeError, ValueError
        ``fill`` is not a boolean, a missing value reads as one, or the rule is unknown.

    See Also
    --------
    TableDomain : Holds the columns of a table; there ``bool`` is short for this class.

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
        All text, all numbers or all booleans, each once. Spaces around text are ignored.
    ordered : bool, default=False
        False: encoded as one column for each level, 1 if the row has it and 0 otherwise. True: encoded as one
        column, the position of the level from 0.
    missing : {"error", "fill", "indicator"}, default=None
        As in `NumberColumn`, but None is "indicator", a separate column for missing, if values are declared
        that mean a missing one.
    fill : str, int, float or bool, default=None
        The level of a missing cell. None: the middle of the positions of ordered levels, or zeros in all
        columns of levels without an order.
    missing_values : sequence of str, int or float, default=()
        As in `NumberColumn`.

    Raises
    ------
    TypeError, ValueError
        There are no levels, repeated ones, or levels of several types. A single level is declared as ordered.
        ``fill`` is not a level, a missing value is one, or the rule is unknown.

    See Also
    --------
    TableDomain : Holds the columns of a table; there a list of levels is short for this class.

    Notes
    -----
    Levels that are text match equal text, and numbers whose text is equal: 12 and 12.0 match "12". Levels
    that are numbers match equal numbers, and text of such a number.

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
            raise ValueError("a single level cannot be ordered.")
        if self.fill is not None:
            fill = texts.plain_level(self.fill)
            # Types are compared too: among levels, True is not 1.
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
        Limit above which stresses must lie.
    reciprocal : bool
        True: 11604.5 / (stress - zero), in 1/eV; False: the natural logarithm.
    """

    zero: float
    reciprocal: bool

    def transform(self, stress: FloatArray) -> FloatArray:
        """Return the transformed values; NaN if the transform is not defined, or has no finite value."""
        with np.errstate(all="ignore"):
            above = stress - self.zero
            values = KELVIN_PER_EV / above if self.reciprocal else np.log(above)
            found: FloatArray = np.where((above > 0) & np.isfinite(values), values, np.nan)
        return found

    def invert(self, values: FloatArray) -> FloatArray:
        """Return the stresses of transformed values; NaN or infinite if there is none."""
        with np.errstate(all="ignore"):
            # One by one, because the exponential of an array may be rounded differently from that of a
            # number.
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
    """A column of stresses between public bounds, encoded by its relation to log lifetimes.

    The slope of a regressor of lifetimes is then the parameter that engineers quote: the activation energy in
    electronvolts, or minus the exponent of the inverse power relation. Tables, bounds and predictions stay in
    the unit of the stress.

    Parameters
    ----------
    lower, upper : float
        Bounds in the unit of the stress, from public knowledge, above the limit of the relation.
        `TableDomain.encode` keeps a value beyond them, and the estimators clip it when they are fitted.
    law : {"arrhenius", "arrhenius-kelvin", "inverse-power"}
        Relation of the stress to log lifetimes. "arrhenius": a temperature T in degrees Celsius, encoded as
        11604.5 / (T + 273.15) in 1/eV, with T above -273.15. "arrhenius-kelvin": the same for kelvins above
        0. "inverse-power": a voltage, load or relative humidity above 0, encoded as its natural logarithm. A
        temperature with "arrhenius" and a humidity with "inverse-power" are Peck's model.
    missing : {"error", "fill", "indicator"}, default=None
        As in `NumberColumn`.
    fill : float, default=None
        A value within the bounds. None: the middle of the encoded bounds.
    missing_values : sequence of str, int or float, default=()
        As in `NumberColumn`.

    Raises
    ------
    TypeError, ValueError
        As in `NumberColumn`. Also for an unknown ``law``, and for bounds for which it is not defined.

    See Also
    --------
    skprivate.DPLogLocationScaleRegressor.acceleration_factor : Factor by which lifetimes are longer at use.

    Notes
    -----
    **Privacy.** ``law`` and the bounds are public. A stress for which ``law`` is not defined raises an error
    that shows no value. In strict mode it counts as missing, and is replaced by ``fill``.

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
        """The relation as a function."""
        return LAWS[self.law]

    def suffixes(self) -> tuple[str, ...]:
        return (f":{self.law}",)

    def read_bounds(self) -> tuple[float, float]:
        return self.lower, self.upper

    def encode_values(self, values: FloatArray) -> FloatArray:
        return self.transform.transform(values)

    def encoded_bounds(self) -> tuple[float, float]:
        # Arrhenius' relation is decreasing.
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
    """Return the column of a declaration in its short or long form."""
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
        The document does not come from `columns_to_dict`; the message repeats no content.
    """
    check_envelope(state, FORMAT, VERSION, ("columns",))
    fields = Fields({"columns": state["columns"]}, ("columns",), what="the domain")
    try:
        found = [_column_from_dict(one) for one in fields.items("columns")]
    except UNREADABLE as error:
        raise ValueError(f"a column is not a valid declaration: {error}") from None
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
# The class of every kind, and the readers of its further fields.
_KINDS: dict[str, tuple[Callable[..., Column], dict[str, Callable[..., Any]]]] = {
    "number": (NumberColumn, _BOUNDS),
    "stress": (StressColumn, {**_BOUNDS, "law": Fields.text}),
    "date": (DateColumn, {"lower": Fields.text, "upper": Fields.text}),
    "categorical": (CategoricalColumn, {"levels": Fields.items, "ordered": Fields.flag}),
    "boolean": (BooleanColumn, {}),
}
