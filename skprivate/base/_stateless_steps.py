# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a pipeline that learn nothing from rows: declared ones, and those of scikit-learn.

A step counts as stateless if its attributes, names, types and warnings depend on no row. Any other step
counts as having read rows. `skprivate.audit.check_private_pipeline` tests this list.

**Types.** A fitted encoder or imputer keeps the type of its table. Any row fits into a table of 64-bit floats
or of objects, so the type of such a table is the same for all neighbours. One value of 0.5, or a missing one,
turns a column of integers into floats, so another type reveals something about a row. A list has no type of
its own: it gets one from its rows.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, OneHotEncoder, OrdinalEncoder

from .._config import get_config
from ..utils import is_frame
from ..utils._public_module import changed_class, changed_methods, public_module, remember
from ..utils._tables import numbers_of, refuse_text

# Steps that a user declares public, and NumPy functions that never warn.


@public_module("skprivate.base")
class PublicEstimator(FrozenEstimator):
    """Hold a fitted estimator that you declare public: it was fitted on public rows, or is published anyway.

    It is scikit-learn's ``FrozenEstimator`` with a declaration. ``fit`` does nothing, a clone is the object
    itself, and the estimator inside does all else. It works in pipelines and in private searches, and the
    declaration is kept in a pickle.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.

    See Also
    --------
    skprivate.privacy_report : Reports it as declared public by you.

    Notes
    -----
    **Privacy.** Nothing is read from the rows of a pipeline's fit. You declare that the estimator inside
    reveals nothing about private rows, and reports print this as your declaration.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skprivate import DPTreeClassifier, privacy_report
    >>> from skprivate.base import PublicEstimator
    >>> rng = np.random.default_rng(0)
    >>> X_public, X = rng.normal(size=(50, 2)), rng.normal(size=(500, 2))
    >>> scaler = PublicEstimator(StandardScaler().fit(X_public))
    >>> tree = DPTreeClassifier(bounds=(-5, 5), classes=[0, 1])
    >>> report = privacy_report(make_pipeline(scaler, tree).fit(X, np.arange(500) % 2))
    >>> print(report.claim, "|", report.steps[0])
    dp | publicestimator (PublicEstimator): public: declared public by you: the StandardScaler inside
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __getattr__(self, name: str) -> Any:
        if "estimator" not in vars(self):
            # During unpickling there is no estimator yet.
            raise AttributeError(name)
        return super().__getattr__(name)


@public_module("skprivate.preprocessing")
@dataclass(repr=False, unsafe_hash=True)
class SilentUfunc:
    """Call a function of NumPy value by value, without its floating-point warnings.

    ``np.log`` warns about 0, and ``np.exp`` about overflows. One private row is enough for a warning, and if
    warnings are errors, the fit fails. Put it into scikit-learn's ``FunctionTransformer``. Values without a
    result become NaN or infinite, as always. A table of objects or of text is read as numbers first, and
    cells that are no numbers become NaN, so no cell makes the function fail.

    Parameters
    ----------
    ufunc : numpy.ufunc
        A function of NumPy with one argument and one result.

    Raises
    ------
    TypeError
        It is no such function.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from skprivate.preprocessing import SilentUfunc
    >>> FunctionTransformer(SilentUfunc(np.log)).fit_transform(np.array([[1.0], [0.0]]))
    array([[  0.],
           [-inf]])
    """

    ufunc: np.ufunc

    def __post_init__(self) -> None:
        if not is_numpy_ufunc(self.ufunc):
            raise TypeError("ufunc must be one of NumPy's own functions that take and return one value.")

    def __call__(self, X: Any) -> Any:
        refuse_text(X, objects=get_config()["strict"])
        with np.errstate(all="ignore"):
            return self.ufunc(X if _holds_numbers(X) else numbers_of(X))

    def __repr__(self) -> str:
        return f"SilentUfunc(np.{self.ufunc.__name__})"


def _holds_numbers(X: Any) -> bool:
    """Whether all cells of a table are numbers, by its types."""
    dtypes = list(X.dtypes) if is_frame(X) else [getattr(X, "dtype", np.dtype(object))]
    return not any(getattr(dtype, "kind", "") in "OUS" or str(dtype) in _NO_NUMBERS for dtype in dtypes)


# Types of polars, which have no kind.
_NO_NUMBERS = ("String", "Object", "Categorical")
# NumPy's own functions. A result of np.frompyfunc can run any code. Read once, since names can be rebound.
_UFUNCS = tuple(
    value
    for value in vars(np).values()
    if isinstance(value, np.ufunc) and (value.nin, value.nout, value.signature) == (1, 1, None)
)
# These raise no floating-point flag for any value. (A signaling NaN raises one if it is rounded. In a column
# of objects, an integer of NumPy may overflow in "absolute" and "negative".)
_NEVER_WARN = ("fabs", "positive", "sign", "signbit", "conjugate", "isnan", "isinf", "isfinite")


def is_numpy_ufunc(func: Any) -> bool:
    """Whether this is, by identity, one of NumPy's own functions of one value."""
    return any(func is own for own in _UFUNCS)


