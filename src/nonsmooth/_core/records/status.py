"""What a step can answer. Every scheme uses these; what each means to a user is in one table, `schemes/failures.py`."""

OK = 0
REJECTED = 1  # not taken: the same state again, with the step the scheme proposes
WAITING = 2  # taken, but not final: a later step may throw it away
MASS_SINGULAR = 3  # the mass matrix is not positive definite
NON_FINITE = 4  # a value is not finite, or the lower bound of a set lies above its upper one
UNCONVERGED = 5  # the contact problem of the step was not solved to its tolerance
ZERO_DIRECTION = 6  # the direction of a law vanished
NON_FINITE_GAP = 7
NO_SOLUTION = 8  # no accelerations fit the laws (Painleve), or none were found
STEP_UNDERFLOW = 9  # the step size fell below the resolution of time
CHATTER = 10  # modes change without end at one instant
IMPLICIT_UNSOLVED = 11  # the implicit equations of the step were not solved
UNPROJECTED = 12  # no positions were found that satisfy all contacts and joints
EVENT = 13  # a function of the user vanishes where the run must stop: the step was not taken
SURFACE_ENDED = 14  # the gap of a closed contact jumped
OTHER_INTEGRATOR = 15  # the step was not taken: it asks for another integrator
OWN = 100  # from here on: codes of a scheme of one's own, which it explains itself
