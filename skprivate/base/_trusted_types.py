# SPDX-License-Identifier: BSD-3-Clause
"""List of the types that skops must trust to load fitted estimators of the package."""

from collections.abc import Iterator

_SPENT = (
    "fractions.Fraction",
    # In bounds that were estimated.
    "skprivate.accounting.EstimatedBounds",
    "skprivate.accounting.FrozenMapping",
    "skprivate.accounting.PackageRecord",
    "skprivate.accounting.PrivacySpent",
    "skprivate.accounting.ReleaseRecord",
)
_DOMAIN = ("skprivate.domain.TableDomain",)
_RISK = ("skprivate.accounting.DisclosureRisk", "skprivate.accounting.FrozenMapping")
_PARTITION = "skprivate.partition.Partition"
# Of a public model; its own type is the user's to trust.
_MODELS = (
    *(f"skprivate.tree.{name}" for name in ("BaseRate", "LeafModel", "Mixture", "ModelWithOffsets")),
    "skprivate.base.TableModel",
)
_NUMBERS = ("skprivate.tree.NumberCells", "skprivate.tree.NumberModel")
_LAPLACE = "skprivate.noise.DiscreteLaplaceMechanism"
_RANDOMIZERS = (
    "numpy.dtype",
    _LAPLACE,
    *(
        f"skprivate.randomizers.{name}Randomizer"
        for name in ("Column", "Hadamard", "KRR", "Label", "Laplace", "SignedLaplace", "Subset", "Unary")
    ),
)
_LIFE = (
    *(*_SPENT, *_DOMAIN),
    *(
        f"skprivate.linear_model.{name}"
        for name in (
            *("CensoredRelease", "CurvatureEstimate", "HistogramRelease", "GradientRound", "StepRule"),
            *("Correction", "LawFit", "ResidualHistogram"),
            *("Logistic", "Normal", "SmallestExtremeValue"),
            *("Look", "LookRelease", "MomentGrid", "MomentRelease", "ResidualRelease", "ScaledFit"),
        )
    ),
)
_BOOSTING = (
    *(*_SPENT, *_DOMAIN, "skprivate.base.TableModel"),
    *(
        f"skprivate.ensemble.{name}"
        for name in (
            *("AdditiveModel", "CellGrid", "CodedFeature", "FeatureCodes"),
            *("PublicScores", "RandomCells", "ShapeFunction"),
        )
    ),
)
_LOCAL_AVERAGE = (
    "skprivate.collaborative.LocalAverageRegressor",
    *(
        f"skprivate.collaborative.{kernel}Model"
        for kernel in ("Gaussian", "Laplace", "Epanechnikov", "Partition", "Neighbors")
    ),
)
_TQMA = (*_SPENT, *_RISK, "skprivate.preprocessing.TQMATransformer")
_SWAPPING = (*_RISK, "skprivate.collaborative.BSTDAggregator")
_SECURE_SUM = (*_RISK, "skprivate.collaborative.SecureSumAggregator")
_PLATFORM = (*_LOCAL_AVERAGE, *_TQMA, *_SWAPPING, *_SECURE_SUM)

