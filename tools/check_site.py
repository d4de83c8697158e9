"""Checks the site that `make docs` built: no link leads nowhere.

usage: check_site.py FOLDER

Every link, picture, script and style sheet of a page is there, and every anchor that a link names;
every page can be reached from the front page, and has a title of its own. Links to other sites are checked for their form
alone (https, a host, no blanks): `make docs-links` asks those sites. Standard library only.
"""

import collections
import pathlib
import posixpath
import re
import sys
import urllib.parse
from html.parser import HTMLParser

# What Sphinx makes for itself, and no link leads to.
ALONE = {"search.html", "genindex.html"}
HOST = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?")


class Page(HTMLParser):
    """What a page links to, its anchors and its title."""

    def __init__(self, text):
        super().__init__()
        self.links, self.parts, self.anchors, self.title, self._in_title = [], [], set(), "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs[k] for k in ("id", "name") if attrs.get(k)}
        if tag == "title":
            self._in_title = not self.title
        elif tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        for name in ("src", "href"):
            if attrs.get(name) and tag in ("img", "script", "link"):
                self.parts.append(attrs[name])

    def handle_endtag(self, tag):
        if tag == "title":
            self._in_title = False

    def handle_data(self, data):
        if self._in_title:
            self.title += data


def external_fault(link):
    """What is wrong with the form of a link to another site."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme == "mailto":
        return "" if "@" in parts.path else "no address"
    if parts.scheme not in ("https", "http"):
        return f"scheme {parts.scheme!r}"
    if parts.hostname not in ("localhost", "127.0.0.1") and not HOST.fullmatch(parts.netloc):
        return f"host {parts.netloc!r}"
    return "blanks" if re.search(r"\s", link) else ""


def target_of(page, link):
    """(file, anchor) that a link inside the site leads to."""
    parts = urllib.parse.urlsplit(link)
    path = urllib.parse.unquote(parts.path)
    file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return file, urllib.parse.unquote(parts.fragment)


def faults(files, pages, reached):
    """What is wrong, a line each; adds the pages that links lead to."""
    external = set()
    for page, parsed in pages.items():
        for link in {*parsed.links, *parsed.parts}:
            if re.match(r"[a-z][\w+.-]*:", link):
                external.add(link)
                continue
            file, anchor = target_of(page, link)
            if file not in files:
                yield f"{page}: {link} leads nowhere"
                continue
            if file != page:
                reached.add(file)
            if anchor and file in pages and anchor not in pages[file].anchors:
                yield f"{page}: {link}: no such anchor"
    for link in sorted(external):
        if fault := external_fault(link):
            yield f"{link}: {fault}"


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    files = {str(p.relative_to(site)) for p in site.rglob("*") if p.is_file()}
    html = sorted(f for f in files if f.endswith(".html") and not f.startswith("_static/"))
    pages = {f: Page((site / f).read_text()) for f in html}
    if "index.html" not in pages:
        sys.exit(f"check_site: there is no site in {site}; make docs builds it")
    reached = {"index.html", *ALONE}
    found = list(faults(files, pages, reached))
    found += [f"{p}: no page leads to it" for p in pages if p not in reached]
    titles = collections.Counter(p.title for p in pages.values())
    found += [f"{p}: no title" for p, parsed in pages.items() if not parsed.title.strip()]
    found += [f"{n} pages have the title {t!r}" for t, n in titles.items() if n > 1]
    print("\n".join(found[:50]))
    links = sum(len(p.links) + len(p.parts) for p in pages.values())
    print(f"{len(pages)} pages, {links} links, {len(found)} faults")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
