"""Audits: statistical lower bounds on the privacy loss of code that runs.

Nothing is here yet. This package will hold ``audit``: it takes any sampler, a pair of
neighbouring datasets and a claim, runs the sampler, and says whether the outputs contradict the
claim, with a stated error probability. It will import the accountant (for claims) and never a
mechanism class, so that what is audited is only what comes out.
"""

__all__: list[str] = []
