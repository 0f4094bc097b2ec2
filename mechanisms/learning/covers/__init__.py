"""Public sets of directions that can be listed by number, without holding them in memory."""
