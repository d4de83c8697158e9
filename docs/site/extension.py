"""What the site adds to Sphinx: the reference's pages, links out of docs, the reference's sidebar.

A page of docs may link to any file of the repository, as its web view shows it. Pages that the
site has under another name lead there (INSIDE); every other file must exist, and its link becomes
one to the repository where an address was given (`repository` in conf.py), else the path in code
type. The design notes, which are many, are linked as they stand.
"""

import pathlib
import re

import reference
from sphinx.util import logging

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INSIDE = {
    "CONTRIBUTING.md": "/how/contributing.md",
    "README.md": "/index.md",
    "CHANGELOG.md": "/how/changelog.md",
    "docs/gallery": "/programs/index.rst",
    "docs/site/topics.txt": "/reference/index.md",
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#:]+)(#[^)]*)?\)")
log = logging.getLogger(__name__)


def site_link(app, page, match):
    """The link of a page to a file as the site has it."""
    text, target, anchor = match[1], match[2], match[3] or ""
    path = (page.parent / target).resolve()
    if (
        target.startswith("/")
        or path.is_relative_to(DOCS)
        and path.suffix in (".md", ".rst", ".png")
    ):
        return match[0]
    if not path.is_relative_to(ROOT) or not path.exists():
        log.warning("the link to %s leads nowhere", target, location=app.env.path2doc(str(page)))
        return text
    inside = str(path.relative_to(ROOT))
    if inside in INSIDE:
        return f"[{text}]({INSIDE[inside]}{anchor})"
    if app.config.repository:
        return f"[{text}]({app.config.repository}/blob/main/{inside})"
    return text if text.startswith("`") else f"{text} (`{inside}`)"


def mend_links(app, name, source):
    """Markdown's links, outside of fenced code, as the site has them."""
    page = pathlib.Path(app.env.doc2path(name))
    if page.suffix == ".md":
        source[0] = in_prose(source[0], lambda match: site_link(app, page, match))


def in_prose(text, replace):
    """The text with LINK replaced outside of fenced code."""
    parts = re.split(r"(^(?:```|~~~).*?^(?:```|~~~)\s*?$)", text, flags=re.M | re.S)
    return "".join(p if i % 2 else LINK.sub(replace, p) for i, p in enumerate(parts))


def included(app, relative, parent, content):
    """Likewise of a page that another includes."""
    page = DOCS / relative
    if page.suffix == ".md":
        content[0] = in_prose(content[0], lambda match: from_root(app, match))


def from_root(app, match):
    """A link of a page at the repository's root, from a page one folder below docs."""
    path = ROOT / match[2]
    if path.is_relative_to(DOCS) and path.suffix == ".md":
        return f"[{match[1]}](/{path.relative_to(DOCS)}{match[3] or ''})"
    return site_link(app, ROOT / "README.md", match)


def write_reference(app):
    lost, unknown = reference.missing()
    for name in lost:
        log.warning("%s has no place in site/topics.txt", name)
    for name in unknown:
        log.warning("%s of site/topics.txt is no name of the package, or is there twice", name)
    app.env.asnumpy_places = reference.write(DOCS / "reference")


def sidebar(app, name, template, context, doctree):
    """The topics of the reference, that of the page with its names."""
    if not name.startswith("reference/"):
        return
    places = app.env.asnumpy_places
    here = name.removeprefix("reference/")
    topic = places.get(here, here)
    titles = [(slug, title) for slug, title, *_ in reference.topics()]
    titles += [(m, f"asnumpy.{m}") for m in reference.MODULES]
    context["reference_here"] = here
    context["reference_topics"] = [
        {
            "title": title,
            "page": f"reference/{slug}",
            "open": slug == topic,
            "names": sorted(n for n, s in places.items() if s == topic) if slug == topic else [],
        }
        for slug, title in titles
    ]
    title = dict(titles).get(topic)
    if (
        here != topic and title
    ):  # pages of names are in no toctree, which is what keeps builds short
        up = [("reference/index", "API reference"), (f"reference/{topic}", title)]
        uri = app.builder.get_relative_uri
        context["parents"] = [{"link": uri(name, page), "title": shown} for page, shown in up]


def setup(app):
    app.add_config_value("repository", "", "env")
    app.connect("builder-inited", write_reference)
    app.connect("source-read", mend_links)
    app.connect("include-read", included)
    app.connect("html-page-context", sidebar)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
