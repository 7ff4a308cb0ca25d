# SPDX-License-Identifier: BSD-3-Clause
"""Labels: declared or found classes, and the position of every label among them.

All readers of labels use the same rule. White space around text is ignored, in declared classes and in cells,
and bytes count as the text that they encode. Booleans are numbers. The type of an array or a column is
public: numbers with classes of text, or text with classes of numbers, raise an error. A list and an array of
objects have no such type, and their cells are read one by one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import IndexArray
from ..utils import as_column, as_labels, check_characters
from ..utils._tables import holds_booleans, kind_of_labels
from ._readers import Known, classify, shown_levels

Label = str | int | float | bool

# Integers up to this one are different as floats.
_LARGEST_LABEL = 2**53
_NUMERIC = {int, float, bool, np.int64, np.float64, np.bool_}
# Largest number of classes whose codes are listed in a message.
_SHOWN = 3


def plain_classes(classes: Any) -> list[Label]:
    """Return declared classes as Python's text, numbers or booleans, in their declared order.

    Raises
    ------
    ValueError
        There are fewer than two, they are neither all text nor all finite numbers, or some are equal.
    """
    array = np.asarray(as_labels(classes))
    if array.ndim != 1 or len(array) < 2:
        raise ValueError("classes must be a list of two labels or more.")
    plain = [label.item() if isinstance(label, np.generic) else label for label in array.tolist()]
    labels: list[Any] = [classify(label)[1] if isinstance(label, bytes) else label for label in plain]
    is_text = {isinstance(label, str) for label in labels}
    # Also False for NaN.
    usable = all(isinstance(label, str | int | float) for label in labels) and all(
        isinstance(label, str) or abs(label) < np.inf for label in labels
    )
    if len(is_text) > 1 or not usable or len(set(map(plain_cell, labels))) < len(labels):
        raise ValueError(
            "classes must hold different labels, either all text or all finite numbers; white space around "
            "text does not count."
        )
    for label in labels:
        if isinstance(label, str):
            check_characters(label, "a label of classes")
        elif isinstance(label, int) and abs(label) > _LARGEST_LABEL:
            # One missing label turns a column into floats, which do not distinguish larger integers.
            raise ValueError("classes must be at most 2^53 in magnitude: declare them as text.")
    return labels


def declared_classes(classes: Any) -> NDArray[Any]:
    """Return declared classes, sorted; ValueError for invalid ones."""
    return np.unique(np.asarray(plain_classes(classes)))


def find_classes(labels: Any) -> NDArray[Any]:
    """Return the different labels, sorted, without white space around text.

    Whole numbers are integers, even from a column of floats. Otherwise the type would reveal that a private
    row has a missing label, or one that is not a whole number.
    """
    # Imported here: a client does not need scikit-learn.
    from sklearn.utils.multiclass import check_classification_targets

    labels = plain_labels(labels)
    check_classification_targets(labels)
    classes = np.unique(labels)
    if classes.dtype.kind == "f" and (classes % 1 == 0).all() and abs(classes).max() <= _LARGEST_LABEL:
        classes = classes.astype(np.int64)
    if len(classes) < 2:
        raise ValueError(
            "The rows from which the classes are read hold one class only: declare all with classes=[...]."
        )
    return classes


def plain_labels(labels: Any) -> NDArray[Any]:
    """Return labels with the smallest type that holds them, without white space around text."""
    array = np.asarray(as_labels(labels))
    if array.dtype.kind in "OT":
        array = np.asarray(array.tolist())
    if array.dtype.kind == "S":
        array = np.strings.decode(array, "utf-8", "replace")
    # From a list: otherwise the width of the type would reveal the longest label of other rows.
    return np.asarray(np.strings.strip(array).tolist()) if array.dtype.kind == "U" else array


def refuse_label_types(labels: Any, classes: Any, name: str = "y") -> None:
    """Raise TypeError if the type of a whole column does not fit the declared classes.

    Parameters
    ----------
    labels : array-like or column
        Only its type is read.
    classes : array-like or None
        Declared classes; None: nothing is refused.
    name : str, default="y"
        Name in messages.
    """
    kind = None if classes is None else kind_of_labels(labels)
    if kind is None:
        return
    if kind == "complex":
        raise TypeError(f"{name} must hold text, numbers or booleans, not complex numbers.")
    declared = plain_classes(classes)
    if isinstance(declared[0], str) is (kind == "text"):
        if holds_booleans(labels) and not {0, 1} <= set(declared):
            raise TypeError(
                f"{name} holds booleans, which are not in classes=[{shown_levels(declared)}]: declare "
                "classes=[False, True]."
            )
        return
    known = f"classes=[{shown_levels(declared)}]"
    if kind == "text":
        raise TypeError(
            f"{name} holds text, but {known} are numbers. Declare the classes as they are written in "
            f"{name}, such as classes=[{shown_levels([*map(str, declared)])}], or turn {name} into numbers."
        )
    codes = str(list(range(len(declared)))) if len(declared) <= _SHOWN else f"range({len(declared)})"
    pairs = "" if len(declared) == 2 else ", or [0, 1] where every member is about two of them"
    raise TypeError(
        f"{name} holds numbers or booleans, but {known} are text. Inside a meta-estimator "
        "that encodes labels (VotingClassifier, OneVsRestClassifier, cross_val_predict with "
        f"method='predict_proba', ...) declare classes={codes}{pairs}. Otherwise declare the classes as they "
        f"are in {name}, or turn {name} into text as it is in the classes."
    )


def refuse_unknown_labels(public_labels: Any, classes: NDArray[Any]) -> None:
    """Raise ValueError if labels of public rows are not among the declared classes."""
    refuse_label_types(public_labels, classes, "the target of the public rows")
    array = np.asarray(as_labels(public_labels))
    unknown = array[number_labels(array, classes, elsewhere=-1) < 0]
    if len(unknown):
        plain = (label.item() if isinstance(label, np.generic) else label for label in unknown.tolist())
        found = {repr(label): label for label in plain}
        raise ValueError(
            f"public rows have labels outside classes=[{shown_levels(np.asarray(classes).tolist())}]: "
            f"[{shown_levels(list(found.values()))}]. Declare these too, or correct the spelling of the "
            "classes or of the labels."
        )


def number_labels(labels: Any, classes: Any, elsewhere: int = 0) -> NDArray[np.int32]:
    """Return the position of every label among the classes; no label raises an error.

    Parameters
    ----------
    labels : ndarray or column of shape (n,)
    classes : sequence of labels, or ndarray
    elsewhere : int, default=0
        Position of a label that is not a class.

    Returns
    -------
    positions : ndarray of int32 of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.domain._labels import number_labels
    >>> number_labels(np.array(["no", " yes", "Yes"]), ["no", "yes"])
    array([0, 1, 0], dtype=int32)
    """
    array = np.asarray(labels)
    if array.dtype.kind == "S":
        array = np.strings.decode(array, "utf-8", "replace")
    positions = class_positions(classes)
    if array.dtype.kind in "biuf":
        return _compared(array, positions, elsewhere)
    if array.dtype.kind == "U":
        found = _compared(array, positions, -1)
        # Only few labels have white space around them.
        rest = np.flatnonzero(found < 0)
        found[rest] = _compared(np.strings.strip(array[rest]), positions, elsewhere)
        return found
    known = Known(lambda text: positions.get(text.strip(), elsewhere))
    cells = [
        known[cell] if type(cell) is str else positions.get(plain_cell(cell), elsewhere)
        for cell in array.tolist()
    ]
    return np.array(cells, dtype=np.int32)


def codes_of(values: Any, levels: Any, elsewhere: int, n_rows: int, name: str) -> IndexArray:
    """Return the position of the level of every row by `number_labels`; there must be one value per row."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array.")
    array = np.asarray(as_column(values))
    if array.shape != (n_rows,):
        raise ValueError(f"{name} must have one value per row of X.")
    return number_labels(array, levels, elsewhere).astype(np.intp)


