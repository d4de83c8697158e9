"""The documentation's pages run as a reader runs them, and print what they say.

What a plan looks like and how fast it is are said of the library as it comes, whatever mode the tests
are run in.
"""

import re

import pages
import pytest

ROOT = pages.DOCS.parent
# Pages whose blocks other tests run.
ELSEWHERE = {
    "guide/c.md": "tests/capi/test_guide.py",
    "guide/custom-operators.md": "tests/python/test_guide_custom_operators.py",
    "guide/pytorch.md": "tests/torch/test_guide.py",
    "guide/serving.md": "tests/python/test_llm.py",
    **dict.fromkeys(
        [f"guide/{name}.md" for name in ("auto", "dask", "jit", "memory", "profiling", "streams")],
        "tests/python/test_guides.py",
    ),
}


def with_code():
    """Pages that have a block of Python or C."""
    found = sorted(p for p in pages.DOCS.rglob("*.md") if p.parent.name not in ("reference",))
    names = [str(p.relative_to(pages.DOCS)) for p in found] + ["../README.md"]
    return [n for n in names if re.search(r"^```(python|c)$", (pages.DOCS / n).read_text(), re.M)]


@pytest.mark.parametrize("page", [p for p in with_code() if p not in ELSEWHERE])
def test_page(page, tmp_path):
    ran = pages.run(page, tmp_path)
    if not ran:
        pytest.skip("its first block needs a library that is not here")
    wrong = [pages.differences(*block) for block in ran]
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_every_page_is_run():
    for page, test in ELSEWHERE.items():
        assert page in with_code()
        assert (ROOT / test).exists() and page.rpartition("/")[2].partition(".")[0] in (
            ROOT / test
        ).read_text().replace(" ", "")


def test_nothing_was_left_out():
    blocks = [b for page in with_code() for language, b, _ in pages.blocks_of(page)]
    missing = {name for block in blocks for name in pages.lacks(block)}
    if missing:
        pytest.skip(f"blocks that need {', '.join(sorted(missing))} did not run")


def test_tutorials_are_real():
    """Four at least, with code and with what it prints."""
    tutorials = [p for p in with_code() if p.startswith("tutorials/")]
    assert len(tutorials) >= 4
    for page in tutorials:
        assert len((pages.DOCS / page).read_text().splitlines()) >= 60
        assert sum(said is not None for _, _, said in pages.blocks_of(page)) >= 5


@pytest.mark.parametrize(
    ("code", "said", "printed", "same"),
    [
        ("f()", "1 2\n", "1  2\n", True),
        ("f()", "1 2\n", "1 3\n", False),
        ("f()  # the figures vary", "took 1.5 ms\n", "took 22 ms\n", True),
        ("f()  # the figures vary", "took 1.5 ms\n", "took 22 us\n", False),
        ("f()", "a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("f()", "a\n...\nd\n", "a\nd\n", True),
        ("f()", "a\n...\nd\n", "a\nb\nc\n", False),
        ("f()", None, "anything", True),
    ],
)
def test_comparison(code, said, printed, same):
    assert (pages.differences(code, said, printed) == "") == same
