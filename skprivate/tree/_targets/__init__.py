# SPDX-License-Identifier: BSD-3-Clause
"""What a tree predicts: labels or numbers; how they are read, and what its released counts say of them."""
