"""Certificates and their checker.

Nothing is here yet. This package will hold the certificate format (exact rationals, as data) and
a small checker that verifies one in ball arithmetic. It will import the standard library and
python-flint, and nothing of the other packages: a checker that shared code with the accountant
would confirm the accountant's mistakes.
"""

__all__: list[str] = []
