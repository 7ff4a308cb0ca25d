# SPDX-License-Identifier: BSD-3-Clause
"""What a specification asks for: columns, and a label or a number."""
