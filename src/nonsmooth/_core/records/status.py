"""What a step can answer, and what each answer means to a user. Every scheme uses these; no other codes leave a step."""

OK = 0
REJECTED = 1  # not taken: the same state again, with the step the scheme proposes
WAITING = 2  # taken, but not final: a later step may throw it away
MASS_SINGULAR = 3
NON_FINITE = 4
UNCONVERGED = 5
ZERO_DIRECTION = 6
NON_FINITE_GAP = 7
NO_SOLUTION = 8  # no accelerations fit the laws (Painleve), or none were found
STEP_UNDERFLOW = 9
CHATTER = 10
IMPLICIT_UNSOLVED = 11
UNPROJECTED = 12

EXPLAINED = {
    MASS_SINGULAR: "the mass matrix is not positive definite",
    NON_FINITE: "a value is not finite, or the lower bound of a set lies above its upper one",
    UNCONVERGED: "the contact problem of the step was not solved to its tolerance",
    ZERO_DIRECTION: "the direction of a law vanished",
    NON_FINITE_GAP: "a gap is not finite",
    NO_SOLUTION: "no accelerations were found that satisfy all laws",
    STEP_UNDERFLOW: "the step size fell below the resolution of time",
    CHATTER: "modes change without end at one instant",
    IMPLICIT_UNSOLVED: "the implicit equations of the step were not solved",
    UNPROJECTED: "no positions were found that satisfy all contacts and joints",
}
