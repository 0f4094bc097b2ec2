"""One theorem a file: from guarantees to a guarantee, with its source and its rounding."""
