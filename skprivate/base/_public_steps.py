# SPDX-License-Identifier: BSD-3-Clause
"""Steps that a user declares public, and NumPy functions that never warn."""

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from .._config import get_config
from ..utils import is_frame
from ..utils._public_module import public_module
from ..utils._refused_values import refuse_text
from ..utils._replacements import numbers_of


@public_module("skprivate.base")
class PublicEstimator(FrozenEstimator):
    """Hold a fitted estimator that you declare public: it was fitted on public rows, or is published anyway.

    It is scikit-learn's ``FrozenEstimator`` with a declaration: ``fit`` does nothing, a clone is the object
    itself, and all else is done by the estimator inside. It works in pipelines and in private searches, and
    the declaration travels with a pickle.

    Parameters
    ----------
    estimator : estimator
        Fitted.

    See Also
    --------
    skprivate.privacy_report : Names it as declared public by you.

    Notes
    -----
    **Privacy.** Nothing is read from the rows of a pipeline's fit. That the estimator inside tells nothing
    about private rows is your word, and is printed as such.

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
            # While it is unpickled there is nothing to ask yet.
            raise AttributeError(name)
        return super().__getattr__(name)


@public_module("skprivate.preprocessing")
class SilentUfunc:
    """Call a function of NumPy value by value, without its floating-point warnings.

    ``np.log`` warns where it meets 0, ``np.exp`` where it overflows: one private row is enough, and where
    warnings are errors it makes a fit fail. To be put into scikit-learn's ``FunctionTransformer``; what has
    no result is NaN or infinite, as always. A table of objects or of text is read as numbers first, and a
    cell that is none is NaN: no cell makes the function fail.

    Parameters
    ----------
    ufunc : numpy.ufunc
        One of NumPy's own, of one argument and one result.

    Raises
    ------
    TypeError
        It is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from skprivate.preprocessing import SilentUfunc
    >>> FunctionTransformer(SilentUfunc(np.log)).fit_transform(np.array([[1.0], [0.0]]))
    array([[  0.],
           [-inf]])
    """

    def __init__(self, ufunc: np.ufunc) -> None:
        if not is_numpy_ufunc(ufunc):
            raise TypeError("ufunc must be a function of NumPy's own that takes and returns one value.")
        self.ufunc = ufunc

    def __call__(self, X: Any) -> Any:
        refuse_text(X, objects=get_config()["strict"])
        with np.errstate(all="ignore"):
            return self.ufunc(X if _holds_numbers(X) else numbers_of(X))

    def __repr__(self) -> str:
        return f"SilentUfunc(np.{self.ufunc.__name__})"

    def __eq__(self, other: object) -> bool:
        return type(other) is SilentUfunc and self.ufunc is other.ufunc

    def __hash__(self) -> int:
        return hash((SilentUfunc, self.ufunc.__name__))


def _holds_numbers(X: Any) -> bool:
    """Whether the types of a table say that all of its cells are numbers."""
    dtypes = list(X.dtypes) if is_frame(X) else [getattr(X, "dtype", np.dtype(object))]
    return not any(getattr(dtype, "kind", "") in "OUS" or str(dtype) in _NO_NUMBERS for dtype in dtypes)


# Types of polars, which have no kind.
_NO_NUMBERS = ("String", "Object", "Categorical")
# Those of NumPy itself; what np.frompyfunc returns runs code of anybody. Taken once: names can be rebound.
_UFUNCS = tuple(
    value
    for value in vars(np).values()
    if isinstance(value, np.ufunc) and (value.nin, value.nout, value.signature) == (1, 1, None)
)
# Whatever they meet, these raise no floating-point flag. A signaling NaN raises one where it is rounded; in a
# column of objects, an integer of NumPy may overflow in "absolute" and "negative".
_NEVER_WARN = ("fabs", "positive", "sign", "signbit", "conjugate", "isnan", "isinf", "isfinite")


def is_numpy_ufunc(func: Any) -> bool:
    """Whether this is one of NumPy's own functions of one value, by identity."""
    return any(func is own for own in _UFUNCS)


def never_warns(func: Any) -> bool:
    """Whether a function of NumPy is silent whatever the values are."""
    return func.__name__ in _NEVER_WARN
