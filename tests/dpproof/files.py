"""Pipeline files for the tests."""

from __future__ import annotations

PIPELINE = """
[pipeline]
relation = "add-remove"
delta = 1e-6
epsilon = 8.0
"""

GAUSSIAN = """
[[stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = 1.0
"""

LAPLACE = """
[[stage]]
name = "evaluation"
mechanism = "laplace"
scale = 20
sensitivity = 1
count = 3
"""

ISSUE = f"""{PIPELINE}
[[stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = 1.0
sampling = {{ scheme = "poisson", rate = 0.01 }}
count = 10000
{LAPLACE}"""

GROUP = """
[[stage]]
name = "joint"
sampling = { scheme = "poisson", rate = 0.02 }
count = 200

[[stage.release]]
name = "gradient"
mechanism = "gaussian"
noise_multiplier = 2.0

[[stage.release]]
mechanism = "laplace"
scale = 4.0
sensitivity = 1
"""

WRAPPED = """
[[stage]]
name = "tuning"
select = { runs = "geometric", gamma = 0.1 }

[[stage.stage]]
name = "run"
mechanism = "gaussian"
noise_multiplier = 4.0

[[stage.stage]]
name = "score"
mechanism = "laplace"
scale = 20
sensitivity = 1
"""
