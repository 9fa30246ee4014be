"""What a run leaves behind: result, events, audit, error norms, files, pictures."""

from nonsmooth.results.audit import Audit, audit_moreau
from nonsmooth.results.events import EVENT_KINDS, Event, EventTable
from nonsmooth.results.moreau_check import check_moreau_step
from nonsmooth.results.result import STATUS, Result

__all__ = [
    "EVENT_KINDS",
    "STATUS",
    "Audit",
    "Event",
    "EventTable",
    "Result",
    "audit_moreau",
    "check_moreau_step",
]