_TYPES: dict[str, tuple[str, ...]] = {
    "BSTDAggregator": _SWAPPING,
    "BoundsScaler": (*_SPENT, "skprivate.preprocessing.BoundsScaler"),
    "DomainEncoder": (*_DOMAIN, "skprivate.preprocessing.DomainEncoder"),
    "CollaborativeClassifier": (
        *_PLATFORM,
        "skprivate.collaborative.CollaborativeClassifier",
        "skprivate.collaborative.LocalAverageClassifier",
    ),
    "CollaborativeLARRegressor": (
        *(*_LOCAL_AVERAGE, *_TQMA, *_SWAPPING),
        "skprivate.collaborative.CollaborativeLARRegressor",
    ),
    "CollaborativeRegressor": (*_PLATFORM, "skprivate.collaborative.CollaborativeRegressor"),
    **{
        name: (*_LIFE, f"skprivate.linear_model.{name}")
        for name in (
            *("DPLogLocationScaleRegressor", "DPLogisticLLSRegressor", "DPNormalLLSRegressor"),
            "DPSEVRegressor",
        )
    },
    "DPBoostingClassifier": (*_BOOSTING, "skprivate.ensemble.DPBoostingClassifier"),
    "DPBoostingRegressor": (*_BOOSTING, "skprivate.ensemble.DPBoostingRegressor"),
    "DPLogisticRegression": (
        *(*_SPENT, *_DOMAIN),
        *(
            f"skprivate.linear_model.{name}"
            for name in ("LogisticRelease", "MomentGrid", "Schedule", "Standards")
        ),
        "skprivate.linear_model.DPLogisticRegression",
    ),
    "DPTreeClassifier": (
        *(*_SPENT, *_DOMAIN, _PARTITION, _LAPLACE, *_MODELS, "skprivate.tree.NoisyHistogram"),
        "skprivate.tree.DPTreeClassifier",
    ),
    "DPTreeRegressor": (
        *(*_SPENT, *_DOMAIN, _PARTITION, _LAPLACE, *_MODELS, *_NUMBERS, "skprivate.tree.NoisyHistogram"),
        "skprivate.tree.DPTreeRegressor",
    ),
    "LabelPrivateClassifier": (
        *(*_SPENT, "numpy.dtype", "skprivate.randomizers.LabelRandomizer"),
        *("skprivate.label_privacy.ClassReporter", "skprivate.label_privacy.LabelPrivateClassifier"),
    ),
    "LabelPrivateRegressor": (
        *(*_SPENT, _LAPLACE),
        *("skprivate.label_privacy.LabelPrivateRegressor", "skprivate.label_privacy.NumberReporter"),
    ),
    "LocalAverageRegressor": _LOCAL_AVERAGE,
    "LocallyPrivateTreeClassifier": (
        *(*_SPENT, *_DOMAIN, _PARTITION, *_RANDOMIZERS, *_MODELS),
        *("skprivate.partition.ColumnBins", "skprivate.partition.TableCells", "skprivate.tree.NaiveBayes"),
        "skprivate.tree.LocallyPrivateTreeClassifier",
    ),
    "LocallyPrivateTreeRegressor": (
        *(*_SPENT, *_DOMAIN, _PARTITION, *_RANDOMIZERS, *_MODELS, *_NUMBERS),
        *("skprivate.partition.ColumnBins", "skprivate.partition.TableCells", "skprivate.tree.NaiveBayes"),
        "skprivate.tree.LocallyPrivateTreeRegressor",
    ),
    "PrivateGridSearch": (*_SPENT, "skprivate.model_selection.PrivateGridSearch"),
    "PrivateNashSolver": (
        *(*_SPENT, "builtins.frozenset"),
        *(
            f"skprivate.games.{name}"
            for name in (
                *(
                    "BroadcastMechanism",
                    "PrivateNashSolver",
                    "ChangingMixing",
                    "CompleteMixing",
                    "MatrixMixing",
                ),
                *("Box", "Simplex", "Unconstrained"),
            )
        ),
    ),
    "PrivateRandomizedSearch": (*_SPENT, "skprivate.model_selection.PrivateRandomizedSearch"),
    "SecureSumAggregator": _SECURE_SUM,
    "TQMATransformer": _TQMA,
}


def trusted_types(*estimators: str | type) -> list[str]:
    """Return the types that skops must be told to trust to load fitted estimators of the suite.

    Parameters
    ----------
    *estimators : str or type
        Classes, or their names, of what the file is to hold: of a private search also the estimator within,
        of a pipeline its steps, of a platform its local models. None: all of the suite.

    Returns
    -------
    types : list of str
        Sorted; for ``skops.io.load(file, trusted=...)``.

    Raises
    ------
    ValueError
        It is no estimator of the suite.

    Notes
    -----
    The list is fixed: it does not come from the file. skops refuses a file that holds anything else: a type
    of a third party (the trees of scikit-learn within an estimator, too), a ledger (save with
    ``ledger=None``; a ledger is a file of its own) or callbacks (call ``set_callbacks()`` before). Look at
    those yourself.

    **Privacy**: a file says what the object says. Where ``releases_state`` is False it holds a site's rows.

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
            raise ValueError(f"{name} is no estimator of the suite; its types are for you to judge.")
        yield from _TYPES[name]
