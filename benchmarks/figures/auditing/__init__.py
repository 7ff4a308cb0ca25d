# SPDX-License-Identifier: BSD-3-Clause
"""What the audit battery finds in honest estimators, planted bugs and another library."""
