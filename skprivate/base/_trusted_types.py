# SPDX-License-Identifier: BSD-3-Clause
"""List of the types that skops must trust to load fitted estimators of the package."""

from collections.abc import Iterator


def _of(room: str, names: str) -> tuple[str, ...]:
    return tuple(f"skprivate.{room}.{name}" for name in names.split())


# Statements, and estimated bounds.
_SPENT = (
    "fractions.Fraction",
    *_of("accounting", "EstimatedBounds FrozenMapping PackageRecord PrivacySpent ReleaseRecord"),
)
_TABLE = (*_SPENT, "skprivate.domain.TableDomain")
_RISK = _of("accounting", "DisclosureRisk FrozenMapping")
_LAPLACE = "skprivate.noise.DiscreteLaplaceMechanism"
# Trees with a public model; whether to trust its own type is for the user to decide.
_TREE = (
    *(*_TABLE, "skprivate.base.TableModel", "skprivate.partition.Partition", _LAPLACE),
    *_of("tree", "BaseRate LeafModel Mixture ModelWithOffsets TreeDesign"),
)
_LOCAL_TREE = (
    *(*_TREE, "numpy.dtype", "skprivate.tree.NaiveBayes"),
    *_of("partition", "ColumnBins TableCells"),
    *_of("randomizers", "ColumnRandomizer HadamardRandomizer KRRRandomizer LabelRandomizer"),
    *_of("randomizers", "LaplaceRandomizer SignedLaplaceRandomizer SubsetRandomizer UnaryRandomizer"),
)
_NUMBERS = _of("tree", "NumberCells NumberModel")
_LIFE = (
    *_TABLE,
    *_of(
        "linear_model",
        "CensoredRelease Correction CurvatureEstimate GradientRound HistogramRelease LawFit LevelModel "
        "LevelPlan LevelRelease Logistic Look LookRelease MomentGrid MomentRelease Normal PopulationRelease "
        "PredictionCheck ResidualHistogram ResidualRelease ScaledFit SmallestExtremeValue StepRule",
    ),
)
_LOGISTIC = (*_TABLE, *_of("linear_model", "ClassRates LogisticRelease MomentGrid Schedule Standards"))
_BOOSTING = (
    *(*_TABLE, "skprivate.base.TableModel"),
    *_of("ensemble", "AdditiveModel CellGrid CodedFeature FeatureCodes"),
    *_of("ensemble", "PublicScores RandomCells ShapeFunction"),
)
_LOCAL_AVERAGE = _of(
    "collaborative",
    "LocalAverageRegressor EpanechnikovModel GaussianModel LaplaceModel NeighborsModel PartitionModel",
)
_SWAPPED = (
    *(*_LOCAL_AVERAGE, *_SPENT, *_RISK),
    *("skprivate.preprocessing.TQMATransformer", "skprivate.collaborative.BSTDAggregator"),
)
_PLATFORM = (*_SWAPPED, "skprivate.collaborative.SecureSumAggregator")
_CLASSES_OF_PLATFORM = (*_PLATFORM, "skprivate.collaborative.LocalAverageClassifier")
_GAME = (
    *(*_SPENT, "builtins.frozenset"),
    *_of("games", "BroadcastMechanism ChangingMixing CompleteMixing MatrixMixing Box Simplex Unconstrained"),
)
_REPORTER = "skprivate.label_privacy.NumberReporter"
_LABELS = (*_SPENT, *_of("label_privacy", "LinearThenTrees"))
_CODES = ("numpy.dtype", "skprivate.randomizers.LabelRandomizer", "skprivate.label_privacy.ClassReporter")

#: Types by estimator, with its own type.
_TYPES: dict[str, tuple[str, ...]] = {
    name: (f"skprivate.{room}.{name}", *parts)
    for room, names, parts in (
        ("collaborative", "BSTDAggregator SecureSumAggregator", _RISK),
        ("collaborative", "LocalAverageRegressor", _LOCAL_AVERAGE),
        ("collaborative", "CollaborativeLARRegressor", _SWAPPED),
        ("collaborative", "CollaborativeRegressor", _PLATFORM),
        ("collaborative", "CollaborativeClassifier", _CLASSES_OF_PLATFORM),
        ("ensemble", "DPBoostingClassifier DPBoostingRegressor", _BOOSTING),
        ("games", "MediatedNashSolver", _SPENT),
        ("games", "PrivateNashSolver", _GAME),
        ("label_privacy", "LabelPrivateClassifier", (*_LABELS, *_CODES)),
        ("label_privacy", "LabelPrivateRegressor", (*_LABELS, _LAPLACE, _REPORTER)),
        ("linear_model", "DPLogLocationScaleRegressor DPLogisticLLSRegressor", _LIFE),
        ("linear_model", "DPNormalLLSRegressor DPSEVRegressor", _LIFE),
        ("linear_model", "DPLogisticRegression", _LOGISTIC),
        ("model_selection", "PrivateGridSearch PrivateRandomizedSearch", _SPENT),
        ("preprocessing", "BoundsScaler", _SPENT),
        ("preprocessing", "DomainEncoder", ("skprivate.domain.TableDomain",)),
        ("preprocessing", "TQMATransformer", (*_SPENT, *_RISK)),
        ("tree", "DPTreeClassifier", (*_TREE, "skprivate.tree.NoisyHistogram")),
        ("tree", "DPTreeRegressor", (*_TREE, *_NUMBERS, "skprivate.tree.NoisyHistogram")),
        ("tree", "LocallyPrivateTreeClassifier", _LOCAL_TREE),
        ("tree", "LocallyPrivateTreeRegressor", (*_LOCAL_TREE, *_NUMBERS)),
    )
    for name in names.split()
}


def trusted_types(*estimators: str | type) -> list[str]:
    """Return the types to pass to skops as trusted, to load fitted estimators of the suite.

    Parameters
    ----------
    *estimators : str or type
        Classes, or their names, of all estimators in the file: also the estimator inside a private search,
        the steps of a pipeline, and the local models of a platform. None: all of the suite.

    Returns
    -------
    types : list of str
        Sorted; for ``skops.io.load(file, trusted=...)``.

    Raises
    ------
    ValueError
        A class is no estimator of the suite.

    Notes
    -----
    The list is fixed and does not come from the file. skops refuses a file with any other type. These are
    types of a third party (also trees of scikit-learn inside an estimator), ledgers (save with
    ``ledger=None``; a ledger is a file of its own) and callbacks (call ``set_callbacks()`` before). Check
    such types yourself.

    **Privacy**: a file holds what the object holds. If ``releases_state`` is False, these are a site's rows.

    Examples
    --------
    >>> from skprivate.base import trusted_types
    >>> trusted_types("BoundsScaler")[-1]
    'skprivate.preprocessing.BoundsScaler'
    """
    return sorted(set(_listed(estimators or tuple(_TYPES))))


def _listed(estimators: tuple[str | type, ...]) -> Iterator[str]:
    for estimator in estimators:
        name = estimator if isinstance(estimator, str) else getattr(estimator, "__name__", repr(estimator))
        if name not in _TYPES:
            raise ValueError(f"{name} is no estimator of the suite: check its types yourself.")
        yield from _TYPES[name]
