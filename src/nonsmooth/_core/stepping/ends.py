"""What the ends of all time-stepping steps have in common."""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.status import OK, UNCONVERGED
from nonsmooth._core.stepping.books import book_solve
from nonsmooth._core.stepping.phases import normalise


@phase
def go_on_unsolved(scene, status, t_1):
    """A contact problem that is not solved ends the run, unless it was asked for that steps go on: then it is counted. Returns a status."""
    if status == UNCONVERGED and scene.ask.accept:
        scene.books.unconverged += 1
        scene.books.unconverged_t = t_1
        return OK
    return status


@phase
def end_of_solve(scene, status, t_1):
    """Unit quaternions at the end of the step, and the verdict on its contact problem. Returns a status."""
    if scene.ask.unit:
        normalise(scene.model, scene.end.q)
    status = go_on_unsolved(scene, status, t_1)
    if status == OK and scene.problem.count.rows > 0:
        book_solve(scene.books, scene.info, t_1)
    return status
