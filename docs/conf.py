# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings: ``sphinx-build -W docs out/html``."""

import re

import sycl_dnn

project = "sycl_dnn"
release = version = sycl_dnn.__version__
copyright = "the sycl_dnn authors"  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"sycl_dnn {release}"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
# Attributes that a docstring lists are not described again as members.
napoleon_use_ivar = True
# Pages link to files of the repository, which the site does not hold; parameters are no references.
suppress_warnings = ["myst.xref_missing", "ref.python"]


def escape_stars(app, what, name, obj, options, lines):
    """Shapes such as ``(N, C, *S)`` are no emphasis."""
    lines[:] = [re.sub(r"(?<![*\w`\\])\*(?=[\w,)])", r"\\*", line) for line in lines]


def setup(app):
    """Show diagrams as their text, which reads well; the hosting site draws them."""
    from pygments.lexers.special import TextLexer

    app.connect("autodoc-process-docstring", escape_stars, priority=400)
    app.add_lexer("mermaid", TextLexer)
