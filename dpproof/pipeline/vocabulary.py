"""The words of pipeline files: mechanisms, their parameters, and what each builds.

Adding a mechanism to pipeline files is adding one entry to ``KINDS`` of its family in ``kinds/``.
"""

from __future__ import annotations

from collections.abc import Mapping

from accountant.guarantees.approx_dp import ApproxDP
from accountant.guarantees.gdp import GDP
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.rdp import RDP
from accountant.guarantees.zcdp import ZCDP
from accountant.relation import Relation
from dpproof.pipeline.kinds import learning, local, noise, selection
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters
from dpproof.pipeline.stated import Stated
from mechanisms.mechanism import Mechanism


def _stated(given: ReleaseParameters) -> Mechanism[Relation]:
    values, relation = given.values, given.relation
    if given.points:
        return Stated(RDP(points=given.points, relation=relation))
    if "rho" in values:
        return Stated(ZCDP(rho=values["rho"], relation=relation))
    if "mu" in values:
        return Stated(GDP(mu=values["mu"], relation=relation))
    if "delta" in values:
        known = ApproxDP(epsilon=values["epsilon"], delta=values["delta"], relation=relation)
        return Stated(known)
    return Stated(PureDP(epsilon=values["epsilon"], relation=relation))


KINDS: Mapping[str, Kind] = {
    **noise.KINDS,
    **local.KINDS,
    **selection.KINDS,
    **learning.KINDS,
    "stated": Kind(
        words="stated by others",
        forms=(("epsilon",), ("epsilon", "delta"), ("rho",), ("mu",), ("points",)),
        build=_stated,
    ),
}
