# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings: ``sphinx-build -W docs out/html``."""

import re
import sys
from pathlib import Path

from sphinx import addnodes

import sycl_dnn

sys.path.insert(0, str(Path(__file__).parent))
import example_gallery  # noqa: E402
import written_pages  # noqa: E402

project = "sycl_dnn"
release = version = sycl_dnn.__version__
copyright = "the sycl_dnn authors"  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_title = f"sycl_dnn {release}"
autodoc_typehints = "none"
add_module_names = False  # a page shows public names
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
# Attributes that a docstring lists are not described again as members.
napoleon_use_ivar = True
# Included pages link to files that the site does not hold; parameters are no references.
suppress_warnings = ["myst.xref_missing", "myst.xref_ambiguous", "ref.python"]


def escape_stars(app, what, name, obj, options, lines):
    """Shapes such as ``(N, C, *S)`` are no emphasis."""
    lines[:] = [re.sub(r"(?<![*\w`\\])\*(?=[\w,)])", r"\\*", line) for line in lines]


#: Pages of the repository outside of docs/ -> page of the site that includes them.
OUTSIDE = {
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    "docker/README.md": "containers.md",
    "examples/batch/README.md": "batch_jobs.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}


def links_stay_on_the_site(app, docname, source):
    """Links to pages that the site includes lead there."""
    for outside, page in OUTSIDE.items():
        up = "../" * docname.count("/")
        source[0] = source[0].replace(f"](../{up}{outside}", f"]({up}{page}")


def public_names(app, what, name, obj, options, signature, annotation):
    """Signatures of the extension name its classes by the module that holds them."""
    return tuple(t and re.sub(r"\bsycl_dnn\._core\.", "", t) for t in (signature, annotation))


def public_text(app, what, name, obj, options, lines):
    """Docstrings of the extension begin with their signatures."""
    lines[:] = [line.replace("sycl_dnn._core.", "") for line in lines]


def is_plain_field(app, what, name, obj, skip, options):
    """Fields of named tuples that say no more than their number are left out."""
    is_field = str(getattr(obj, "__doc__", "")).startswith("Alias for field number")
    return True if is_field else None


def sizes_are_no_links(app, doctree):
    """Letters in shapes, such as ``(N, C, T)``, do not lead to attributes of that name."""
    for link in list(doctree.findall(addnodes.pending_xref)):
        if re.fullmatch("[A-Z]", link.get("reftarget", "")):
            link.replace_self(link.children)


def setup(app):
    """Show diagrams as their text, which reads well; the hosting site draws them."""
    from pygments.lexers.special import TextLexer

    app.connect("builder-inited", lambda app: (
        written_pages.write(), example_gallery.write(app.tags.has("brief"))))  # fmt: skip
    app.connect("source-read", links_stay_on_the_site)
    app.connect("autodoc-process-signature", public_names)
    app.connect("autodoc-process-docstring", public_text)
    app.connect("autodoc-skip-member", is_plain_field)
    app.connect("doctree-read", sizes_are_no_links)
    app.connect("autodoc-process-docstring", escape_stars, priority=400)
    app.add_lexer("mermaid", TextLexer)
