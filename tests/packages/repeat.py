"""`python repeat.py program.py`: run a program four times in this process, and print the processor times behind its
output: of the process until the first run ends, and the shortest of the later ones."""

import io
import json
import sys
import time
from contextlib import redirect_stdout
from runpy import run_path

path = sys.argv[1]
run_path(path, run_name="__main__")
whole, times = time.process_time(), []
try:
    for _ in range(3):
        start = time.process_time()
        with redirect_stdout(io.StringIO()):
            run_path(path, run_name="__main__")
        times.append(time.process_time() - start)
except Exception:  # a program may register a name, which it can do but once
    times = [float("nan")]
print("\x1e" + json.dumps({"whole": whole, "warm": min(times)}))
