"""From a derivation to a certificate: a witness for every number."""
