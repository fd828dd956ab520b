"""torch.utils.tensorboard: event files of the package `tensorboard`, which has to be installed for it."""

from __future__ import annotations

import os
import platform
import time
import zlib
from datetime import datetime
from struct import pack
from typing import Any

import numpy as np

from ...extend import load_library
from ..errors import NotSupportedError

PURPOSE = "torch.utils.tensorboard.SummaryWriter"
# The edges of a histogram: TensorBoard's, each a tenth larger than the one before, on both sides of zero.
STEPS = 1e-12 * 1.1 ** np.arange(774)
EDGES = np.concatenate([-STEPS[::-1], [0.0], STEPS])


class SummaryWriter:
    """A writer of scalars, histograms, images and texts that TensorBoard shows.

    Args:
        log_dir: the folder; None: one in `runs/` with the time and the machine's name.
        comment: the end of such a name.
        purge_step: TensorBoard is to forget what an earlier run has written from this step on.
        max_queue: how many events wait before they are written.
        flush_secs: how many seconds they wait at most.
        filename_suffix: the end of the file's name.

    Raises:
        MissingLibraryError: `tensorboard` is not installed; an ImportError.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ):
        if log_dir is None:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{platform.node()}{comment}")
        self.log_dir, self.purge_step = os.fspath(log_dir), purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self._fx_files: dict[str, Any] = {}
        self._fx_write(None, None, None)

    def _fx_protocol(self, name: str) -> Any:
        """Load a module of messages."""
        return load_library(f"tensorboard.compat.proto.{name}_pb2", "tensorboard", PURPOSE)

    def _fx_file(self, folder: str) -> Any:
        """Open the event file of a folder."""
        if folder not in self._fx_files:
            files = load_library("tensorboard.summary.writer.event_file_writer", "tensorboard", PURPOSE)
            self._fx_files[folder] = files.EventFileWriter(
                folder, self.max_queue, self.flush_secs, self.filename_suffix
            )
            if self.purge_step is not None:
                event = self._fx_protocol("event")
                start = event.SessionLog(status=event.SessionLog.START)
                made = event.Event(wall_time=time.time(), step=self.purge_step, file_version="brain.Event:2")
                self._fx_files[folder].add_event(made)
                self._fx_files[folder].add_event(
                    event.Event(wall_time=time.time(), step=self.purge_step, session_log=start)
                )
        return self._fx_files[folder]

    def _fx_write(self, value: Any, step: Any, walltime: float | None, folder: str | None = None) -> None:
        """Write a value of a summary; None opens the file."""
        file = self._fx_file(folder or self.log_dir)
        if value is None:
            return
        summary, event = self._fx_protocol("summary"), self._fx_protocol("event")
        made = event.Event(
            wall_time=time.time() if walltime is None else walltime, summary=summary.Summary(value=[value])
        )
        if step is not None:
            made.step = int(step)
        file.add_event(made)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write a number.

        Args:
            tag: its name.
            scalar_value: a number, or a Tensor or array of one entry.
            global_step: the step it belongs to.
            walltime: the time; None: now.
            new_style, double_precision: accepted; numbers are written in single precision.
        """
        value = self._fx_protocol("summary").Summary.Value(
            tag=tag, simple_value=float(numbers(scalar_value).item())
        )
        self._fx_write(value, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write numbers that are shown together, each in a folder of its own.

        Args:
            main_tag: the name of all.
            tag_scalar_dict: the numbers by name.
            global_step, walltime: as for `add_scalar`.
        """
        for tag, scalar in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            number = float(numbers(scalar).item())
            value = self._fx_protocol("summary").Summary.Value(tag=main_tag, simple_value=number)
            self._fx_write(value, global_step, walltime, folder)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write how numbers are distributed.

        Args:
            tag: their name.
            values: the numbers.
            global_step, walltime: as for `add_scalar`.
            bins: "tensorflow", or the bins of `numpy.histogram`.
            max_bins: accepted.

        Raises:
            ValueError: there are no numbers.
        """
        data = numbers(values).astype(np.float64).ravel()
        if data.size == 0:
            raise ValueError("The input has no element.")
        counts, edges = np.histogram(data, EDGES if isinstance(bins, str) and bins == "tensorflow" else bins)
        inside = np.flatnonzero(counts)
        first, last = (inside[0], inside[-1] + 1) if len(inside) else (0, len(counts))
        histogram = self._fx_protocol("summary").HistogramProto(
            min=data.min(),
            max=data.max(),
            num=len(data),
            sum=data.sum(),
            sum_squares=data @ data,
            bucket_limit=edges[first : last + 1].tolist(),
            bucket=[0.0, *counts[first:last].tolist()],
        )
        self._fx_write(
            self._fx_protocol("summary").Summary.Value(tag=tag, histo=histogram), global_step, walltime
        )

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write a text.

        Args:
            tag: its name.
            text_string: the text, in Markdown.
            global_step, walltime: as for `add_scalar`.
        """
        protocol = self._fx_protocol("summary")
        plugin = protocol.SummaryMetadata.PluginData(plugin_name="text")
        tensor = self._fx_protocol("tensor").TensorProto(
            dtype="DT_STRING",
            string_val=[text_string.encode()],
            tensor_shape=self._fx_protocol("tensor_shape").TensorShapeProto(
                dim=[self._fx_protocol("tensor_shape").TensorShapeProto.Dim(size=1)]
            ),
        )
        value = protocol.Summary.Value(
            tag=f"{tag}/text_summary", metadata=protocol.SummaryMetadata(plugin_data=plugin), tensor=tensor
        )
        self._fx_write(value, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Write an image.

        Args:
            tag: its name.
            img_tensor: entries from 0 to 1, or bytes.
            global_step, walltime: as for `add_scalar`.
            dataformats: what its axes are: "CHW", "HWC", "HW".
        """
        image = numbers(img_tensor)
        pixels = np.einsum(f"{dataformats}->HWC" if "C" in dataformats else "HW->HW", image)
        pixels = pixels if pixels.ndim == 3 else pixels[..., None]
        if pixels.dtype != np.uint8:
            pixels = (pixels * 255).clip(0, 255).astype(np.uint8)
        height, width, colors = pixels.shape
        made = self._fx_protocol("summary").Summary.Image(
            height=height, width=width, colorspace=colors, encoded_image_string=encode_png(pixels)
        )
        self._fx_write(self._fx_protocol("summary").Summary.Value(tag=tag, image=made), global_step, walltime)

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.log_dir

    def flush(self) -> None:
        """Write what waits."""
        for file in self._fx_files.values():
            file.flush()

    def close(self) -> None:
        """Write what waits, and close the files."""
        for file in self._fx_files.values():
            file.close()
        self._fx_files = {}

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("add_"):
            raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}", name=name, obj=self)
        raise NotSupportedError(
            f"SummaryWriter.{name} is not there: scalars, histograms, images and texts are written",
            hint="add_scalar, add_scalars, add_histogram, add_image, add_text",
        )


def numbers(given: Any) -> np.ndarray:
    """Return the entries of a Tensor, array or number."""
    detach = getattr(given, "detach", None)
    return np.asarray(given if detach is None else detach().cpu().numpy())


def encode_png(pixels: np.ndarray) -> bytes:
    """Encode an image of bytes, of axes height, width and color, as PNG."""
    height, width, colors = pixels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[colors]

    def chunk(name: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))

    rows = np.concatenate(
        [np.zeros((height, 1), np.uint8), np.ascontiguousarray(pixels).reshape(height, width * colors)], 1
    )
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


__all__ = ["SummaryWriter"]
