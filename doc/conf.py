# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx configuration."""

import sys
from pathlib import Path

import skprivate

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "skprivate"
author = "The skprivate developers"
copyright = "2026, The skprivate developers"
version = release = skprivate.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "checked_html",
    "gallery_pictures",
    "mathml",
    "method_groups",
    "reference_groups",
    "whole_words",
]
templates_path = ["_templates"]
# gallery.rst shows the examples in groups.
exclude_patterns = [
    "_build",
    "_ext",
    "auto_examples/index.rst",
    "auto_examples/**.ipynb",
    "**sg_execution_times.rst",
]
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name types in words
default_role = "py:obj"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = "skprivate"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_sidebars = {"index": [], "auto_examples/plot_walkthrough": []}
html_css_files = ["skprivate.css"]
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "api": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}

# Every example runs: one that finds no file of SKPRIVATE_DATA simulates its rows, and says so.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    # Pages of the reference list the examples that use a name.
    "backreferences_dir": "auto_examples/backreferences",
    "doc_module": ("skprivate",),
    "filename_pattern": r"/plot_",
    "ignore_pattern": "^(?!plot_)",
    # After matplotlib's own settings.
    "reset_modules": ("matplotlib", "gallery_pictures.start_anew"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    # Its table is drawn with scripts of the network.
    "write_computation_times": False,
}