def class_positions(classes: Any) -> dict[Any, int]:
    """Return the position of every class, by its `plain_cell`."""
    labels = classes.tolist() if isinstance(classes, np.ndarray) else classes
    return {plain_cell(label): position for position, label in enumerate(labels)}


def plain_cells(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the `plain_cell` of every object of an array; a typed array is not changed."""
    if labels.dtype.kind not in "OT":
        return labels
    texts = Known(str.strip)
    plain = np.empty(len(labels), dtype=object)
    plain[:] = [texts[cell] if type(cell) is str else plain_cell(cell) for cell in labels.tolist()]
    return plain


def plain_cell(cell: Any) -> Any:
    """Return text without white space around it, or a number; None for any other cell.

    No object raises an error, and the result can be compared with any class.
    """
    if type(cell) in _NUMERIC:
        return cell
    kind, value = classify(cell)
    if kind == "text" and type(value) is str and issubclass(type(cell), str | bytes):
        return value.strip()
    return value if kind == "number" else None


def _compared(labels: NDArray[Any], positions: dict[Any, int], elsewhere: int) -> NDArray[np.int32]:
    """Return positions of labels of one type, by one comparison for each class."""
    if not all(isinstance(label, str) is (labels.dtype.kind == "U") for label in positions):
        return np.full(len(labels), elsewhere, dtype=np.int32)
    if elsewhere > 0:
        known = _compared(labels, positions, -1)
        return np.where(known < 0, np.int32(elsewhere), known)
    # Counted from `elsewhere`, so that the largest product is the position.
    found = np.zeros(len(labels), dtype=np.int32)
    for label, position in positions.items():
        if position > elsewhere:
            # Not with a mask, which takes seven times as long on labels in random order.
            np.maximum(found, np.multiply(labels == label, position - elsewhere, dtype=np.int32), out=found)
    return found + np.int32(elsewhere) if elsewhere else found
