"""What is measured once in a process of its own: the first call's time, memory at its highest, memory that stays."""

import time

from .line import Run

GROWTH_STEPS = 2000


def first_call(run: Run) -> tuple[float, object]:
    """Seconds of this process's CPU work, and the result."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def peak_memory(run: Run) -> tuple[float, object]:
    """By how many bytes memory rose at most, and the result."""
    before = _resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the highest level so far is forgotten (proc(5))
    result = run()
    return _resident("VmHWM") - before, result


def memory_growth(run: Run) -> tuple[float, object]:
    """By how many bytes memory rose while a warm program ran 2000 times, and the first result."""
    result = run()
    for _ in range(GROWTH_STEPS // 10):
        run()
    before = _resident("VmRSS")
    for _ in range(GROWTH_STEPS):
        run()
    return _resident("VmRSS") - before, result


def _resident(field: str) -> float:
    """A field of /proc/self/status, in bytes: `resource.getrusage` would begin with the parent's peak."""
    with open("/proc/self/status") as file:
        return next(1024.0 * int(text.split()[1]) for text in file if text.startswith(field))


UNIT = {None: "s", "first_call": "s", "peak_memory": "B", "memory_growth": "B"}
