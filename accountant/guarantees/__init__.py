"""The notions of privacy: one file each, the same section order in every file."""
