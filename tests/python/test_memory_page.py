"""asnumpy.memory.page: one file that loads nothing, and what a browser shows of it."""

import json
import re
import shutil
import subprocess

import asnumpy
import pytest
from asnumpy import memory


def test_page_draws_history_and_segments(tmp_path):
    before = memory.record_history(1000)
    try:
        a = asnumpy.ones(1_000_000) + 1
        asnumpy.synchronize()
        memory.page(tmp_path / "memory.html")
    finally:
        memory.record_history(before)
    text = (tmp_path / "memory.html").read_text()
    assert text.count("<polyline") == 2
    assert "<rect" in text
    assert "test_memory_page.py:" in text
    assert "http" not in text, "it loads nothing"
    assert float(a[0]) == 2
    memory.page(tmp_path / "empty.html")
    assert "No history" in (tmp_path / "empty.html").read_text()


# Measured after layout: what a reader would see.
MEASURE = """<script>addEventListener("load", () => {
  const box = e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom].map(Math.round); };
  const style = (e, key) => getComputedStyle(e)[key];
  const curve = document.querySelector("#curve"), map = document.querySelector("#map");
  const pre = document.createElement("pre");
  pre.id = "measured";
  pre.textContent = JSON.stringify({
    curve: box(curve), map: box(map), page: document.documentElement.scrollWidth <= innerWidth,
    lines: [...curve.querySelectorAll("polyline")].map(e => [e.getAttribute("class"), ...box(e), style(e, "stroke")]),
    ranges: [...map.querySelectorAll("rect")].map(e => [e.getAttribute("class"), ...box(e), style(e, "fill")]),
    rows: document.querySelectorAll("td").length / 3, headings: [...document.querySelectorAll("h2")].map(e => e.textContent)
  });
  document.body.append(pre);
});</script>"""


@pytest.mark.skipif(
    not shutil.which("chromium"), reason="chromium is not installed (make test-full installs it)"
)
def test_the_page_in_a_browser(tmp_path):
    before = memory.record_history(1000)
    try:
        held = [asnumpy.ones(1 << 18), asnumpy.ones((300, 1000))]
        for _ in range(5):
            held.append(asnumpy.zeros(1 << 19))
            held.pop(0)
        asnumpy.synchronize()
        memory.page(tmp_path / "memory.html")
    finally:
        memory.record_history(before)
    text = (tmp_path / "memory.html").read_text()
    assert not re.search(r"(src|href)=|https?:", text)  # it loads nothing
    (tmp_path / "measured.html").write_text(text.replace("</body>", MEASURE + "</body>"))
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900", f"--user-data-dir={tmp_path}/u",
         "--virtual-time-budget=5000", "--dump-dom", (tmp_path / "measured.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=True)  # fmt: skip
    found = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stdout[-500:]
    seen = json.loads(found[1])
    assert seen["headings"] == ["Over time", "Held now", "Summary"] and seen["page"]
    left, top, right, bottom = seen["curve"]
    assert right - left > 900 and bottom - top > 200
    assert [line[0] for line in seen["lines"]] == ["held", "use"]
    assert len({line[5] for line in seen["lines"]}) == 2  # colours
    for _, x0, y0, x1, y1, _ in seen["lines"]:
        assert left - 2 <= x0 < x1 <= right + 2 and top - 2 <= y0 <= y1 <= bottom + 2
    assert seen["lines"][1][4] > seen["lines"][1][2]  # memory came and went
    segments = asnumpy.memory_snapshot()["segments"]
    left, top, right, bottom = seen["map"]
    bars = {r[2] for r in seen["ranges"]}
    assert 1 <= len(bars) <= len(segments) + 1
    assert {r[0] for r in seen["ranges"]} <= {"live", "idle", "aside", "slab"} and "live" in {
        r[0] for r in seen["ranges"]
    }
    colours = {}
    for state, x0, y0, x1, y1, colour in seen["ranges"]:
        assert left - 1 <= x0 <= x1 <= right + 1 and top - 1 <= y0 < y1 <= bottom + 1
        assert colours.setdefault(state, colour) == colour
    assert len(set(colours.values())) == len(colours) and "rgb(0, 0, 0)" not in colours.values()
    assert seen["rows"] >= 1
