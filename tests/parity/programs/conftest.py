"""The programs are no tests: processes of their own run them."""

from pathlib import Path

collect_ignore = [p.name for p in Path(__file__).parent.glob("*.py") if not p.name.startswith("test_")]
