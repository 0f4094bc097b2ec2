"""The worst case of private selection, from above and from below; proofs in proofs/selection.md."""
