"""One self-contained page about a ledger: what is left, who spent what, and the last hash."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from dpproof.accountant.arithmetic.enclosure import float_down
from dpproof.ledger import names
from dpproof.ledger.status import BudgetStatus, Logged, Status
from dpproof.reports import page
from dpproof.reports.figures import Axis, curve
from dpproof.rounding import above, below

TEMPLATE: Final = Path(__file__).with_name("ledger.html.jinja")
MOST: Final = 500  # rows of the table of spends
DAY: Final = 86400.0


def rendered(place: str, status: Status, entries: Sequence[Logged]) -> str:
    """Return the page as HTML that needs no other file, no network and no script."""
    style = page.TEMPLATE.read_text(encoding="utf-8").partition("<style>")[2]
    spends = [one for one in entries if one.costs]
    spenders = Counter(one.principal or one.who or "not said" for one in spends)
    return page.filled(
        TEMPLATE,
        style=style.partition("</style>")[0],
        place=place,
        status=status,
        made=entries[0].time[:10],
        last=entries[-1].time[:16].replace("T", " "),
        budgets=[_budget(one, entries) for one in status.budgets],
        spends=spends[: -MOST - 1 : -1],
        others=max(0, len(spends) - MOST),
        spenders=spenders.most_common(),
        above=above,
        below=below,
    )


def _budget(one: BudgetStatus, entries: Sequence[Logged]) -> dict[str, Any]:
    """Return what the page says of a budget."""
    about = ", ".join(name for name in (one.dataset, one.principal) if name) or "everything"
    mine = names.name((one.dataset, one.principal))
    left = below(100 * one.remaining, 4)
    start = datetime.fromisoformat(entries[0].time)
    points = [
        (
            (datetime.fromisoformat(entry.time) - start).total_seconds() / DAY,
            float_down(100 * share),
        )
        for entry in entries
        for label, share in entry.left.items()
        if label == mine
    ]
    steps = [
        corner
        for (_, before), (day, share) in pairwise(points)
        for corner in ((day, before), (day, share))
    ]
    x = Axis(title="days", low=0.0, high=float(max(1, math.ceil(points[-1][0]))))
    y = Axis(title="% left", low=0.0, high=100.0)
    words = f"{left} % of the budget is left after {len(points)} entries about it."
    return {
        "about": about,
        "status": one,
        "left": left,
        "figure": curve(f"Left of {about}", words, (x, y), [("ours", [*points[:1], *steps])]),
        "words": f"{about}: {words}",
    }
