"""Import from and export to other tools: events, histories, measurements and accountants.

>>> from dpproof.interop import from_opacus_history
>>> total = from_opacus_history([(1.1, 0.01, 1000)], poisson=True)
>>> total.epsilon(delta=1e-5).upper < 2.2
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpproof.interop.diffprivlib import from_diffprivlib
    from dpproof.interop.event import Event, event_from_json, event_to_json
    from dpproof.interop.from_event import from_dp_event
    from dpproof.interop.opacus import from_opacus_history
    from dpproof.interop.opendp import from_opendp
    from dpproof.interop.pipeline_dp import from_pipeline_dp
    from dpproof.interop.to_event import to_dp_event

_HOMES = {
    "Event": "dpproof.interop.event",
    "event_from_json": "dpproof.interop.event",
    "event_to_json": "dpproof.interop.event",
    "from_diffprivlib": "dpproof.interop.diffprivlib",
    "from_dp_event": "dpproof.interop.from_event",
    "from_opacus_history": "dpproof.interop.opacus",
    "from_opendp": "dpproof.interop.opendp",
    "from_pipeline_dp": "dpproof.interop.pipeline_dp",
    "to_dp_event": "dpproof.interop.to_event",
}
__all__ = [
    "Event",
    "event_from_json",
    "event_to_json",
    "from_diffprivlib",
    "from_dp_event",
    "from_opacus_history",
    "from_opendp",
    "from_pipeline_dp",
    "to_dp_event",
]


def __getattr__(name: str) -> object:
    """Return a public name, imported when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
