"""Settings of the documentation site: `python -m sphinx -W docs build/html`.

The pages are Markdown; those of the API reference are written by api_reference.py. Nothing is read from
the network.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
# -m puts the working directory first: arrayx's sources would hide the installed package.
for place in [place for place in sys.path if Path(place or ".").resolve() == HERE.parent]:
    sys.path.remove(place)
    sys.path.append(place)
sys.path.insert(0, str(HERE))

from numpydoc.xref import DEFAULT_LINKS  # noqa: E402

import arrayx  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "arrayx"
author = "arrayx developers"
copyright = "arrayx developers"
version = release = arrayx.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "api_reference",
]
default_role = "py:obj"
highlight_language = "none"
templates_path: list[str] = []

# numpydoc's sections say what a parameter is, in words; annotations would say it again.
autodoc_typehints = "none"
autodoc_docstring_signature = False  # "float(self)" is all that __float__ says
autosummary_generate = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
DEFAULT_LINKS.clear()  # they lead to pages of Python and NumPy that only the network has
numpydoc_xref_aliases = {
    name: f"arrayx.{name}" for name in arrayx.__all__ if isinstance(getattr(arrayx, name), type)
} | {"NamespaceInfo": "arrayx._info.NamespaceInfo"}

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = f"arrayx {release}".strip()
html_static_path = ["_static"]
html_css_files = ["arrayx.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars: dict[str, list[str]] = {"index": []}
html_theme_options = {
    "logo": {"text": "arrayx"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navigation_depth": 3,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}

# Links that leave docs/ in the repository, and the page of the site that holds the file.
PAGES_OF_FILES = {"](../conformance/README.md)": "](conformance.md)"}


def link_to_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn links to the repository's files into links to the site's pages."""
    for link, target in PAGES_OF_FILES.items():
        source[0] = source[0].replace(link, target)


def setup(app: Sphinx) -> None:
    app.connect("source-read", link_to_pages)
