# SPDX-License-Identifier: BSD-3-Clause
"""Published methods as printed, to compare with: NOT private, and no part of the product."""
