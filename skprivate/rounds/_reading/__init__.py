# SPDX-License-Identifier: BSD-3-Clause
"""Reading of tables in every form that they come in: batches, targets, labels, persons."""
