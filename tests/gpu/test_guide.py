"""docs/howto/gpu.md: its blocks of code run, one after the other, where there is a GPU or on CuPy's stand-in."""

import re
from pathlib import Path

import pytest

import fxgrad as fx

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "gpu.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RAISES = re.compile(r"^# (\w+Error): (.*)\n\Z", re.MULTILINE)  # the last line of a block that raises


def test_the_blocks_of_the_page_do_what_they_say(cupy):
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) > 5
    namespace = {"__name__": "__main__"}
    for number, block in enumerate(blocks):
        code = compile(block, f"{PAGE.name}, block {number}", "exec")
        error = RAISES.search(block)
        if error is None:
            exec(code, namespace)
            continue
        with pytest.raises(getattr(fx, error[1]), match=re.escape(error[2])):
            exec(code, namespace)
