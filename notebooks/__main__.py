"""`python -m notebooks [NAME ...]`: execute the notebooks, and store them with what they print and draw."""

import argparse
import time

from tqdm import tqdm

from . import storage
from .execution import execute


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="as 04 or 04_curvature; otherwise all")
    names = parser.parse_args().names
    chosen = [path for path in storage.PATHS if not names or path.stem.startswith(tuple(names))]
    if not chosen:
        parser.error(f"no notebook is called so; there are {', '.join(path.stem for path in storage.PATHS)}")
    with tqdm(chosen, unit="notebook", disable=None, leave=False) as bar:
        for path in bar:
            bar.set_description(path.stem)
            start = time.perf_counter()
            storage.write(path, execute(storage.read(path)))
            seconds = time.perf_counter() - start
            tqdm.write(f"{path.name}: {seconds:.1f} s, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
