# SPDX-License-Identifier: BSD-3-Clause
"""Bugs in subclasses of the suite's own estimators, which declare for themselves what they are."""

from dataclasses import replace
from unittest import mock

import numpy as np

from skprivate import BoundsScaler, DPNormalLLSRegressor, DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.base import PrivateEstimatorMixin, StatelessMixin
from skprivate.linear_model._moments import rounds
from skprivate.linear_model._moments.released_moments import plan_moments
from skprivate.partition import build_partition

from .records import plant


@plant("sensitivity", split_share=0)
class PrivatePartitionTree(DPTreeClassifier, PrivateEstimatorMixin):
    """DPTreeClassifier whose partition is grown on all rows as if they were public.

    The splits are a function of private rows and labels without noise.
    """

    def _design(self, rows, n_used):
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


@plant("noise", split_share=0)
class ExactTiesTree(DPTreeClassifier, PrivateEstimatorMixin):
    """DPTreeClassifier that answers undecided leaves (noisy count within 2) by the exact majority.

    Exact majority of the leaves where the noise is small against it.
    """

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


@plant("noise")
class ThinMomentLLS(DPNormalLLSRegressor, PrivateEstimatorMixin):
    """DPNormalLLSRegressor whose noise plan is thinned by 16 for the first moment (the sum of the target).

    That entry takes up to 2/9 of epsilon: some 4 times epsilon in total.
    """

    def _rounds(self, task, plan, source):
        def thin(*args, **kwargs):
            plan = plan_moments(*args, **kwargs)
            scales = plan.noise.scales.copy()
            scales[0] //= 16
            return replace(plan, noise=replace(plan.noise, scales=scales))

        with mock.patch.object(rounds, "plan_moments", thin):
            yield from super()._rounds(task, plan, source)


@plant("distribution", mechanism="krr")
class TruthfulLeafLPT(LocallyPrivateTreeClassifier, PrivateEstimatorMixin):
    """LocallyPrivateTreeClassifier whose clients in the last leaf tell the truth.

    Exact report of those rows: infinite epsilon.
    """

    def _design(self, rows, n_used):
        design = super()._design(rows, n_used)
        return replace(design, randomizer=_LastLeafInTheClear(design.randomizer))

    def _adopt(self, design, *args):
        super()._adopt(replace(design, randomizer=design.randomizer.honest), *args)


class _LastLeafInTheClear:
    def __init__(self, honest):
        self.honest = honest

    def __getattr__(self, name):
        return getattr(self.__dict__["honest"], name)

    def simulate(self, categories, random_state=None):
        honest = self.honest
        last = categories >= honest.n_categories - honest.n_labels
        truth = np.bincount(categories[last], minlength=honest.n_categories).reshape(honest.counts_shape)
        return truth + (honest.simulate(categories[~last], random_state) if (~last).any() else 0)


@plant("sensitivity", max_depth="auto", split_share=0)
class PrivateDepthTree(DPTreeClassifier, PrivateEstimatorMixin):
    """DPTreeClassifier(max_depth='auto') that takes the depth at which private leaves still hold 8 rows.

    max_depth_ is a function of private rows without noise.
    """

    def _automatic_depth(self, partition, rows, n_used, n_labels, with_model):
        depth = 1
        for deeper in range(1, 5):
            cells = partition.truncate(deeper).apply(rows.X)
            if np.bincount(cells).min() < 8:
                break
            depth = deeper
        return depth


@plant("state")
class PercentileScaler(BoundsScaler, StatelessMixin):
    """BoundsScaler that narrows declared bounds to the 1st and 99th percentile of the rows.

    Exact percentiles in _low and _high; a 'stateless' step that reads rows.
    """

    def fit(self, X, y=None):
        super().fit(X, y)
        self._low, self._high = np.percentile(
            super().inverse_transform(super().transform(X)), [1, 99], axis=0
        )
        return self

    def transform(self, X):
        X = np.clip(super().inverse_transform(super().transform(X)), self._low, self._high)
        return (X - self._low) / np.maximum(self._high - self._low, 1e-12)
