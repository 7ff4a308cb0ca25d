# SPDX-License-Identifier: BSD-3-Clause
"""What type checkers say of a result that depends on an argument, or on the kind of an argument.

``make types`` reads this file by ``mypy --strict`` and by pyright; nothing here runs.
"""
