# SPDX-License-Identifier: BSD-3-Clause
"""The version of the package, read by pyproject.toml without an import."""

__version__ = "0.1.0"
