"""Sphinx's settings for the site that `make docs` builds.

The pages are Markdown that a repository's web view shows as well (docs/guide, docs/design, ...);
what is generated is not kept: the API reference (site/reference.py, into docs/reference) and the
gallery (sphinx-gallery, into docs/programs). Links out of docs are mended by site/extension.py.
"""

import os
import pathlib
import sys

os.environ["ASNUMPY_FALLBACK"] = "silent"
sys.path.insert(0, str(pathlib.Path(__file__).parent / "site"))

import asnumpy  # noqa: E402

project = "AsNumpy"
author = "the authors of AsNumpy"
copyright = "the authors of AsNumpy. Apache-2.0"
version = release = asnumpy.__version__
language = "en"

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_gallery.gen_gallery", "extension"]
exclude_patterns = ["site/**"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
nitpicky = True
smartquotes = False  # quoted words of these pages are often code
# A repository's address, for links to its files; without one they are shown as paths.
repository = os.environ.get("DOCS_REPOSITORY", "").rstrip("/")

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "programs",
    "filename_pattern": r"/gallery/",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (400, 280),
    "abort_on_example_error": True,
}

linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_anchors = False

toc_object_entries_show_parents = "hide"
# genfromtxt has punctuation for a default, in which Sphinx sees a type.
nitpick_ignore = [("py:class", ";<")]

html_theme = "pydata_sphinx_theme"
html_title = f"AsNumpy {version}"
html_short_title = "AsNumpy"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_favicon = "site/static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "AsNumpy",
        "image_light": "site/static/mark.svg",
        "image_dark": "site/static/mark.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "reference/**": ["topics.html"], "programs/**": []}
templates_path = ["site/templates"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
