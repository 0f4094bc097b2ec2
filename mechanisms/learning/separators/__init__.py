"""Private choices from a finite space: minimise losses beside noise on separating features.

Every candidate has a pattern of 0s and 1s, no two the same. Independent noise on the places of the
pattern is added to the losses, and the candidate of the smallest sum is released
(proofs/theory/separators.md).
"""
