"""The notions of privacy, one file each, with the same order of sections in every file."""
