"""Options of the contact solver and of a time step, as the compiled loops read them from one float64 array."""

# methods of the solver
AUTO = 0
PSOR = 1
PJOR = 2

# positions: of the solver, and of the step (contacts that were closed stay active up to the gap O_STAY; O_IMPLICIT asks
# for evaluation at the end of the step; O_ENDURING treats laws that were constraints as lasting, with 2 also
# contacts that approach slowly, see `moreau`)
O_METHOD, O_TOL, O_MAX_ITER, O_OMEGA, O_STRATEGY, O_NEWTON, O_STAY, O_IMPLICIT, O_ENDURING = range(9)
N_OPTIONS = 9
