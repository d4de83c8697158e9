"""The Python blocks of docs/guide/pytorch.md, one after the other, as a reader would."""

import re

from conftest import ROOT


def test_blocks(npu):
    text = (ROOT / "docs" / "guide" / "pytorch.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 3
    out = npu("\n".join(blocks))
    assert "npu:0" in out
