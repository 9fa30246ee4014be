"""The moving scene of a run alone: a page (html), a picture that moves (gif), a film (mp4)."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, RangeError, StorageError
from nonsmooth.results.files import write_file
from nonsmooth.results.painter import Painter
from nonsmooth.results.report.page import report_page, scene_of
from nonsmooth.results.report.write import check_frames, checked_path


def write_animation(
    result: Any,
    path: str | os.PathLike[str],
    *,
    seconds: float = 8.0,
    fps: int = 25,
    size: tuple[int, int] = (560, 420),
    title: str | None = None,
    frames: int | None = None,
    draw: Sequence[Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Write the moving scene of a run.

    Parameters
    ----------
    result : Result
        Of a model with shapes, ``MechanicalSystem(..., draw=[...])``, or of any door with `draw` here.
    path : path-like
        Ends in ``.html`` (can be turned, zoomed and stopped), ``.gif``, or ``.mp4`` (needs the program ffmpeg).
    seconds, fps : float, int
        Length and frame rate of a gif or film.
    size : (int, int)
        Width and height of a gif or film in pixels.
    title : str, optional
    frames : int, optional
        Frames of the page.
    draw : sequence of shapes, optional
        Shapes of the scene instead of those of the model; their functions get the coordinates q, or y where a run has no q.
    overwrite : bool
        A former file of the same kind is replaced anyway, anything else only if this is True.

    Raises
    ------
    InputError
        No shapes, an unknown ending, or no ffmpeg.
    OutputExistsError, StorageError
    """
    target = checked_film(path, overwrite)
    check_frames(frames)
    if not (0 < seconds <= 600 and 1 <= fps <= 100):
        raise RangeError(
            f"`seconds` is {seconds!r} and `fps` is {fps!r}: at most 600 seconds at 1 to 100 frames are wanted."
        )
    if len(size) != 2 or not all(isinstance(n, int) and 16 <= n <= 4096 for n in size):
        raise RangeError(f"`size` is {size!r}: two whole numbers from 16 to 4096 are wanted.")
    ending = target.suffix.lower()
    scene = scene_of(result, draw=draw)
    if scene is None:
        raise InputError(
            "the run has no scene: give shapes to the model, MechanicalSystem(..., draw=[nonsmooth.draw.Circle(...), ...]), or to "
            "the animation, animate(path, draw=[...])."
        )
    if ending in (".html", ".htm"):
        write_file(target, [report_page(result, title, frames, True, draw).encode("utf-8")])
        return
    painter = Painter(scene, size)
    count = max(int(round(seconds * fps)), 2)
    pictures = (painter.picture(t) for t in np.linspace(scene.t[0], scene.t[-1], count))
    if ending == ".gif":
        write_file(target, [_gif(pictures, fps)])
    else:
        _film(pictures, target, size, fps)


def checked_film(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """`path`, if an animation may be written there and can be; said before anything is computed."""
    target = checked_path(path, (".html", ".htm", ".gif", ".mp4"), overwrite)
    if target.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise InputError(
            f"`path` is {str(path)!r}: films need the program ffmpeg, which is not installed; write .gif or .html, or install "
            "ffmpeg (Debian: apt-get install ffmpeg)."
        )
    return target


def _gif(pictures: Iterator[Any], fps: int) -> bytes:
    """All pictures with the colours of one palette."""
    from PIL import Image

    shots = list(pictures)
    palette = shots[len(shots) // 2].quantize(64)
    first, *rest = [shot.quantize(palette=palette, dither=Image.Dither.NONE) for shot in shots]
    buffer = io.BytesIO()
    first.save(
        buffer,
        "GIF",
        save_all=True,
        append_images=rest,
        duration=max(round(1000 / fps), 20),
        loop=0,
        optimize=False,
        disposal=1,
    )
    return buffer.getvalue()


def _film(pictures: Iterator[Any], target: Path, size: tuple[int, int], fps: int) -> None:
    """Frames through a pipe into ffmpeg; the film appears when it is complete."""
    width, height = (n - n % 2 for n in size)
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.mp4"
        command = [
            "ffmpeg",
            "-loglevel",
            "error",
            "-y",
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-s",
            f"{width}x{height}",
            "-r",
        ]
        command += [str(fps), "-i", "-", "-an", "-pix_fmt", "yuv420p", str(film)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603 - fixed command
            assert process.stdin is not None and process.stderr is not None  # noqa: S101 - pipes were asked for
            try:
                for picture in pictures:
                    process.stdin.write(picture.crop((0, 0, width, height)).tobytes())
                process.stdin.close()
            except BrokenPipeError:
                pass  # ffmpeg says why
            complaint = process.stderr.read().decode("utf-8", "replace").strip()
        if process.returncode or not film.exists():
            raise StorageError(f"ffmpeg could not write {target}: {complaint or 'no reason given'}")
        write_file(target, [film.read_bytes()])
