# SPDX-License-Identifier: BSD-3-Clause
"""What a fitted tree tells of itself: paths, importances, names of its columns, a warning."""
