"""Import from and export to other tools: events, histories, measurements and accountants.

>>> from dpproof.interop import from_opacus_history
>>> total = from_opacus_history([(1.1, 0.01, 1000)], poisson=True)
>>> total.epsilon(delta=1e-5).upper < 2.2
True
"""

from typing import TYPE_CHECKING

from dpproof.accountant import public_names

if TYPE_CHECKING:
    from dpproof.interop.accountants import (
        EventAccountant as EventAccountant,
        OpacusAccountant as OpacusAccountant,
    )
    from dpproof.interop.event import (
        Event as Event,
        event_from_json as event_from_json,
        event_to_json as event_to_json,
        from_dp_event as from_dp_event,
    )
    from dpproof.interop.histories import (
        from_diffprivlib as from_diffprivlib,
        from_opacus_history as from_opacus_history,
        from_pipeline_dp as from_pipeline_dp,
        from_shuffled_training as from_shuffled_training,
    )
    from dpproof.interop.opendp import from_opendp as from_opendp, to_opendp as to_opendp
    from dpproof.interop.optuna_search import optimize_priced as optimize_priced
    from dpproof.interop.to_event import to_dp_event as to_dp_event
else:
    _HOMES = public_names.homes_of(__name__)
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        """Return a public name, imported when it is first asked for."""
        return public_names.fetch(__name__, _HOMES, name)
