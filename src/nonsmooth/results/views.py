"""What every result can show of itself: plots, the report, the animation, and itself in a notebook."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nonsmooth.results.plotter import Plotter


class Pictured:
    """Base of all results: pictures, report, animation."""

    #: The model of the run, for the scene, gaps and energy; not stored in files.
    _model: Any = None
    #: Makes the solution as a function of time, for curves between the stored instants.
    _curve: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # copies and pickles carry the data; what holds compiled functions, and what would run them again, stays behind
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_model", "_second", "_curve")
        }

    @property
    def plot(self) -> Plotter:
        """Pictures of the run: ``plot()``, ``plot.phase()``, ``plot.events()``, ``plot.energy()``, ``plot.modes()``,
        ``plot.convergence()``; see `nonsmooth.results.plotter.Plotter`.
        """
        from nonsmooth.results.plotter import Plotter

        return Plotter(self)

    def report(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the report of the run: one HTML file that needs nothing else.

        Parameters
        ----------
        path : path-like
            Ends in ``.html``.
        title : str, optional
        frames : int, optional
            Frames of the moving scene.
        draw : sequence of shapes, optional
            The scene, for runs whose model has none: ``solve_ivp``, ``solve_filippov``, results read from files.
        overwrite : bool
            Replace a file that is no page.

        Examples
        --------
        >>> result.report("run.html", title="Third try")
        """
        from nonsmooth.results.report import write_report

        write_report(self, path, **options)

    def animate(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the moving scene alone.

        Parameters
        ----------
        path : path-like
            Ends in ``.html`` (can be turned, zoomed and stopped), ``.gif``, or ``.mp4`` (needs the program ffmpeg).
        seconds, fps, size
            Length, frames per second and (width, height) of a gif or film.
        title, frames, draw, overwrite
            As in `report`.

        Examples
        --------
        >>> result.animate("run.gif", seconds=4, fps=20)
        """
        from nonsmooth.results.animation import write_animation

        write_animation(self, path, **options)

    def _repr_html_(self) -> str:
        from nonsmooth.results.notebook import report_frame

        return report_frame(self)
