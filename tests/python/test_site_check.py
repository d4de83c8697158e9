"""tools/check_site.py finds what is wrong with a built site."""

import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_site.py"
GOOD = {
    "index.html": '<title>Front</title><a href="a/b.html#here">b</a><img src="p.png">'
    '<a href="https://example.org/x">out</a><a href="mailto:a@b.org">mail</a>',
    "a/b.html": '<title>B</title><h1 id="here">B</h1><a href="../index.html">up</a><a href="#here">x</a>',
    "p.png": "",
}


def checked(folder, pages):
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return subprocess.run(
        [sys.executable, str(TOOL), str(folder)], capture_output=True, text=True, check=False
    )


def test_a_sound_site(tmp_path):
    done = checked(tmp_path, GOOD)
    assert done.returncode == 0 and "2 pages, 6 links, 0 faults" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("page", "old", "new", "fault"),
    [
        ("index.html", "a/b.html#here", "a/c.html", "index.html: a/c.html leads nowhere"),
        ("index.html", "a/b.html#here", "a/b.html#there", "a/b.html#there: no such anchor"),
        ("index.html", "p.png", "q.png", "index.html: q.png leads nowhere"),
        ("index.html", "a/b.html#here", "p.png", "a/b.html: no page leads to it"),
        ("index.html", "https://example.org/x", "https://example/x", "host 'example'"),
        ("index.html", "https://example.org/x", "ftp://example.org/x", "scheme 'ftp'"),
        ("index.html", "https://example.org/x", "https://example.org/x y", "blanks"),
        ("a/b.html", "<title>B</title>", "", "a/b.html: no title"),
        ("a/b.html", "<title>B", "<title>Front", "2 pages have the title 'Front'"),
    ],
)
def test_faults_are_found(tmp_path, page, old, new, fault):
    assert old in GOOD[page]
    done = checked(tmp_path, {**GOOD, page: GOOD[page].replace(old, new)})
    assert done.returncode == 1 and fault in done.stdout, done.stdout


def test_no_site(tmp_path):
    done = checked(tmp_path, {})
    assert done.returncode == 1 and "make docs builds it" in done.stderr
