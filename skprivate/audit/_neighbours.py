# SPDX-License-Identifier: BSD-3-Clause
"""Data sets that differ in one unit, as far apart as the declared domain allows, and further."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from ..accounting import PrivacyLedger
from ..base._pipeline_report import last_step
from ..utils import check_bounds
from ..utils._public_module import public_module
from ._observation.patches import replacements
from ._observation.randomness import frozen_randomness, state_of_generators
from ._observation.recorder import Recording, listening, record_releases

Arguments = dict[str, Any]

_ROWS = 24
_FAR = 1e300
# A label that nobody declares.
_STRANGE = {"U": "zzz-undeclared", "i": 987654, "u": 987654, "f": 987654.5, "b": True}


@public_module("skprivate.audit")
@dataclass(frozen=True, eq=False, kw_only=True)
class AuditCase:
    """An estimator with the data sets on which it is audited.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with its domain declared (bounds, classes) as a private fit needs it.
    data_sets : tuple of dict
        Arguments of ``fit``; neighbours of one another.
    pairs : tuple of pairs of int, default=None
        Which of them are neighbours. None: every two of them.
    unrelated_data_sets : tuple of dict, default=()
        Arguments of ``fit`` with as many rows, all of them others but the public ones. Handed the same
        outputs, even they must end in the same object.
    released : callable, default=None
        Takes the fitted estimator and returns the numbers that it released, as they were released: integers,
        or floats on the grid. None: what skprivate's mechanisms returned.
    reference : callable, default=None
        Takes the arguments of ``fit`` and returns the non-private model's answer, which ``answer`` approaches
        as epsilon grows.
    answer : callable, default=None
        Takes the fitted estimator and the arguments of ``fit``. None: ``predict`` of the rows.
    recorder : callable, default=None
        Stands for `record_releases` where noise is added in another way: ``recorder(script)`` is a context
        manager that yields a `Recording`.
    n_trials : int, default=1000
        Fits of either neighbour in the audit of whole fits. Near epsilon 1.5, noise of half the scale takes
        1,000, and noise 1.25 times too small 20,000; fewer if they take too long. Noise of skprivate is
        judged without any.
    relation : {"replace-one", "add-remove", "label", "local"}, default="replace-one"
        Which data sets the estimator calls neighbours: it is by this that further ones are searched for,
        within the declared domain, where ``fit`` takes rows ``X``.
    thorough : bool, default=False
        Search for up to a minute, not ten seconds, and audit whole fits in any case.
    notes : dict, default={}
        Name of a check -> why it does not apply. Shown as the reason of the skip.

    Examples
    --------
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.audit import AuditCase
    >>> case = AuditCase.of(DPTreeClassifier(max_depth=2, bounds=(0, 1), classes=[0, 1]))
    >>> sorted(case.data_sets[0])
    ['X', 'y']
    """

    estimator: Any
    data_sets: tuple[Arguments, ...]
    pairs: tuple[tuple[int, int], ...] | None = None
    unrelated_data_sets: tuple[Arguments, ...] = ()
    released: Callable[[Any], Any] | None = None
    reference: Callable[..., Any] | None = None
    answer: Callable[..., Any] | None = None
    recorder: Callable[..., Any] | None = None
    n_trials: int = 1000
    relation: str = "replace-one"
    thorough: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, estimator: Any, data: Mapping[str, Any] | None = None, **options: Any) -> "AuditCase":
        """Make the data sets from the estimator's declared domain.

        Parameters
        ----------
        estimator : estimator
        data : mapping, default=None
            Arguments of ``fit``: the last private row (with ``groups``: the last person) is replaced by
            extreme ones. None: random rows within the declared bounds and classes.
        **options : dict
            Fields of the case.

        Returns
        -------
        case : AuditCase

        Raises
        ------
        TypeError
            That is no estimator, or `data` are no arguments of ``fit`` by name.
        """
        if isinstance(estimator, type) or not (
            hasattr(estimator, "fit") and hasattr(estimator, "get_params")
        ):
            raise TypeError(f"estimator must be an unfitted estimator, not {_kind(estimator)}.")
        if data is not None and not (isinstance(data, Mapping) and "X" in data):
            raise TypeError('data must be a mapping of arguments of fit, such as {"X": X, "y": y}.')
        rows = dict(make_rows(estimator) if data is None else data)
        relation = declared_relation(estimator, rows)
        only_label = relation == "label"
        variants = list(extreme_variants(estimator, rows, only_label=only_label))
        unrelated_data_sets = tuple(make_unrelated_data_sets(estimator, rows, only_label=only_label))
        if relation == "add-remove":
            variants = [without_unit(rows), *variants]
        pairs = tuple((0, k) for k in range(1, len(variants))) if relation == "add-remove" else None
        return cls(
            estimator=estimator,
            data_sets=tuple(variants),
            **{"pairs": pairs, "unrelated_data_sets": unrelated_data_sets, "relation": relation, **options},
        )

    @property
    def neighbours(self) -> tuple[tuple[int, int], ...]:
        """Positions of the data sets that are neighbours."""
        return self.pairs or tuple(combinations(range(len(self.data_sets)), 2))

    @property
    def can_be_recorded(self) -> bool:
        """Whether what a fit draws tells what it releases: not if it keeps the best of several draws."""
        return bool(getattr(last_step(self.estimator), "releases_all_draws", True))

    def make(self, **parameters: Any) -> Any:
        """Return an unfitted copy without a ledger, with other parameters where the estimator has them."""
        copy = without_ledgers(clone(self.estimator))
        known = copy.get_params(deep=False)
        return copy.set_params(**{name: value for name, value in parameters.items() if name in known})

    def has(self, *names: str) -> bool:
        """Whether the estimator has these parameters."""
        return set(names) <= set(self.estimator.get_params(deep=False))

    def fit(self, data: int | Arguments, estimator: Any = None, **parameters: Any) -> Any:
        """Return a fitted copy; its warnings are not shown."""
        return self.listen(data, estimator, **parameters)[0]

    def listen(
        self, data: int | Arguments, estimator: Any = None, **parameters: Any
    ) -> tuple[Any, list[str]]:
        """Return a fitted copy, and what it warned of."""
        arguments = self.data_sets[data] if isinstance(data, int) else data
        model = self.make(**parameters) if estimator is None else estimator
        with replacements() as undo:
            caught: Any = undo.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            model = fit_with(model, arguments)
        return model, [f"{one.category.__name__}: {one.message}" for one in caught]

    def record(
        self,
        data: int | Arguments,
        script: Sequence[NDArray[Any]] | None = None,
        *,
        seed: int = 0,
        extreme: str | None = None,
        **parameters: Any,
    ) -> tuple[Any, Recording]:
        """Return a fitted copy and what it released; with a script, what it is made to release.

        What else is random, which rows of a person count say, is the same choice in all such fits: see
        `frozen_randomness`, which takes `seed` and `extreme`.
        """
        if not vars(self).get("_started"):
            # What a first fit makes for the whole process, a generator say, must not be made repeatable.
            vars(self)["_started"] = True
            with contextlib.suppress(Exception):
                self.fit(data)
        with (
            frozen_randomness(seed, extreme),
            (self.recorder or record_releases)(script) as recording,
            listening() as heard,
        ):
            model, warned = self.listen(data, self.make(**parameters))
            recording.generators = state_of_generators()
        recording.said = [*warned, heard()]
        return model, recording


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def without_ledgers(estimator: Any) -> Any:
    """Return an estimator without its ledgers, those of its steps included: no audit spends a budget."""
    known = estimator.get_params(deep=True)
    ledgers = [name for name, value in known.items() if isinstance(value, PrivacyLedger)]
    return estimator.set_params(**dict.fromkeys(ledgers))


def fit_with(model: Any, arguments: Mapping[str, Any], method: str = "fit") -> Any:
    """Call ``fit``, or another method: X and y, where there are any, by position."""
    rest = {name: value for name, value in arguments.items() if name not in ("X", "y")}
    return getattr(model, method)(*(arguments[name] for name in ("X", "y") if name in arguments), **rest)


def declared(estimator: Any, name: str) -> Any:
    """Return a parameter of an estimator, or of the last step of a pipeline; None if it has none."""
    last = last_step(estimator)
    return last.get_params(deep=False).get(name) if hasattr(last, "get_params") else None


def make_rows(estimator: Any, n: int = _ROWS, seed: int = 0, width: int = 2) -> Arguments:
    """Return random rows within the declared domain."""
    rng = np.random.default_rng(seed)
    lower, upper = domain_of_X(estimator, width)
    X = rng.uniform(lower, upper, (n, len(lower)))
    if is_classifier(estimator):
        classes = np.asarray(domain_of_y(estimator))
        return {"X": X, "y": classes[rng.integers(len(classes), size=n)]}
    if is_regressor(estimator):
        low, high = domain_of_y(estimator)
        return {"X": X, "y": low + (high - low) * rng.random(n)}
    return {"X": X}


def domain_of_X(estimator: Any, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the declared bounds of X, [-1, 1] where there are none."""
    for name in ("bounds", "bounds_X"):
        bounds = declared(estimator, name)
        if bounds is not None:
            sizes = [n_features, *(np.size(b) for b in bounds if np.ndim(b))] if len(bounds) == 2 else []
            return check_bounds(bounds, sizes[-1] if sizes else n_features, name=name)
    return -np.ones(n_features), np.ones(n_features)


