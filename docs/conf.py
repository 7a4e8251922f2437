"""Configuration of the documentation site: `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "site"), str(HERE.parent / "benchmarks")]
os.environ.setdefault("MIAI_DISABLE_PLUGINS", "openspiel")  # its page says what its games are

import miai  # noqa: E402  # after the path of the extension

project = "miai"
author = "the authors of miai"
copyright = author  # the name that Sphinx reads
version = release = miai.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "catalogue",
]
exclude_patterns = ["_build", "site"]
html_theme = "furo"
html_title = "miai"
html_static_path: list[str] = []
html_copy_source = False
nitpicky = False
# Names of parameters and attributes occur in many classes; a bare name need not point to one.
suppress_warnings = ["ref.python"]

# Names in single backticks are code in our docstrings, as they are in Markdown.
default_role = "code"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_use_type_comments = False  # there are none; looking for them takes a tenth of the time
autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# Links to files of the repository are not pages of the site.
catalogue_repository_links = ["configs/", "plugins/", "benchmarks/", "CONTRIBUTING.md", "README.md"]
