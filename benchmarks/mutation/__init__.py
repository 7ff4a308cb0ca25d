# SPDX-License-Identifier: BSD-3-Clause
"""Small bugs that are planted at random places, and whether tests find them."""
