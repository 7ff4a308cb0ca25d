# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx configuration."""

import os
from pathlib import Path

import skprivate

project = "skprivate"
author = "The skprivate developers"
copyright = "2026, The skprivate developers"
version = release = skprivate.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "auto_examples/**.ipynb"]
html_theme = "pydata_sphinx_theme"
html_title = "skprivate"
autosummary_generate = True
numpydoc_show_class_members = False
nitpicky = False

# The examples read files that the package does not ship: they run where the files are, else are only shown.
_data = os.environ.get("SKPRIVATE_DATA")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "plot_gallery": str(bool(_data and Path(_data).is_dir())),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
}
