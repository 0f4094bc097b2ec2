"""Make a certificate from a derivation: a witness for every number."""
