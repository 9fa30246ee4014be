"""Sphinx settings: Markdown pages, furo, API from the docstrings, MathJax from this folder; builds without a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

project = "nonsmooth"
author = "The nonsmooth developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "nonsmooth"
html_static_path = ["_static"]
mathjax_path = "mathjax/tex-svg.js"
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_numpy_docstring, napoleon_google_docstring = True, False
napoleon_use_ivar = True