def domain_of_y(estimator: Any) -> Any:
    """Return the declared classes, or bounds of the target."""
    if is_classifier(estimator):
        classes = declared(estimator, "classes")
        return [0, 1] if classes is None else classes
    bounds = declared(estimator, "bounds_y")
    if bounds is not None:
        return bounds
    positive = last_step(estimator).__sklearn_tags__().target_tags.positive_only
    return (0.5, 2.0) if positive else (-1.0, 1.0)


def declared_relation(estimator: Any, rows: Arguments) -> str:
    """Return which data sets the estimator calls neighbours, from a trial fit."""
    asked = declared(estimator, "relation")
    if isinstance(asked, str):
        return asked
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        model = without_ledgers(clone(estimator))
        return str(fit_with(model, rows).privacy_spent_.relation)
    return "replace-one"


def unit_of(rows: Arguments) -> NDArray[np.intp]:
    """Return the rows of the unit that differs: the last private one, or those of its person."""
    private = private_rows(rows)
    last = int(np.flatnonzero(private)[-1])
    if rows.get("groups") is None:
        return np.array([last])
    groups = np.asarray(rows["groups"])
    return np.flatnonzero((groups == groups[last]) & private)


def private_rows(rows: Arguments) -> NDArray[np.bool_]:
    """Return which rows are private: all that are not marked public."""
    public = rows.get("is_public")
    return np.ones(len(rows["X"]), dtype=bool) if public is None else ~np.asarray(public, dtype=bool)


