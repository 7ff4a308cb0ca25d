# SPDX-License-Identifier: BSD-3-Clause
"""The search for the neighbours that differ most."""
