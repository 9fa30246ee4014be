"""`auto`: stages that hand over their best impulses, switched by counts and progress, never by the clock.

1. NSGS as long as its measured rate promises to be cheaper than Newton's method.
2. Proximal Newton from there: superlinear, made for redundant contacts.
3. If that stalls, ADMM from the best impulses, then proximal Newton again with small proximal terms,
   repeated while it helps.

What was done is written to `run.stages`.
"""

from __future__ import annotations

import math

from nonsmooth.contact.admm import admm
from nonsmooth.contact.newton import newton
from nonsmooth.contact.nsgs import nsgs

#: One Newton iteration costs about this many sweeps, and a solve needs about ten of them.
SWEEPS_WORTH_NEWTON = 1000


def auto(problem, r, run):
    """Solve by stages; returns ``(r, residual, iterations)``."""
    limit = math.inf if run.max_iter is None else run.max_iter
    if problem.matrix_free:
        r, best, count = admm(problem, r, run)
        run.stages.append(f"admm {count} without W")
        return r, best, count
    r, best, total = nsgs(problem, r, run, max_iter=int(min(limit, 5000)), budget=SWEEPS_WORTH_NEWTON)
    run.stages.append(f"nsgs {total}")
    stages = (
        ("newton", lambda x, left: newton(problem, x, run, max_iter=int(min(left, 400)))),
        ("admm", lambda x, left: admm(problem, x, run, max_iter=int(min(left, 3000)))),
        ("newton", lambda x, left: newton(problem, x, run, max_iter=int(min(left, 3000)), eps=1e-4)),
        ("nsgs", lambda x, left: nsgs(problem, x, run, max_iter=int(min(left, 2000)))),
    )
    for name, stage in stages:
        if best <= run.tol or total >= limit or run.expired():
            break
        new, residual, count = stage(r, limit - total)
        total += count
        run.stages.append(f"{name} {count}")
        if residual < best:
            r, best = new, residual
    return r, best, total
