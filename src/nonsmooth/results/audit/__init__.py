"""The audit of a run: what a second route found, independent of the scheme's own code.

`report` is what the reader gets. The other modules are a library of checks on stacks of steps or states; a scheme composes
its audit from them (`midpoint` for constant steps of the midpoint rule, `adaptive` for runs with a tolerance). Nothing is taken
from the contact solver or from a compiled loop except running totals over all steps, which are named as such; the user's
functions are called compiled.
"""

from nonsmooth.results.audit.adaptive import audit_adaptive
from nonsmooth.results.audit.midpoint import audit_moreau
from nonsmooth.results.audit.report import Audit

__all__ = ["Audit", "audit_adaptive", "audit_moreau"]