# scikit-learn's steps that learn nothing from rows, and the parameters that this needs, by its source.

_LEARNS = "read private rows without spending budget"
_KEEPS_TYPE = (
    "keeps the type of the table, which one value can change; pass a table of 64-bit floats, or of text"
)
#: Types for any row: of NumPy, and, by their names, of columns of pandas and polars.
_ANY_ROW = (np.dtype(np.float64), np.dtype(object))
_ANY_ROW_OF_FRAMES = {"float64", "Float64", "object", "str", "string", "String"}


def holds_any_row(X: Any) -> bool:
    """Whether every row fits into a table of this type, so that the type reveals nothing."""
    if hasattr(X, "dtypes"):
        return {str(dtype) for dtype in X.dtypes} <= _ANY_ROW_OF_FRAMES
    dtype = getattr(X, "dtype", None)
    # A list has the type of its rows. Encoders read text of any width as objects.
    return dtype is not None and (dtype in _ANY_ROW or dtype.kind == "U")


def learns_from_rows(step: Any, *, any_row_fits: bool = True) -> str | None:
    """Return why a step that is no container may have read private rows; None if it is known not to.

    Parameters
    ----------
    step : estimator
        Only its exact class counts, since a subclass may do anything.
    any_row_fits : bool, default=True
        For an unfitted step: whether any row fits into its table. A fitted step shows it.
    """
    # By identity: a metaclass may say that its class equals any other.
    judge = next((judge for known, judge in _JUDGES.items() if type(step) is known), None)
    if judge is None:
        return _LEARNS
    reason = changed_methods(step) or _strange_parameter(step) or judge(step)
    if reason is None and isinstance(step, OneHotEncoder | OrdinalEncoder | SimpleImputer):
        return _keeps_type(step, any_row_fits)
    return reason


def chosen_by_rows(columns: Any) -> str | None:
    """Return why a choice of columns may depend on rows; None for names, positions, and name patterns."""
    if not callable(columns):
        return None
    if type(columns) is not make_column_selector:
        return "a function of the rows chose its columns"
    if columns.dtype_include is not None or columns.dtype_exclude is not None:
        return (
            "the types of the columns chose them, and one value can change a type; list names, or a pattern"
        )
    return None


def _strange_parameter(step: Any) -> str | None:
    """Return why a parameter may do anything with rows, as scikit-learn compares some of them with rows."""
    for name, value in step.get_params(deep=False).items():
        if name not in _CALLED and not _is_plain(value):
            return f"its {name} is of a class that may do anything with what it is compared with"
    return None


# Parameters that the judges check.
_CALLED = ("estimator", "func", "inverse_func", "kw_args", "inv_kw_args")
# Flags of a class: created at run time, and immutable. Classes of Python code have the first flag alone.
_MADE, _FIXED = 1 << 9, 1 << 8


