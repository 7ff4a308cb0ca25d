# SPDX-License-Identifier: BSD-3-Clause
"""An estimator with the data sets on which it is audited, and its fits on them."""

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from ..._typing import Relation
from ...accounting import PrivacyLedger
from ...base._pipeline_report import last_step
from ...utils._public_module import public_module
from .._observation.controlled_runs import frozen_randomness, state_of_generators, temporary_patches
from .._observation.recorder import Recording, captured_output, record_releases
from .domain import Arguments, declared, make_rows, without_unit
from .neighbours import extreme_variants, make_unrelated_data_sets


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
        Stands for `record_releases` where noise is added in another way: ``recorder(given_outputs)``
        is a context manager that yields a `Recording`.
    n_trials : int, default=1000
        Fits of either neighbour in the audit of whole fits. Near epsilon 1.5, noise of half the scale takes
        1,000, and noise 1.25 times too small 20,000; fewer if they take too long. Noise of skprivate is
        judged without any.
    relation : {"replace-one", "add-remove", "label", "local"}, default="replace-one"
        Which data sets the estimator calls neighbours: it is by this that further ones are searched for,
        within the declared domain, where ``fit`` takes rows ``X``.
    thorough : bool, default=False
        Search for up to a minute, not ten seconds: more neighbours, more fits, and whole fits are counted
        even where their noise was recorded.
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
    relation: Relation = "replace-one"
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
        relation = _declared_relation(estimator, rows)
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
        """Whether what a fit draws is what it releases: not if it keeps the best of several draws."""
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
        return self.fit_with_warnings(data, estimator, **parameters)[0]

    def fit_with_warnings(
        self, data: int | Arguments, estimator: Any = None, **parameters: Any
    ) -> tuple[Any, list[str]]:
        """Return a fitted copy, and what it warned of."""
        arguments = self.data_sets[data] if isinstance(data, int) else data
        model = self.make(**parameters) if estimator is None else estimator
        with temporary_patches() as undo:
            caught: Any = undo.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            model = fit_with(model, arguments)
        return model, [f"{one.category.__name__}: {one.message}" for one in caught]

    def record(
        self,
        data: int | Arguments,
        given_outputs: Sequence[NDArray[Any]] | None = None,
        *,
        seed: int = 0,
        extreme: str | None = None,
        **parameters: Any,
    ) -> tuple[Any, Recording]:
        """Return a fitted copy and what it released; with `given_outputs`, what it is made to release.

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
            (self.recorder or record_releases)(given_outputs) as recording,
            captured_output() as heard,
        ):
            model, warned = self.fit_with_warnings(data, self.make(**parameters))
            recording.generator_digest = state_of_generators()
        recording.messages = [*warned, heard()]
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


def _declared_relation(estimator: Any, rows: Arguments) -> str:
    """Return which data sets the estimator calls neighbours, from a trial fit."""
    asked = declared(estimator, "relation")
    if isinstance(asked, str):
        return asked
    with contextlib.suppress(Exception):
        return str(fit_quietly(without_ledgers(clone(estimator)), rows).privacy_spent_.relation)
    return "replace-one"


def fit_quietly(model: Any, rows: Arguments) -> Any:
    """Fit without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_with(model, rows)
