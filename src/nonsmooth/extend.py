"""What a scheme of your own is made of: the records a step works on, the phases of time-stepping, and how to compile it.

A step is a compiled function ``step(scene, state, t, dt) -> status`` (see `nonsmooth.schemes.base` for what a scheme owes)::

    @step_kernel
    def my_step(at_scene, at_state, t, dt):
        scene, begin = scene_at(at_scene), state_at(at_state)
        ...                         # read `begin`, write `scene.end` and `scene.info`
        return OK
"""

from nonsmooth._core.jit import kernel
from nonsmooth._core.jit import phase as phase
from nonsmooth._core.records.scene import STEP
from nonsmooth._core.records.scene import scene_at as scene_at
from nonsmooth._core.records.scene import state_at as state_at
from nonsmooth._core.records.status import NON_FINITE as NON_FINITE
from nonsmooth._core.records.status import OK as OK
from nonsmooth._core.records.status import OWN as OWN
from nonsmooth._core.records.status import UNCONVERGED as UNCONVERGED
from nonsmooth._core.stepping.moreau import close_step as close_step
from nonsmooth._core.stepping.moreau import velocity_step as velocity_step
from nonsmooth._core.stepping.phases import evaluation_point as evaluation_point
from nonsmooth._core.stepping.phases import move as move
from nonsmooth.integrators.own import add_integrator as add_integrator
from nonsmooth.schemes.base import ConstantStep as ConstantStep
from nonsmooth.schemes.base import checked_step as checked_step

__all__ = [
    "NON_FINITE", "OK", "OWN", "UNCONVERGED", "ConstantStep", "add_integrator", "checked_step", "close_step", "evaluation_point", "move",
    "phase", "scene_at", "state_at", "step_kernel", "velocity_step",
]  # fmt: skip

#: Compiles a step; it is made anew in every process (kernels of the library are kept on disk).
step_kernel = kernel(STEP, part=True, cache=False)
