"""Three masses on springs with dry friction at each: Stewart 1996, eq. (15).

    x_1'' = -x_1 + (x_2 - x_1) - x_1' - 0.3 sgn x_1'
    x_2'' = (x_1 - x_2) + (x_3 - x_2) - x_2' - 0.3 sgn x_2'
    x_3'' = (x_2 - x_3) - x_3' - 0.3 sgn x_3' + 10 cos(pi t)

on [0, 10]: 21 velocity reversals, and mass 1 sticks from t = 3.72899... on. The stored switching points were
obtained from the exact piecewise linear flow in 30-digit arithmetic (errors below 1e-16 after rounding).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .base import as_state

SWITCHING = (
    # t, mass, slip direction before and after (0: sticking)
    (0.20773637131298958, 2, 1, -1),
    (0.24868544262146836, 1, -1, 1),
    (0.918254723043328, 3, 1, -1),
    (1.869399223487955, 3, -1, 1),
    (2.25601222469269, 1, 1, -1),
    (2.3958850923327217, 2, -1, 1),
    (2.853528711642747, 3, 1, -1),
    (3.7176201906106603, 2, 1, -1),
    (3.7289936123479044, 1, -1, 0),
    (3.8806107195476525, 3, -1, 1),
    (4.711122873375644, 2, -1, 1),
    (4.879304837667699, 3, 1, -1),
    (5.5740431462290765, 2, 1, -1),
    (5.873152298769839, 3, -1, 1),
    (6.61148344831615, 2, -1, 1),
    (6.873573779888259, 3, 1, -1),
    (7.630231858502891, 2, 1, -1),
    (7.8757895126139426, 3, -1, 1),
    (8.62632206933288, 2, -1, 1),
    (8.874630903369642, 3, 1, -1),
    (9.617773096503829, 2, 1, -1),
    (9.87485979223641, 3, -1, 1),
)

# State (x_1, x_2, x_3, x_1', x_2', x_3') at the end, t = 10.
END_STATE = (
    0.17926343457835736,
    0.22702262135669993,
    -0.7912021600827722,
    0.0,
    -0.26490913162438207,
    1.2393923284403734,
)


@dataclass(frozen=True)
class FilippovProblem:
    """A Filippov system with its start and what is known of its solution.

    Attributes
    ----------
    name, title, source : str
    build : callable
        Makes the `FilippovSystem`; called once.
    x0, t_span
        Start and span of the usual run.
    switching_times : ndarray
        Known switching points.
    end_state : ndarray or None
        Known state at the end of `t_span`.
    params : dict
    """

    name: str
    title: str
    source: str
    build: object
    x0: np.ndarray
    t_span: tuple
    switching_times: np.ndarray
    end_state: np.ndarray | None = None
    params: dict | None = None
    kind: str = "filippov"

    @cached_property
    def system(self):
        """The system, built on first use."""
        return self.build()

    def simulate(self, t_span=None, **options):
        """`solve_filippov` with the start and span of the problem."""
        from ..filippov import solve_filippov

        return solve_filippov(self.system, t_span or self.t_span, self.x0, **options)


def smooth(t, x, p, out):
    """Everything but the friction."""
    out[0] = x[3]
    out[1] = x[4]
    out[2] = x[5]
    out[3] = -x[0] + (x[1] - x[0]) - x[3]
    out[4] = (x[0] - x[1]) + (x[2] - x[1]) - x[4]
    out[5] = (x[1] - x[2]) - x[5] + p.forcing * np.cos(np.pi * t)


def three_mass(friction: float = 0.3, forcing: float = 10.0) -> FilippovProblem:
    """Stewart's test problem; the stored solution belongs to the default parameters."""

    def build():
        from ..sliding.groups import FilippovSystem, sign_term

        e = np.eye(6)
        groups = [sign_term(-friction, e[3 + j], e[3 + j], name=f"mass {j + 1}") for j in range(3)]
        names = ["x_1", "x_2", "x_3", "v_1", "v_2", "v_3"]
        return FilippovSystem(smooth, groups, {"forcing": forcing}, names=names)

    known = friction == 0.3 and forcing == 10.0
    return FilippovProblem(
        "three_mass",
        "three masses on springs with dry friction",
        "D. E. Stewart, J. Austral. Math. Soc. Ser. B 37 (1996) 288-308, eq. (15)",
        build,
        as_state([-1.0, 1.0, -1.0, -1.0, 1.0, 1.0]),
        (0.0, 10.0),
        np.array([row[0] for row in SWITCHING]) if known else np.zeros(0),
        np.array(END_STATE) if known else None,
        {"friction": friction, "forcing": forcing},
    )
