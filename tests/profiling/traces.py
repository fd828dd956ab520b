"""The rules of the Trace Event Format."""

from __future__ import annotations


def check_trace(trace):
    """The rules of the format: the fields of each phase, and complete events of a thread nest."""
    required = {"X": {"name", "cat", "ts", "dur", "pid", "tid"}, "M": {"name", "pid", "args"}}
    required |= {phase: {"name", "cat", "id", "ts", "pid", "tid"} for phase in "sf"}
    threads = {}
    for event in trace["traceEvents"]:
        assert event["ph"] in required
        assert required[event["ph"]] <= event.keys()
        if event["ph"] == "X":
            assert event["dur"] >= 0
            threads.setdefault((event["pid"], event["tid"]), []).append(
                (event["ts"], event["ts"] + event["dur"])
            )
    for spans in threads.values():
        stack = []
        for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
            while stack and start >= stack[-1]:
                stack.pop()
            assert not stack or end <= stack[-1] + 1e-3
            stack.append(end)
    starts, ends = ({e["id"] for e in trace["traceEvents"] if e["ph"] == phase} for phase in "sf")
    assert starts == ends
