"""Published deployments, to see an epsilon beside others. Every number was read at its source.

Sources: the papers named, as the Deployments Registry of OpenDP quotes them (2026-07-15). That the
Spanish model has epsilon 8.9 at delta = 1e-10 (its rho is 0.81) is stated by Google Research,
"Advances in private training for production on-device language models" (2024).
"""

from __future__ import annotations

from typing import Final, NamedTuple, final


@final
class Deployment(NamedTuple):
    """One published deployment: who released what, its unit, epsilon, delta and source."""

    name: str
    unit: str
    epsilon: float
    delta: str  # as published, empty for pure privacy
    source: str


PUBLISHED: Final = (
    Deployment("Broadband coverage, Microsoft 2021", "a user", 0.2, "", "arXiv:2103.14035"),
    Deployment(
        "Historical page views, Wikimedia 2023",
        "30 or 300 views a day",
        1.0,
        "",
        "arXiv:2308.16298",
    ),
    Deployment("Mobility reports, Google 2020", "a user's day", 2.64, "", "arXiv:2004.04145"),
    Deployment(
        "Popular emojis, Apple 2017", "one event, local", 4.0, "", "Learning with Privacy at Scale"
    ),
    Deployment(
        "Spanish next words, Google 2022", "a user's device", 8.9, "1e-10", "Google Research, 2024"
    ),
    Deployment(
        "Redistricting counts, US Census 2021", "a person", 17.14, "1e-10", "arXiv:2204.08986"
    ),
    Deployment(
        "Audience engagement, LinkedIn 2020", "a member's month", 34.9, "7e-9", "arXiv:2002.05839"
    ),
)
