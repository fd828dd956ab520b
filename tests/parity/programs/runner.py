"""Run programs of this folder with whatever `import torch` means, and write what they return.

python runner.py FOLDER RESULTS.json NAME…
"""

import importlib
import json
import sys
import traceback


def run_programs(folder, names):
    """Return what each program returns, or the text of its error."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(name).run(folder)
        except Exception:  # the others still run
            found[name] = {"error of the program": traceback.format_exc()}
    return found


if __name__ == "__main__":
    folder, path, *names = sys.argv[1:]
    with open(path, "w") as file:
        json.dump(run_programs(folder, names), file)
