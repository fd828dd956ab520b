"""The documentation's site: `sphinx-build -W --keep-going -b html docs OUT`; `-b linkcheck` tries external links."""

from __future__ import annotations

import os
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent
sys.path[:0] = [str(CHECKOUT)]
os.environ["PYTHONPATH"] = os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")])  # for cells

import fxgrad  # noqa: E402  (the checkout's)
from docs._ext.origin import page_of_origin  # noqa: E402

project = "fxgrad"
author = "the fxgrad authors"
copyright = author
version = release = fxgrad.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.extlinks",
    "sphinx_copybutton",
    "sphinx_design",
    "docs._ext.alternative_texts",
    "docs._ext.formulas",
    "docs._ext.inline_pictures",
    "docs._ext.linked_names",
    "docs._ext.linked_terms",
    "docs._ext.messages",
    "docs._ext.outside_links",
    "docs._ext.plain_pages",
    "docs._ext.reachable",
    "docs._ext.reference",
    "docs._ext.trimmed_examples",
]

# Pages that show a file of the checkout: links to the file lead to the page.
SHOWN = {
    "contributing/guide": "CONTRIBUTING.md",
    "contributing/changelog": "CHANGELOG.md",
    "contributing/roadmap": "ROADMAP.md",
    "contributing/security": "SECURITY.md",
    "contributing/conduct": "CODE_OF_CONDUCT.md",
    "explanation/architecture": "ARCHITECTURE.md",
}
exclude_patterns = ["_ext", "_templates", "notebooks/__pycache__", "**/.ipynb_checkpoints"]

# Text is Markdown with Sphinx's roles and directives. Every name and link has to lead somewhere.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
nitpicky = True
toc_object_entries_show_parents = "hide"
extlinks = {
    "numpy": ("https://numpy.org/doc/stable/reference/generated/numpy.%s.html", "numpy.%s"),
    "scipy": ("https://docs.scipy.org/doc/scipy/reference/generated/scipy.%s.html", "scipy.%s"),
}

# Cells of pages here are executed, and remembered beside the doctrees; notebooks are shown as they are committed.
nb_execution_mode = "cache"
nb_execution_excludepatterns = ["notebooks/*"]
nb_execution_show_tb = True  # of a cell that fails, which is a warning
nb_execution_timeout = 300
nb_merge_streams = True

# linkcheck: what a server refuses to a machine, though a browser gets it, is no broken link.
linkcheck_timeout = 15
linkcheck_retries = 2
linkcheck_workers = 8
linkcheck_report_timeouts_as_broken = False

origin = page_of_origin(CHECKOUT)
html_theme = "pydata_sphinx_theme"
html_title = f"fxgrad {release}"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
html_favicon = html_logo = "_static/logo.svg"
html_copy_source = False
html_search_scorer = str(Path(__file__).with_name("search_order.js"))
html_math_renderer = "mathml"  # of docs._ext.formulas
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": f"fxgrad {release}"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["versions", "theme-switcher", "navbar-icon-links"],
    "icon_links": [{"name": "Repository", "url": origin, "icon": "fa-brands fa-git-alt"}] if origin else [],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc", "plain"],
    "navigation_with_keys": False,
}
html_context = {"default_mode": "auto"}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True


def setup(app):
    app.connect("config-inited", keep_cells_beside_doctrees)
    app.connect("builder-inited", keep_outputs_beside_doctrees, priority=900)  # after myst-nb


def keep_cells_beside_doctrees(app, config):
    config.nb_execution_cache_path = str(Path(app.doctreedir) / "cells")


def keep_outputs_beside_doctrees(app):
    folder = str(Path(app.doctreedir) / "outputs")
    app.env.mystnb_config = app.env.mystnb_config.copy(output_folder=folder)
