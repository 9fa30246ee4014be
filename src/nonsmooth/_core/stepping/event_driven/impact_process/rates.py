"""The rates of an impact in given phases and modes, eqs. (1)-(3) of `process`: normal forces as elements give them, friction of what
slips, forces that hold what does not move.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.elimination import SINGULAR, eliminate
from nonsmooth._core.records.laws import COULOMB_1D, COULOMB_2D, FREE, HALF_LINE
from nonsmooth._core.records.process import COMPRESSES, EXPANDS, IDLE

REGULARISED = 1e-12  # where rows that are held depend on each other


@phase
def rates(problem, x, poisson, y, dy, n_laws, n):
    """Right-hand side of (1)-(3), in the phases and modes as they are; the forces are left in ``x.la``."""
    laws, G, la = problem.laws, problem.G, x.la
    given_forces(problem, x, y, n_laws, n)
    hold_rows(problem, x, n)
    for k in range(n):
        s = 0.0
        for j in range(n):
            s += G[k, j] * la[j]
        dy[k] = 0.0 if x.held[k] else s
        dy[n + k] = la[k]
    for b in range(n_laws):
        k = laws.row[b]
        dla, dR = 0.0, 0.0
        if laws.kind[b] == HALF_LINE and x.phase[b] == COMPRESSES:
            dla, dR = -y[k] / G[k, k], laws.e[b] * la[k]
        elif laws.kind[b] == HALF_LINE and x.phase[b] == EXPANDS:
            dla = x.slope[b] if poisson else -y[k] / (laws.e[b] ** 2 * G[k, k])
            dR = -la[k]
        dy[2 * n + b], dy[2 * n + n_laws + b] = dla, dR


@phase
def given_forces(problem, x, y, n_laws, n):
    """Normal forces, and friction of what slips; which rows do not move."""
    laws, la = problem.laws, x.la
    for b in range(n_laws):
        k = laws.row[b]
        for i in range(k, k + laws.dim[b]):
            x.held[i], la[i] = 0, 0.0
            if laws.kind[b] == FREE or x.stuck[b]:
                x.held[i] = 1
        if laws.kind[b] == HALF_LINE:
            la[k] = y[2 * n + b] if x.phase[b] != IDLE else 0.0
    for b in range(n_laws):
        if is_friction(laws, b) and not x.stuck[b]:
            normal = la[laws.row[laws.link[b]]]
            if normal != 0.0:
                direction_of_slip(x, laws, y, b)
                for i in range(laws.row[b], laws.row[b] + laws.dim[b]):
                    la[i] = -laws.mu[b] * normal * x.slip[i]


@phase
def hold_rows(problem, x, n):
    """Forces of the rows that do not move: sum_j G_ij la_j = 0 (of least size where rows depend on each other)."""
    G, A, b = problem.G, problem.A, problem.rows.b
    some = False
    for i in range(n):
        some = some or x.held[i] == 1
    if not some:
        return
    for attempt in range(2):
        for i in range(n):
            f = 1.0 / G[i, i] if x.held[i] and G[i, i] > 0.0 else 0.0
            b[i] = 0.0 if x.held[i] else x.la[i]
            for j in range(n):
                A[i, j] = f * G[i, j] if x.held[j] else 0.0
                if not x.held[j]:
                    b[i] -= f * G[i, j] * x.la[j]
            A[i, i] += REGULARISED * attempt if f > 0.0 else 1.0
        if eliminate(A, b, n, SINGULAR) == 0:
            break
    for i in range(n):
        if x.held[i]:
            x.la[i] = b[i]


@phase
def is_friction(laws, b):
    """Whether law `b` is Coulomb's."""
    return laws.kind[b] == COULOMB_1D or laws.kind[b] == COULOMB_2D


@phase
def speed_of_slip(laws, y, b):
    """|gamma_T|."""
    s = 0.0
    for i in range(laws.row[b], laws.row[b] + laws.dim[b]):
        s += y[i] ** 2
    return s**0.5


@phase
def direction_of_slip(x, laws, y, b):
    """Unit direction of slip of a disk of friction; where it does not slip yet the one it will take stands there already."""
    s = speed_of_slip(laws, y, b)
    if laws.dim[b] == 2 and s > x.size[laws.row[b]]:
        for i in range(laws.row[b], laws.row[b] + 2):
            x.slip[i] = y[i] / s
