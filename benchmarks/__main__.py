"""`python -m benchmarks`: every line of work beside the best peer, in one table."""

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tqdm import tqdm

from . import lines, machine, table  # noqa: F401  (`lines` fills the table)
from .line import LINES, OURS, PEER, is_there, library_of, role_of
from .rounds import ROOT, Limits, Plan, contender_of, measure_line

BY_WISH = "torch.compile"  # takes minutes of a compiler; the lines that have it are jitted


def main() -> None:
    options = parse()
    chosen = [line for line in LINES.values() if re.search(options.only, line.name)]
    plans = {line: plan_of(line.make(True), options) for line in chosen}
    needed = {library_of(contender_of(label)) for plan in plans.values() for label in plan}
    if missing := sorted(library for library in needed if not is_there(library)):
        print(f"not installed, so not compared with: {', '.join(missing)}")
    print(f"{machine.describe()}; {options.threads} thread{'s' * (options.threads > 1)} each")
    print(table.COLUMNS)
    limits = Limits(options.seconds, options.limit, options.threads)
    measurements = []
    with tqdm(plans.items(), unit="line", disable=None, leave=False) as bar:
        for line, plan in bar:
            bar.set_description(line.name)
            there = {label: tree for label, tree in plan.items() if is_there(contender_of(label))}
            measurement = measure_line(line, there, options.quick, limits)
            measurements.append(measurement)
            tqdm.write(table.row(measurement))
            if options.details:
                tqdm.write(table.details(measurement))
            sys.stdout.flush()
    print(table.summary(measurements))
    if options.json:
        table.write_json(measurements, options.threads, options.json)
    if options.plot:
        table.draw(measurements, options.plot)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", default="", metavar="REGEX", help="lines by a regular expression on their names"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: does everything run?")
    parser.add_argument(
        "--peers",
        metavar="NAMES",
        type=lambda text: text.split(","),
        help=f"peers by the beginnings of their contenders' names, as torch,jax; {BY_WISH} only if it is named here",
    )
    parser.add_argument(
        "--against", type=Path, metavar="TREE", help="another checkout: its contenders are the peers"
    )
    parser.add_argument("--seconds", type=float, default=6.0, help="of rounds for each line")
    parser.add_argument(
        "--limit", type=float, default=300.0, metavar="SECONDS", help="when a line is given up"
    )
    parser.add_argument(
        "--threads",
        type=thread_count,
        default=1,
        metavar="COUNT",
        help="of each library, on as many cores: a number, or `all`",
    )
    parser.add_argument("--details", action="store_true", help="every contender's time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every number of every round")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a picture of the ratios")
    options = parser.parse_args()
    if options.quick:
        options.seconds = 0.0
    return options


def thread_count(text: str) -> int:
    """The number of threads that an option asks for."""
    count = machine.core_count() if text == "all" else int(text)
    if not 1 <= count <= machine.core_count():
        raise argparse.ArgumentTypeError(f"from 1 to {machine.core_count()} threads, or `all`")
    return count


def plan_of(names: Iterable[str], options: argparse.Namespace) -> Plan:
    """Who takes part: those of `--peers` or all, or with `--against` ours of both trees."""
    if options.against is None:
        return {name: ROOT for name in names if role_of(name) != PEER or is_wanted(name, options.peers)}
    tree = options.against.resolve()
    ours = [name for name in names if role_of(name) == OURS]
    return dict.fromkeys(ours, ROOT) | {f"{tree.name}/{name}": tree for name in ours}


def is_wanted(peer: str, chosen: list[str] | None) -> bool:
    """Whether a peer is among the chosen: all but torch.compile, if none are named."""
    if peer == BY_WISH:
        return chosen is not None and peer in chosen
    return chosen is None or peer.startswith(tuple(chosen))


if __name__ == "__main__":
    main()