def _is_plain(value: Any) -> bool:
    """Whether a value runs no Python code of others: a number, a text, a column of them, or similar."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    elif _is_of_frames(value):
        value = np.asarray(value) if hasattr(value, "dtype") else None
    elif type(value).__flags__ & (_MADE | _FIXED) == _MADE:
        return False
    if isinstance(value, np.ndarray):
        return value.dtype != object or all(map(_is_plain, value.ravel().tolist()))
    return not isinstance(value, list | tuple | set | frozenset) or all(map(_is_plain, value))


def _is_of_frames(value: Any) -> bool:
    """Whether pandas or polars defined a value: a column, a time stamp, or a missing value."""
    libraries = [sys.modules.get(name) for name in ("pandas", "pandas.arrays", "polars")]
    cls = type(value)
    return any(
        getattr(one, cls.__name__, None) is cls or getattr(one, "NA", libraries) is value for one in libraries
    )


def _vectorizer(step: HashingVectorizer) -> str | None:
    own = (step.strip_accents, step.preprocessor, step.tokenizer, step.analyzer)
    if any(callable(part) for part in own):
        return "runs code of its user on every row"
    return None if step.input == "content" else "reads files that rows name"


def _function(step: FunctionTransformer) -> str | None:
    func = step.func
    if callable(step.feature_names_out):
        return "a function of its user names its columns"
    if step.check_inverse and func is not None and step.inverse_func is not None:
        return "warns if its functions are not inverse to each other on the rows; pass check_inverse=False"
    if func is None:
        return None
    if type(func) is SilentUfunc and is_numpy_ufunc(func.ufunc) and not step.kw_args:
        return changed_class(type(func))
    if not is_numpy_ufunc(func) or step.kw_args:
        return "its function may read all rows at once"
    if func.__name__ not in _NEVER_WARN:
        return f"np.{func.__name__} warns about values in rows; pass SilentUfunc(np.{func.__name__})"
    return None


def _encoder(step: OneHotEncoder | OrdinalEncoder) -> str | None:
    if isinstance(step.categories, str):
        return "its categories were read from private rows; pass them"
    if step.min_frequency is not None or step.max_categories is not None:
        return "counts the rows of every category"
    if _learnt(vars(step).get("categories_"), step.categories):
        return "its fitted categories are not its parameter: it was fitted before this was set"
    if step.handle_unknown == "error":
        return "fails on a row with another category; pass another handle_unknown"
    if isinstance(step, OrdinalEncoder):
        return None
    if step.handle_unknown == "warn" or step.drop is not None:
        return 'warns about a row with another category; pass handle_unknown="ignore" and drop=None'
    if callable(step.feature_name_combiner):
        return "a function of its user names its columns"
    return None


def _imputer(step: SimpleImputer) -> str | None:
    if step.strategy != "constant":
        return _LEARNS
    if step.fill_value is None:
        return "its constant depends on the type of the table; pass fill_value"
    statistics = vars(step).get("statistics_")
    if statistics is not None and _learnt([statistics], [[step.fill_value] * len(statistics)]):
        return "its constants are not the fill_value: it was fitted before that was set"
    if not step.keep_empty_features:
        return "drops columns without values; pass keep_empty_features=True"
    return "shows which columns had missing values; pass add_indicator=False" if step.add_indicator else None


def _learnt(fitted: Any, given: Any) -> bool:
    """Whether the fitted values differ from the given ones, in the fitted type; a NaN equals a NaN."""
    if fitted is None:
        return False
    try:
        cast = [np.array(theirs, dtype=mine.dtype) for mine, theirs in zip(fitted, given, strict=True)]
    except (TypeError, ValueError):
        return True
    return any(_values(mine) != _values(theirs) for mine, theirs in zip(fitted, cast, strict=True))


def _values(array: np.ndarray[Any, Any]) -> list[Any]:
    return [None if isinstance(one, float) and one != one else one for one in array.tolist()]


_JUDGES: dict[type, Callable[[Any], str | None]] = {
    **dict.fromkeys((Binarizer, FeatureHasher, PublicEstimator), lambda step: None),
    FrozenEstimator: lambda step: (
        f"holds a {type(step.estimator).__name__} that was fitted before, on rows that are not declared "
        "public; see PublicEstimator"
    ),
    FunctionTransformer: _function,
    HashingVectorizer: _vectorizer,
    MissingIndicator: lambda step: (
        None if step.features == "all" else 'shows which columns had missing values; pass features="all"'
    ),
    Normalizer: lambda step: "its sums warn if they overflow" if step.norm == "l1" else None,
    OneHotEncoder: _encoder,
    OrdinalEncoder: _encoder,
    SimpleImputer: _imputer,
}
for _known in _JUDGES:
    remember(_known)


def _keeps_type(step: Any, any_row_fits: bool) -> str | None:
    """Return why the type that a fitted step keeps may depend on a row."""
    kept = [array.dtype for array in vars(step).get("categories_", ())]
    kept += [vars(step)["_fit_dtype"]] if "_fit_dtype" in vars(step) else []
    if not kept and not isinstance(step, SimpleImputer) and _are_words(step.categories):
        return None
    fits = all(dtype in _ANY_ROW for dtype in kept) if kept else any_row_fits
    return None if fits else _KEEPS_TYPE


def _are_words(categories: Any) -> bool:
    """Whether categories are texts that are no numbers: they stay objects for any rows."""
    return all(all(isinstance(one, str) for one in column) and not _numeric(column) for column in categories)


def _numeric(column: Any) -> bool:
    try:
        np.array(list(column), dtype=np.float64)
    except ValueError:
        return False
    return True


def may_be_sparse(step: Any, *, from_sparse: bool) -> bool:
    """Whether a step that is no container may return a sparse matrix, for dense or sparse input."""
    if type(step) is OneHotEncoder:
        return bool(step.sparse_output)
    if type(step) is MissingIndicator and step.sparse is False:
        return False
    if type(step) is FunctionTransformer and learns_from_rows(step) is None:
        return from_sparse
    return not refuses_sparse(step)


def refuses_sparse(step: Any) -> bool:
    """Whether a step is known to fail on a sparse matrix."""
    return type(step) in (OneHotEncoder, OrdinalEncoder) or bool(
        getattr(type(step), "_refuses_sparse", False)
    )
