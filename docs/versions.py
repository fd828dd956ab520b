"""The versions of the site that lie in one folder: `python -m docs.versions FOLDER` lists them in versions.json, which
the switch of versions reads, and makes a first page that leads to the newest.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

START = """<!doctype html>
<html lang="en">
<title>fxgrad</title>
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<a href="{newest}/index.html">fxgrad {newest}</a>
</html>
"""


def write_versions(folder: Path) -> list[str]:
    """List the sites in a folder, the newest first."""
    found = [site.parent.name for site in folder.glob("*/objects.inv")]
    versions = sorted(found, key=lambda name: [int(n) for n in re.findall(r"\d+", name)], reverse=True)
    (folder / "versions.json").write_text(json.dumps(versions), encoding="utf-8")
    (folder / "index.html").write_text(START.format(newest=versions[0]), encoding="utf-8")
    return versions


if __name__ == "__main__":
    write_versions(Path(sys.argv[1]))
