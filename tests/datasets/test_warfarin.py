# SPDX-License-Identifier: BSD-3-Clause
"""The loader: finds its file, keeps the rows with a dose, tells missing values, imputes where asked."""

import numpy as np
import pytest

from skprivate.datasets import fetch_warfarin
from tests.marks import needs_data


@pytest.mark.slow
@needs_data("warfarin")
def test_the_published_file():
    bunch = fetch_warfarin(impute=False)
    assert bunch.data.shape == (5527, 9)
    # As the description says.
    missing = np.isnan(bunch.data).sum(axis=0)
    assert missing.tolist() == [39, 1081, 272, 0, 0, 0, 0, 1503, 3098]
    np.testing.assert_array_equal(bunch.data[:, 3:7].sum(axis=1), 1)
    assert bunch.data[:, 3:7].sum(axis=0).tolist() == [1619, 462, 2968, 478]
    assert (bunch.target.min(), bunch.target.max()) == (2.1, 230)
    assert np.unique(bunch.data[:, 0])[:9].tolist() == list(range(15, 96, 10))
    filled = fetch_warfarin().data
    assert np.isfinite(filled).all()
    assert (filled >= bunch.bounds[0]).all()
    assert (filled <= bunch.bounds[1]).all()
    np.testing.assert_array_equal(filled[~np.isnan(bunch.data)], bunch.data[~np.isnan(bunch.data)])
    assert np.nanmedian(bunch.data, axis=0)[1:3].tolist() == [167.89, 75.0]