def units_of(rows: Arguments) -> list[NDArray[np.intp]]:
    """Return the rows of every private unit: one each, or those of one person."""
    private = np.flatnonzero(private_rows(rows))
    if rows.get("groups") is None:
        return list(private[:, None])
    groups = np.asarray(rows["groups"])[private]
    return [private[groups == person] for person in dict.fromkeys(groups.tolist())]


def without_unit(rows: Arguments, unit: NDArray[np.intp] | None = None) -> Arguments:
    """Return the data set without one unit."""
    keep = np.ones(len(rows["X"]), dtype=bool)
    keep[unit_of(rows) if unit is None else unit] = False
    return take_rows(rows, keep)


def take_rows(rows: Arguments, keep: NDArray[np.bool_]) -> Arguments:
    """Return some rows of a data set."""
    return {k: np.asarray(v)[keep] if is_column(v, rows) else v for k, v in rows.items()}


def is_column(value: Any, rows: Arguments) -> bool:
    """Whether an argument has one entry a row."""
    return np.ndim(value) > 0 and len(value) == len(rows["X"])


def with_unit(rows: Arguments, **values: Any) -> Arguments:
    """Return the data set with other values of the last unit."""
    changed, unit = dict(rows), unit_of(rows)
    for name, value in values.items():
        column = np.array(rows[name])
        if column.dtype.kind == "U":
            # A longer text must not be cut.
            column = column.astype(np.result_type(column.dtype, np.asarray(value).dtype))
        column[unit] = value
        changed[name] = column
    return changed


def extreme_variants(estimator: Any, rows: Arguments, *, only_label: bool = False) -> Iterator[Arguments]:
    """Yield the data set with the most extreme units."""
    width = np.shape(rows["X"])[1]
    lower, upper = domain_of_X(estimator, width)
    middle = np.where(np.arange(width) % 2 == 0, lower, upper)
    corners = [lower, upper, middle, np.full(width, -_FAR), np.full(width, _FAR), 0.5 * (lower + upper)]
    targets = list(extreme_targets(estimator, rows)) if rows.get("y") is not None else []
    if only_label:
        yield from (with_unit(rows, y=target) for target in targets)
        return
    for k, corner in enumerate(corners):
        if not targets:
            yield with_unit(rows, X=corner)
        # Every target meets the first two corners; the others take turns.
        for target in targets if k < 2 else targets[k % len(targets) :: len(targets)] if targets else []:
            yield with_unit(rows, X=corner, y=target)


def make_unrelated_data_sets(
    estimator: Any, rows: Arguments, *, only_label: bool = False
) -> Iterator[Arguments]:
    """Yield the data set with all private rows at one end of the domain, and at the other."""
    private = private_rows(rows)
    targets = list(extreme_targets(estimator, rows)) if rows.get("y") is not None else [None]
    for corner, target in zip(domain_of_X(estimator, np.shape(rows["X"])[1]), targets[:2], strict=False):
        changed = dict(rows)
        if not only_label:
            changed["X"] = np.where(private[:, None], corner, np.asarray(rows["X"]))
        if target is not None:
            changed["y"] = np.array(rows["y"])
            changed["y"][private] = target
        yield changed


def extreme_targets(estimator: Any, rows: Arguments) -> Iterator[Any]:
    """Yield targets at the ends of the domain and beyond."""
    y = np.asarray(rows["y"])
    low, *_, high = domain_of_y(estimator)
    if is_classifier(estimator):
        yield from domain_of_y(estimator)
        yield strange_label(y)
        return
    positive = estimator.__sklearn_tags__().target_tags.positive_only or y.dtype.names is not None
    ends = [low, high, 1e-300 if positive else -_FAR, _FAR]
    if y.dtype.names is None:
        yield from ends
        return
    yield from ((event, end) for end in ends for event in (True, False))


def strange_label(y: NDArray[Any]) -> Any:
    """Return a label of the same type that no class has."""
    kind = y.dtype.kind
    return _STRANGE.get(kind, _STRANGE["U"])
