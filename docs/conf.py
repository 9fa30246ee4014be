"""Sphinx settings: Markdown pages, furo, API from the docstrings, MathJax from this folder; builds without a network."""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).parent))

from example_pages import copy_examples

# examples print what the library warns of, without the place on the machine that built the page
warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"

project = "nonsmooth"
author = "The nonsmooth developers"
extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx_gallery.gen_gallery",
]  # fmt: skip
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "nonsmooth"
html_static_path = ["_static"]
mathjax_path = "mathjax/tex-svg.js"
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
# shapes of bodies and shapes of drawings share names; types in docstrings mean those of their own page
suppress_warnings = ["ref.python"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_numpy_docstring, napoleon_google_docstring = True, False
napoleon_use_ivar = True
sphinx_gallery_conf = {
    "examples_dirs": copy_examples(),
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("matplotlib", "example_pages.moving_scene"),
    "default_thumb_file": str(Path(__file__).parent / "img" / "woodpecker.png"),
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # pages do not depend on how fast they were made
    "abort_on_example_error": True,
    "remove_config_comments": True,
}
