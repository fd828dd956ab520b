"""Checkpoints: files with the state of a training run, from which an interrupted run continues.

run/step-000000000100/     a folder has its name when all that is in it has been written
    manifest.json          what the files are, with their checksums and its own
    state.bin              arrays that are the same on all processes, written by rank 0
    shard-0.bin …          arrays of each process's own
"""

from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core import pytree
from ..core.errors import CheckpointError, StructureError
from ..core.interpreter import api_boundary
from .communicator import Communicator
from .processes import world
from .records import build_tree, bytes_of, check_description, describe_tree, pieces
from .sharding import is_sharded

FORMAT = 1
NAME = re.compile(r"step-(\d+)")
PARTIAL = ".partial-"  # begins the names of folders that are being written, or removed
MANIFEST, STATE = "manifest.json", "state.bin"


class Checkpoint(NamedTuple):
    """A saved checkpoint: the number of the step, the state, and this process's shards.

    `shards` is None where none were saved.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = fx.distributed.Checkpoints(folder)
    ...     checkpoints.save(3, {"w": 1.0})
    ...     saved = checkpoints.load({"w": 0.0})
    >>> saved.step
    3
    """

    step: int
    state: Any
    shards: Any


class Checkpoints:
    """The checkpoints of a training run, in a folder. All processes create it and call its methods together.

    Args:
        folder: where they are, on a file system that all processes see (rank 0 alone, if there are no shards).
        comm: the group of processes; None is `world()`.
        keep: how many are kept: those that were saved last. None keeps all.

    A state is a pytree of arrays, numbers and texts: parameters, the state of an optimizer, random keys, the number of
    the epoch. It comes back to the bit. Whatever ends a process, a checkpoint is there whole or not at all, and one
    that has been damaged since is passed over.

    Raises:
        StructureError: `keep` is below one.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> checkpoints = fx.distributed.Checkpoints(folder.name)
    >>> start = {"w": np.zeros(2), "key": fx.random.key(0)}
    >>> checkpoints.load(start) is None
    True
    >>> checkpoints.save(100, {"w": np.ones(2), "key": fx.random.key(0)})
    >>> step, state, _ = checkpoints.load(start)
    >>> step, state["w"]
    (100, array([1., 1.]))
    >>> folder.cleanup()
    """

    folder: Path
    keep: int | None
    comm: Communicator

    @api_boundary
    def __init__(self, folder: str | os.PathLike, comm: Communicator | None = None, *, keep: int | None = 3):
        if keep is not None and keep < 1:
            raise StructureError(f"Checkpoints: keep={keep} keeps none", hint="keep=1, or None for all")
        self.folder, self.keep = Path(folder), keep
        self.comm = world() if comm is None else comm

    def steps(self) -> list[int]:
        """Return the steps of the checkpoints that are there, in their order; some may have been damaged."""
        return self.comm.broadcast_object(self.find_steps() if self.comm.rank == 0 else None)

    @api_boundary
    def save(self, step: int, state: Any, shards: Any = None) -> None:
        """Save a state after a step.

        Args:
            step: the number of the step, zero or above. A checkpoint of the same step is replaced.
            state: a pytree that is the same on all processes. Rank 0 writes it.
            shards: a pytree of what each process has of its own. Each writes its own.

        Raises:
            StructureError: the state is not the same on all processes.
            DTypeError: a leaf is no array, number or text.
            CheckpointError: it cannot be written. All processes raise, and what was saved before is untouched.
        """
        if step < 0:
            raise StructureError(f"save: the step {step} is below zero", hint="count steps from 0 on")
        if any(is_sharded(leaf) for leaf in pytree.leaves(state, is_leaf=is_sharded)):
            raise StructureError(
                "save: arrays of the state are divided among the processes",
                hint="save(step, state, shards=…) for these, or fx.distributed.gather(state)",
            )
        description, arrays = describe_tree(state, "save: state")
        own = None if shards is None else describe_tree(shards, "save: shards")
        self.compare(description, arrays)
        partial = self.folder / f"{PARTIAL}{step}"
        self.together(lambda: self.begin(partial), only_rank=0)
        files = {}
        if own is not None:
            name = f"shard-{self.comm.rank}.bin"
            files[name] = self.together(lambda: write(partial / name, *own))
            files = {k: v for part in self.comm.gather_objects(files) for k, v in part.items()}

        def finish() -> None:
            files[STATE] = write(partial / STATE, description, arrays)
            content = {"format": FORMAT, "step": step, "ranks": self.comm.size, "files": files}
            write_manifest(partial / MANIFEST, content)
            self.publish(partial, self.path(step))

        self.together(finish, only_rank=0)

    @api_boundary
    def load(self, like: Any, shards: Any = None, *, step: int | None = None) -> Checkpoint | None:
        """Load the latest checkpoint that is whole, or that of a step.

        Args:
            like: a pytree like the state that was saved: with the same structure, shapes and dtypes. Its values are not
                read. Arrays come back on the devices that these are on.
            shards: a pytree like this process's shards, if they are wanted.
            step: the number of a step; None is the latest.

        Returns:
            A `Checkpoint` (step, state, shards), the same state on all processes, however many there were; None if
            nothing has been saved.

        Raises:
            StructureError, ShapeError, DTypeError: what was saved is not like that; or shards are wanted of another
                number of processes.
            CheckpointError: none of the checkpoints, or not that of the step, is whole.

        Warns:
            RuntimeWarning: a later checkpoint has been damaged and is passed over.
        """
        steps = self.steps()[::-1] if step is None else [step]
        damage = []
        for candidate in steps:
            found, problem = self.read(candidate, like, shards)
            if problem is None:
                if damage:
                    warnings.warn(
                        f"{'; '.join(damage)}: going on from step {candidate}", RuntimeWarning, stacklevel=3
                    )
                return found
            damage.append(problem)
        if damage:
            raise CheckpointError(
                f"load: no checkpoint in {self.folder} is whole: {'; '.join(damage)}",
                hint="a folder with an earlier copy, or begin anew: the state before the first step",
            )
        return None

    # -- what all processes do together -------------------------------------------------------------------------
    def together(self, act: Any, only_rank: int | None = None) -> Any:
        """Do something on all processes, or on one; raise on all of them if it fails on any.

        Args:
            act: a function without arguments.
            only_rank: the process that does it; None: all.

        Raises:
            CheckpointError: it has failed on a process.
        """
        result = problem = None
        if only_rank in (None, self.comm.rank):
            try:
                result = act()
            except OSError as error:
                problem = f"rank {self.comm.rank}: {error}"
        problems = [p for p in self.comm.gather_objects(problem) if p is not None]
        if problems:
            raise CheckpointError(f"save: {'; '.join(problems)}", hint="what was saved before is untouched")
        return result

    def compare(self, description: Any, arrays: list[np.ndarray]) -> None:
        """Raise unless the state is the same everywhere: what differs would be lost.

        Args:
            description: what the leaves are, shapes and dtypes.
            arrays: the leaves.

        Raises:
            StructureError: the state differs.
        """
        if self.comm.size == 1:
            return
        digests = [sha256(bytes_of(a)).hexdigest() for a in arrays]
        waiting = iter(digests)
        mine = [(e["path"], e if "python" in e else next(waiting)) for e in description]
        first, *others = self.comm.gather_objects(mine)
        for rank, other in enumerate(others, 1):
            if other != first:
                unlike = next((b for a, b in zip(first, other) if a != b), ("", None))[0]
                raise StructureError(
                    f"save: the state of rank {rank} is not that of rank 0, in state{unlike}",
                    hint="save(step, state, shards=…) for what each process has of its own; parameters that have "
                    "drifted apart are a fault: fx.distributed.check_replicated",
                )

    def read(self, step: int, like: Any, shards: Any) -> tuple[Checkpoint | None, str | None]:
        """Return the checkpoint of a step, or why it cannot be read, the same on all processes.

        Args:
            step: the number of the step.
            like: a pytree that is built as the state was.
            shards: those that were saved.

        Raises:
            StructureError: what was saved is not built as `like` or `shards` is.
        """
        content = data = problem = None
        if self.comm.rank == 0:
            try:
                content = read_manifest(self.path(step) / MANIFEST)
                data = read_file(self.path(step) / STATE, content["files"][STATE])
            except (OSError, ValueError, KeyError) as error:
                problem = f"step {step} cannot be read ({error})"
        content, problem = self.comm.broadcast_object((content, problem))
        if problem is not None:
            return None, problem
        record = content["files"][STATE]
        check_description(record["leaves"], like, "load: state")
        if shards is not None:
            name = f"shard-{self.comm.rank}.bin"
            if content["ranks"] != self.comm.size or name not in content["files"]:
                saved = f"{content['ranks']} processes" if "shard-0.bin" in content["files"] else "nobody"
                raise StructureError(
                    f"load: the shards of step {step} were saved by {saved}, and are wanted by {self.comm.size}",
                    hint="start as many processes as saved them, or save what is to be divided otherwise in `state`",
                )
            check_description(content["files"][name]["leaves"], shards, "load: shards")
            try:
                own = read_file(self.path(step) / name, content["files"][name])
            except (OSError, ValueError) as error:
                problem = f"step {step} cannot be read (rank {self.comm.rank}: {error})"
            problem = next((p for p in self.comm.gather_objects(problem) if p is not None), None)
            if problem is not None:
                return None, problem
            shards = build_tree(content["files"][name]["leaves"], own, shards)
        data = self.comm.broadcast(np.empty(record["bytes"], np.uint8) if data is None else data)
        return Checkpoint(step, build_tree(record["leaves"], data, like), shards), None

    # -- what rank 0 does ----------------------------------------------------------------------------------------
    def path(self, step: int) -> Path:
        """Return the folder of the checkpoint of a step."""
        return self.folder / f"step-{step:012d}"

    def find_steps(self) -> list[int]:
        """Return the steps that there are checkpoints of, in order."""
        with suppress(FileNotFoundError):
            return sorted(int(m[1]) for name in os.listdir(self.folder) if (m := NAME.fullmatch(name)))
        return []

    def begin(self, partial: Path) -> None:
        """Make an empty folder to write into, and remove what an interrupted process has left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in os.listdir(self.folder):
            if name.startswith(PARTIAL):
                shutil.rmtree(self.folder / name)
        partial.mkdir()

    def publish(self, partial: Path, path: Path) -> None:
        """Give a folder that is whole its name, and remove those that are not to be kept.

        Args:
            partial: the folder in which it was written.
            path: the one that it becomes.
        """
        sync(partial)
        if path.exists():
            self.remove(path)
        os.rename(partial, path)
        sync(self.folder)
        paths = [self.path(step) for step in self.find_steps()]
        paths.sort(key=lambda p: (p == path, p.stat().st_mtime_ns))
        for old in paths[: -self.keep] if self.keep is not None else []:
            self.remove(old)

    def remove(self, path: Path) -> None:
        """Remove a checkpoint, which is none as soon as that begins."""
        doomed = self.folder / f"{PARTIAL}removed-{path.name}"
        os.rename(path, doomed)
        shutil.rmtree(doomed)


def sync(path: Path) -> None:
    """Have the names in a folder written to the disk."""
    if os.name == "nt":
        return  # where folders cannot be opened
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write(path: Path, description: Any, arrays: list[np.ndarray]) -> dict[str, Any]:
    """Write arrays to a file, and return its record: their description, its length and checksum."""
    digest, size = sha256(), 0
    with open(path, "xb") as file:
        for piece in pieces(arrays):
            digest.update(piece)
            size += file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return {"bytes": size, "sha256": digest.hexdigest(), "leaves": description}


def read_file(path: Path, record: dict[str, Any]) -> np.ndarray:
    """Return the bytes of a file; raise ValueError unless they are those that were written."""
    data = np.fromfile(path, np.uint8)
    if data.size != record["bytes"] or sha256(data.data).hexdigest() != record["sha256"]:
        raise ValueError(f"{path.name} has been damaged")
    return data


def write_manifest(path: Path, content: dict[str, Any]) -> None:
    """Write a manifest: its content, after its checksum."""
    text = json.dumps(content)
    with open(path, "x", encoding="utf-8") as file:
        file.write(f"{sha256(text.encode()).hexdigest()}\n{text}\n")
        file.flush()
        os.fsync(file.fileno())


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the content of a manifest; raise ValueError unless it is what was written."""
    checksum, _, text = path.read_text(encoding="utf-8").partition("\n")
    text = text.removesuffix("\n")
    if sha256(text.encode()).hexdigest() != checksum:
        raise ValueError(f"{path.name} has been damaged")
    content = json.loads(text)
    if content["format"] != FORMAT:
        raise ValueError(f"format {content['format']} is not known")
    return content


__all__ = ["Checkpoint", "Checkpoints"]
