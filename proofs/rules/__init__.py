"""Every rule there is, by the name that certificates use: the whole table on one screen."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from proofs.rules import (
    at_least,
    compose,
    convert,
    dominate,
    group,
    hockey_stick,
    mechanisms,
    select,
    select_profile,
    subsample,
)
from proofs.rules.rule import Rule
from proofs.statement import NOTION_TYPES

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "mechanism/gaussian": mechanisms.gaussian,
        "mechanism/laplace": mechanisms.laplace,
        "mechanism/discrete-laplace": mechanisms.discrete_laplace,
        "mechanism/discrete-gaussian": mechanisms.discrete_gaussian,
        "mechanism/discrete-gaussian-zcdp": mechanisms.discrete_gaussian_zcdp,
        "mechanism/randomized-response": mechanisms.randomized_response,
        "mechanism/exponential": mechanisms.exponential,
        **{f"state/{name}": mechanisms.stated(kind) for name, kind in NOTION_TYPES.items()},
        "dominate/gdp": dominate.gdp,
        "dominate/pure-dp": dominate.pure_dp,
        "dominate/approx-dp": dominate.approx_dp,
        "dominate/bounded-range": dominate.bounded_range,
        "dominate/privacy-profile": dominate.privacy_profile,
        "dominate/trade-off": dominate.trade_off,
        "compose/gdp": compose.compose_gdp,
        "compose/zcdp": compose.compose_zcdp,
        "compose/rdp": compose.compose_rdp,
        "compose/pair": compose.compose_pair,
        "repeat/gdp": compose.repeat_gdp,
        "repeat/zcdp": compose.repeat_zcdp,
        "repeat/rdp": compose.repeat_rdp,
        "repeat/pair": compose.repeat_pair,
        "parallel": compose.parallel,
        "post-process": compose.post_process,
        "subsample/poisson": subsample.poisson,
        "select/pure": select.pure,
        "select/rdp": select.renyi,
        "select/profile": select_profile.profile,
        "group/pure-dp": group.pure_dp,
        "group/approx-dp": group.approx_dp,
        "group/bounded-range": group.bounded_range,
        "group/gdp": group.gdp,
        "group/zcdp": group.zcdp,
        "group/rdp": group.rdp,
        "group/pair": group.pair,
        "convert/pure-approx": convert.pure_to_approx,
        "convert/approx-pure": convert.approx_to_pure,
        "convert/pure-bounded-range": convert.pure_to_bounded_range,
        "convert/pure-zcdp": convert.pure_to_zcdp,
        "convert/pure-gdp": convert.pure_to_gdp,
        "convert/bounded-range-pure": convert.bounded_range_to_pure,
        "convert/bounded-range-zcdp": convert.bounded_range_to_zcdp,
        "convert/gdp-zcdp": convert.gdp_to_zcdp,
        "convert/point": convert.point,
        "convert/pair-approx": convert.pair_to_approx,
        "convert/pair-profile": convert.pair_to_profile,
        "convert/pair-pure": convert.pair_to_pure,
        "convert/pair-rdp": convert.pair_to_rdp,
        "convert/profile-trade-off": convert.profile_to_trade_off,
        "convert/zcdp-rdp": convert.zcdp_to_rdp,
        "convert/rdp-rdp": convert.rdp_to_rdp,
        "convert/renyi-approx": convert.renyi_to_approx,
        "convert/renyi-profile": convert.renyi_to_profile,
        "hockey-stick/bounded": hockey_stick.bounded,
        "hockey-stick/closed": hockey_stick.closed,
        "hockey-stick/contour": hockey_stick.contour,
        "hockey-stick/lattice": hockey_stick.lattice,
        "hockey-stick/chernoff": hockey_stick.chernoff,
        "at-least/closed": at_least.closed,
        "at-least/contour": at_least.contour,
        "at-least/lattice": at_least.lattice,
    }
)
