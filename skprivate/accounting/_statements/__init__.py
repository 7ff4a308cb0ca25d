# SPDX-License-Identifier: BSD-3-Clause
"""Records of what was spent and claimed, and what is made of them: text, HTML, JSON, registry entries."""
