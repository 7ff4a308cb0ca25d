# SPDX-License-Identifier: BSD-3-Clause
"""Which types to trust when skops loads a fitted estimator of the suite: the one list."""

from collections.abc import Iterator

_SPENT = (
    "fractions.Fraction",
    # In bounds that were estimated.
    "skprivate.accounting._statements.estimated_bounds.EstimatedBounds",
    "skprivate.accounting._statements.provenance.PackageRecord",
    "skprivate.accounting._statements.spent.PrivacySpent",
    "skprivate.accounting._statements.frozen_mapping.FrozenMapping",
)
_RISK = (
    "skprivate.accounting._statements.disclosure_risk.DisclosureRisk",
    "skprivate.accounting._statements.frozen_mapping.FrozenMapping",
)
_PARTITION = "skprivate.partition._partition.Partition"
_LAPLACE = "skprivate.noise._mechanisms.DiscreteLaplaceMechanism"
_RANDOMIZERS = (
    "numpy.dtype",
    _LAPLACE,
    "skprivate.randomizers._bit_vectors.SubsetRandomizer",
    "skprivate.randomizers._bit_vectors.UnaryRandomizer",
    "skprivate.randomizers._hadamard.HadamardRandomizer",
    "skprivate.randomizers._krr.KRRRandomizer",
    "skprivate.randomizers._label.LabelRandomizer",
    "skprivate.randomizers._laplace.LaplaceRandomizer",
    "skprivate.randomizers._laplace.SignedLaplaceRandomizer",
)
_LIFE = (
    *_SPENT,
    *(
        f"skprivate.linear_model.{name}"
        for name in (
            *(
                "_censored.curvature.CurvatureEstimate",
                "_censored.curvature.StepRule",
                "_censored.release.CensoredRelease",
            ),
            *("_distributions._SmallestExtremeValue", "_distributions._Logistic", "_distributions._Normal"),
            *(
                "_moments.grid.MomentGrid",
                "_censored.histogram.HistogramRelease",
                "_moments.release.MomentRelease",
            ),
            *("_censored.gradient_round.GradientRound", "_moments.solve.ScaledFit"),
        )
    ),
)
_LOCAL_AVERAGE = (
    "skprivate.collaborative._local_average.regressor.LocalAverageRegressor",
    *(
        f"skprivate.collaborative._local_average.row_layouts.{kernel}Model"
        for kernel in ("Gaussian", "Laplace", "Epanechnikov", "Partition", "Neighbors")
    ),
)
_TQMA = (*_SPENT, *_RISK, "skprivate.preprocessing._tqma.TQMATransformer")
_SWAPPING = (*_RISK, "skprivate.collaborative._swapping.BSTDAggregator")
_SECURE_SUM = (*_RISK, "skprivate.collaborative._secure_sum.SecureSumAggregator")
_PLATFORM = (*_LOCAL_AVERAGE, *_TQMA, *_SWAPPING, *_SECURE_SUM)
_SEARCH = "skprivate.model_selection._private_search"

_TYPES: dict[str, tuple[str, ...]] = {
    "BSTDAggregator": _SWAPPING,
    "BoundsScaler": (*_SPENT, "skprivate.preprocessing._bounds_scaler.BoundsScaler"),
    "CollaborativeClassifier": (
        *_PLATFORM,
        "skprivate.collaborative._classifier.CollaborativeClassifier",
        "skprivate.collaborative._classifier.LocalAverageClassifier",
    ),
    "CollaborativeLARRegressor": (
        *(*_LOCAL_AVERAGE, *_TQMA, *_SWAPPING),
        "skprivate.collaborative._lar_regressor.CollaborativeLARRegressor",
    ),
    "CollaborativeRegressor": (*_PLATFORM, "skprivate.collaborative._regressor.CollaborativeRegressor"),
    "DPLogLocationScaleRegressor": (*_LIFE, "skprivate.linear_model._regressor.DPLogLocationScaleRegressor"),
    "DPLogisticLLSRegressor": (*_LIFE, "skprivate.linear_model._presets.DPLogisticLLSRegressor"),
    "DPNormalLLSRegressor": (*_LIFE, "skprivate.linear_model._presets.DPNormalLLSRegressor"),
    "DPSEVRegressor": (*_LIFE, "skprivate.linear_model._presets.DPSEVRegressor"),
    "DPTreeClassifier": (
        *(*_SPENT, _PARTITION, _LAPLACE, "skprivate.tree._noisy_leaf_counts.NoisyHistogram"),
        "skprivate.tree._central.DPTreeClassifier",
    ),
    "LocalAverageRegressor": _LOCAL_AVERAGE,
    "LocallyPrivateTreeClassifier": (
        *(*_SPENT, _PARTITION, *_RANDOMIZERS),
        "skprivate.tree._classifier.LocallyPrivateTreeClassifier",
    ),
    "PrivateGridSearch": (*_SPENT, f"{_SEARCH}.PrivateGridSearch"),
    "PrivateNashSolver": (
        *(*_SPENT, "builtins.frozenset"),
        *(
            f"skprivate.games.{name}"
            for name in (
                *("_broadcast_mechanism.BroadcastMechanism", "_solver.PrivateNashSolver"),
                *("_games.sets.Box", "_games.sets.Simplex", "_games.sets.Unconstrained"),
                *("_communication_weights._Complete", "_communication_weights._Matrix"),
            )
        ),
    ),
    "PrivateRandomizedSearch": (*_SPENT, f"{_SEARCH}.PrivateRandomizedSearch"),
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
    of a third party, a ledger (save with ``ledger=None``; a ledger is a file of its own) or callbacks (call
    ``set_callbacks()`` before). Look at those yourself.

    **Privacy**: a file says what the object says. Where ``releases_state`` is False it holds a site's rows.

    Examples
    --------
    >>> from skprivate.base import trusted_types
    >>> trusted_types("BoundsScaler")[-1]
    'skprivate.preprocessing._bounds_scaler.BoundsScaler'
    """
    return sorted(set(_listed(estimators or tuple(_TYPES))))


def _listed(estimators: tuple[str | type, ...]) -> Iterator[str]:
    for estimator in estimators:
        name = estimator if isinstance(estimator, str) else getattr(estimator, "__name__", repr(estimator))
        if name not in _TYPES:
            raise ValueError(f"{name} is no estimator of the suite; its types are for you to judge.")
        yield from _TYPES[name]
