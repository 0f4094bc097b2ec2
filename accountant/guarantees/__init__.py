"""The notions of privacy, with the same order of sections in every class."""
