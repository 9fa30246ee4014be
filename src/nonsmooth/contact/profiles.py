"""Performance profiles of contact methods over a set of problems (Dolan and Moré 2002)."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from nonsmooth.contact.solve import solve_contact


class Profile(NamedTuple):
    """Seconds of every method on every problem, shape (problems, methods); infinite where the tolerance was
    missed."""

    problems: list[str]
    methods: list[str]
    seconds: np.ndarray
    residuals: np.ndarray


def measure_methods(problems, methods, tol=1e-6, time_limit=30.0, repeats=3, progress=None) -> Profile:
    """Solve each problem with each method.

    Parameters
    ----------
    problems : dict of str to ContactProblem
    methods : list of str
    time_limit : float
        Seconds after which a method is stopped on one problem and counts as failed.
    repeats : int
        The fastest of this many runs counts, for runs shorter than a second.
    progress : callable, optional
        ``progress(name, method, seconds, result)`` after each measurement.
    """
    names = list(problems)
    seconds = np.full((len(names), len(methods)), np.inf)
    residuals = np.full_like(seconds, np.inf)
    for i, name in enumerate(names):
        for j, method in enumerate(methods):
            best = np.inf
            for _ in range(repeats):
                start = time.perf_counter()
                result = solve_contact(problems[name], method, tol=tol, time_limit=time_limit)
                best = min(best, time.perf_counter() - start)
                if best > 1.0:
                    break
            residuals[i, j] = result.residual
            if result.success:
                seconds[i, j] = best
            if progress is not None:
                progress(name, method, best, result)
    return Profile(names, list(methods), seconds, residuals)


def profile_curves(seconds):
    """``(tau, share)``: share[k, j] of problems that method j solves within tau[k] times the best time."""
    best = seconds.min(axis=1)
    solvable = np.isfinite(best)
    ratio = np.full_like(seconds, np.inf)
    ratio[solvable] = seconds[solvable] / best[solvable, None]
    finite = ratio[np.isfinite(ratio)]
    tau = np.unique(np.concatenate([[1.0], finite, [2.0 * finite.max() if finite.size else 2.0]]))
    share = (ratio[None, :, :] <= tau[:, None, None]).mean(axis=1)
    return tau, share


def plot_profile(profile: Profile, path, title="Performance profile"):
    """Write the performance profile as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    tau, share = profile_curves(profile.seconds)
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for j, method in enumerate(profile.methods):
        axes.step(tau, share[:, j], where="post", label=method)
    axes.set(
        xscale="log",
        ylim=(-0.02, 1.02),
        xlabel="time / time of the fastest method",
        ylabel="share of problems solved",
    )
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=150)
    plt.close(figure)
