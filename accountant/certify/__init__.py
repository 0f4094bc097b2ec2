"""Certificates: a guarantee's derivation and numbers in a form that ``proofs`` can check."""
