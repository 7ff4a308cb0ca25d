# SPDX-License-Identifier: BSD-3-Clause
"""Bugs in subclasses of the suite's own estimators."""

from dataclasses import replace

import numpy as np

from skprivate import BoundsScaler, DPNormalLLSRegressor, DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.base import PrivateEstimatorMixin, StatelessMixin

from .records import plant


@plant(
    "sensitivity",
    "DPTreeClassifier whose partition is grown on all rows as if they were public",
    "the splits are a function of private rows and labels without noise",
    split_share=0,
)
class PrivatePartitionTree(DPTreeClassifier, PrivateEstimatorMixin):
    def _design(self, rows, n_used):
        from skprivate.partition import build_partition

        design = super()._design(rows, n_used)
        lower, upper = rows.bounds
        partition = build_partition(
            rows.X,
            rows.labels,
            lower=lower,
            upper=upper,
            max_depth=design.partition.max_depth,
            n_labels=len(rows.classes),
            rule="max-edge",
            criterion=self.criterion,
            min_samples_leaf=0,
            seed=self.partition_seed,
        )
        counts = np.zeros((partition.n_leaves, len(rows.classes)), dtype=np.int64)
        return replace(
            design,
            partition=partition,
            public_counts=counts,
            randomizer=self._make_randomizer(partition.n_leaves, len(rows.classes), rows.rows_per_unit),
        )


@plant(
    "noise",
    "DPTreeClassifier that answers undecided leaves (noisy count within 2) by the exact majority",
    "exact majority of the leaves where the noise is small against it",
    split_share=0,
)
class ExactTiesTree(DPTreeClassifier, PrivateEstimatorMixin):
    def _design(self, rows, n_used):
        design = super()._design(rows, n_used)
        cells = design.partition.apply(rows.X)
        self._exact_sign = np.sign(
            np.bincount(cells, 2 * rows.labels - 1, minlength=design.partition.n_leaves)
        )
        return design

    def _adopt(self, *args):
        super()._adopt(*args)
        sign = self.__dict__.pop("_exact_sign")
        undecided = np.abs(self.report_counts_[:, 1] - self.report_counts_[:, 0]) <= 2
        one = np.column_stack([sign < 0, sign > 0]).astype(float)
        self.leaf_proba_ = np.where(undecided[:, None] & (sign != 0)[:, None], one, self.leaf_proba_)


@plant(
    "noise",
    "DPNormalLLSRegressor whose noise plan is thinned by 16 for the first moment (the sum of the target)",
    "that entry takes up to 2/9 of epsilon: some 4 times epsilon in total",
)
class ThinMomentLLS(DPNormalLLSRegressor, PrivateEstimatorMixin):
    def _rounds(self, task, plan, source):
        import skprivate.linear_model._moments.looks as room

        honest = room.plan_moments

        def thin(*args, **kwargs):
            plan = honest(*args, **kwargs)
            scales = plan.noise.scales.copy()
            scales[0] //= 16
            return replace(plan, noise=replace(plan.noise, scales=scales))

        room.plan_moments = thin
        try:
            yield from super()._rounds(task, plan, source)
        finally:
            room.plan_moments = honest


@plant(
    "distribution",
    "LocallyPrivateTreeClassifier whose clients in the last leaf tell the truth",
    "exact report of those rows: infinite epsilon",
    mechanism="krr",
)
class TruthfulLeafLPT(LocallyPrivateTreeClassifier, PrivateEstimatorMixin):
    def _make_randomizer(self, n_cells, n_labels, *rest):
        randomizer = super()._make_randomizer(n_cells, n_labels, *rest)
        honest = randomizer.simulate

        def simulate(categories, random_state=None):
            last = categories >= (n_cells - 1) * n_labels
            counts = (
                honest(categories[~last], random_state)
                if (~last).any()
                else np.zeros(randomizer.counts_shape, dtype=np.int64)
            )
            truth = np.bincount(categories[last], minlength=n_cells * n_labels).astype(np.int64)
            return counts + truth.reshape(counts.shape)

        _SIMULATE[id(randomizer)] = simulate
        return randomizer

    def _design(self, rows, n_used):
        design = super()._design(rows, n_used)
        return replace(design, randomizer=_Lying(design.randomizer, _SIMULATE.pop(id(design.randomizer))))

    def _adopt(self, design, *args):
        super()._adopt(
            replace(design, randomizer=getattr(design.randomizer, "honest", design.randomizer)), *args
        )


_SIMULATE: dict = {}


class _Lying:
    def __init__(self, honest, simulate):
        self.honest, self.simulate = honest, simulate

    def __getattr__(self, name):
        return getattr(self.__dict__["honest"], name)


@plant(
    "sensitivity",
    "DPTreeClassifier(max_depth='auto') that takes the depth at which private leaves still hold 8 rows",
    "max_depth_ is a function of private rows without noise",
    max_depth="auto",
    split_share=0,
)
class PrivateDepthTree(DPTreeClassifier, PrivateEstimatorMixin):
    def _automatic_depth(self, partition, rule, rows, n_used, with_model):
        depth = 1
        for deeper in range(1, 5):
            cells = partition.truncate(deeper).apply(rows.X)
            if np.bincount(cells).min() < 8:
                break
            depth = deeper
        return depth


@plant(
    "state",
    "BoundsScaler that narrows declared bounds to the 1st and 99th percentile of the rows",
    "exact percentiles in _low and _high; a 'stateless' step that reads rows",
)
class PercentileScaler(BoundsScaler, StatelessMixin):
    def fit(self, X, y=None):
        super().fit(X, y)
        self._low, self._high = np.percentile(
            super().inverse_transform(super().transform(X)), [1, 99], axis=0
        )
        return self

    def transform(self, X):
        X = np.clip(super().inverse_transform(super().transform(X)), self._low, self._high)
        return (X - self._low) / np.maximum(self._high - self._low, 1e-12)
