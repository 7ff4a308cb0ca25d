# SPDX-License-Identifier: BSD-3-Clause
"""Plans of looks at residuals about a line: sums of clipped residuals times rows, and counts."""
