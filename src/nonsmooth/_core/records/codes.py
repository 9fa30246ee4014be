"""Positions and kinds that models, schemes and kernels agree on; nothing here is compiled."""

from collections import namedtuple

# kinds of set-valued laws
HALF_LINE = 0
INTERVAL = 1
DISK = 2
COULOMB_1D = 3
COULOMB_2D = 4
USER_SET = 5
FREE = 6  # bilateral constraint: no bound

# rows of the arrays of a prox problem (see `laws`)
KIND, ROW, DIM, LINK, LAW, MODE, TRIED, PLACE, ACTS = range(9)
N_INTS = 9
MU, E, RHO = range(3)
N_REALS = 3
C, P, XI, LO, HI, B, BEST, GAMMA_B, FREE_GAMMA = range(9)
N_ROWS = 9

# positions in the int64 array of sizes and flags; where the S_UNIT unit quaternions begin in q comes behind them
(
    S_NQ, S_NU, S_NN, S_NL, S_NR, S_HAS_B, S_CONST_M, S_CONST_W, S_HAS_ZETA, S_HAS_BOUNDS, S_READY, S_UNIT,
) = range(12)  # fmt: skip
N_SIZES = 12

# The laws of the model: `ints` rows KIND, ROW, DIM, LINK; `reals` rows MU, E.
Laws = namedtuple("Laws", "ints reals")
