"""What a run leaves behind: result, events, audit, error norms, files, pictures."""

from nonsmooth.results.audit import Audit, audit_moreau
from nonsmooth.results.events import EVENT_KINDS, Event, EventList, EventTable
from nonsmooth.results.norms import grid_error, hausdorff_error, l1_error, l2_error, sup_error
from nonsmooth.results.result import STATUS, Result
from nonsmooth.results.store import StreamReader, StreamWriter, claim_output, open_stream

__all__ = [
    "EVENT_KINDS",
    "STATUS",
    "Audit",
    "Event",
    "EventList",
    "EventTable",
    "Result",
    "StreamReader",
    "StreamWriter",
    "audit_moreau",
    "claim_output",
    "grid_error",
    "hausdorff_error",
    "l1_error",
    "l2_error",
    "open_stream",
    "sup_error",
]
