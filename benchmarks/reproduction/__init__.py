# SPDX-License-Identifier: BSD-3-Clause
"""Tables and figures of the papers, and their methods as printed, which protect nobody."""
